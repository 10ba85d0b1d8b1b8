"""Policies: which style for which label and note type, and what refuses to start."""

from __future__ import annotations

import pytest

from deid_core import ConfigError, Deidentifier, Label, known_policies, load_policy
from deid_core.replace import Replacer
from deid_core.surrogates import STYLES


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "own.toml"
        path.write_text(text, "utf-8")
        return str(path)

    return write


def test_five_policies_come_along_and_load():
    names = ["i2b2", "internal-qa", "limited-data-set", "safe-harbor", "surrogate"]

    assert names == known_policies()
    assert names == [load_policy(name).name for name in names]


@pytest.mark.parametrize("name", known_policies())
def test_every_label_has_a_style_that_is_for_it(name):
    policy = load_policy(name)

    assert all(label in STYLES[policy.style(label)].labels for label in Label)


def test_safe_harbor_writes_tags_but_for_what_the_rule_lets_stand():
    policy = load_policy("safe-harbor")
    others = {label for label in Label if policy.style(label) != "tag"}

    assert others == {
        *(Label.AGE, Label.ZIP, Label.STATE, Label.COUNTRY, Label.PROFESSION)
    }
    assert {policy.style(label) for label in others} == {"generalise"}


def test_i2b2_writes_a_tag_for_every_category():
    assert load_policy("i2b2").styles == {"tag"}


def test_a_limited_data_set_keeps_what_164_514_e_does_not_name():
    policy = load_policy("limited-data-set")
    kept = {label for label in Label if policy.style(label) == "keep"}

    assert kept == {Label.DATE, Label.AGE, Label.CITY, Label.STATE, Label.ZIP}
    assert policy.styles == {"tag", "keep"}


@pytest.mark.parametrize("name", ["surrogate", "internal-qa"])
@pytest.mark.parametrize(
    ("key", "says"), [(None, "needs a key, for: "), (b"k" * 31, "less than 32 bytes")]
)
def test_a_policy_that_needs_a_key_does_not_start_without(name, key, says):
    with pytest.raises(ConfigError, match=says):
        Replacer(load_policy(name), key)


@pytest.mark.parametrize("name", ["safe-harbor", "i2b2", "limited-data-set"])
def test_the_others_start_without_a_key_and_name_none(name):
    assert Replacer(load_policy(name)).key_id == ""
    assert Replacer(load_policy(name), b"k" * 32).key_id == ""


def test_the_system_asks_for_the_key_of_its_policy():
    with pytest.raises(ConfigError, match="policy 'surrogate': needs a key"):
        Deidentifier([], load_policy("surrogate"))


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'hybird' is unknown; known: .*safe-harbor"):
        load_policy("hybird")


TAG = 'name="a"\ndefault="tag"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name="a"', "default style None is unknown; known: tag, mask, remove, "),
        ('name="a"\ndefault="masc"', "default style 'masc' is unknown; known: tag"),
        (f"{TAG}styles={{}}", "key 'styles' is unknown"),
        (f"{TAG}labels=3", "labels must be a table"),
        (f'{TAG}[labels]\nNAME="tag"', "label 'NAME' is unknown"),
        (f'{TAG}[labels]\nDATE="x"', "style 'x' is unknown"),
        (f"{TAG}[labels]\nDATE=1", "style 1 is unknown"),
        (f'{TAG}[labels]\nAGE="shift"', "'shift' is not for AGE; those are: tag"),
        (f'{TAG}[labels]\n"ID:SSN"="keep"', "'keep' is not for ID:SSN"),
        ('name="a"\ndefault="keep"', "'keep' is not for NAME:PATIENT"),
        ('name="a"\ndefault="surrogate"', "'surrogate' is not for AGE"),
        (f'{TAG}dates="years"', "dates: style 'years' is unknown; known: tag"),
        (f'{TAG}dates="surrogate"', "'surrogate' is not for DATE; those are: tag"),
        (f'{TAG}dates="year"\n[labels]\nDATE="tag"', "set either dates or DATE"),
        (f'{TAG}[labels]\nAGE="year"', "'year' is not for AGE"),
        (f"{TAG}[options]\nkeep_day=true", "option 'keep_day' is unknown; known: keep"),
        (f"{TAG}[options]\nmost_days=3", "options.most_days: .*greater than"),
        (f'{TAG}[options]\nkeep_weekday="no"', "options.keep_weekday: .*valid bool"),
        (f"{TAG}[note_type]\na=1", "note_type 'a': must be a code and a table"),
        (f"{TAG}[note_type.a]\nlabel={{}}", "note_type 'a': key 'label' is unknown"),
        (f'{TAG}[note_type.a]\ndefault="x"', "note_type 'a': default style 'x'"),
        (f'{TAG}[note_type.a.labels]\nX="tag"', "note_type 'a': label 'X' is unknown"),
        (f'{TAG}[note_type.a.labels]\nAGE="shift"', "'shift' is not for AGE"),
    ],
)
def test_a_wrong_policy_is_refused_by_key(toml, text, says):
    with pytest.raises(ConfigError, match=says):
        load_policy(toml(text))


def test_a_label_and_a_note_type_can_have_their_own_style(toml):
    policy = load_policy(
        toml(
            f'{TAG}[labels]\nDATE="mask"\n'
            '[note_type."11506-3".labels]\nDATE="remove"\n"NAME:DOCTOR"="mask"\n'
            '[note_type."18842-5"]\ndefault="remove"\nlabels={AGE="generalise"}\n'
        )
    )

    def styles(note_type):
        labels = Label.DATE, Label.DOCTOR, Label.AGE, Label.CITY
        return [policy.style(label, note_type) for label in labels]

    assert ["mask", "tag", "tag", "tag"] == styles("") == styles("never heard of")
    assert styles("11506-3") == ["remove", "mask", "tag", "tag"]
    assert styles("18842-5") == ["remove", "remove", "generalise", "remove"]


def test_a_key_is_also_needed_for_a_note_type_alone(toml):
    text = f'{TAG}[note_type.a.labels]\n"ID:SSN"="pseudonym"'

    with pytest.raises(ConfigError, match="needs a key, for: pseudonym"):
        Replacer(load_policy(toml(text)))


def test_options_come_from_the_policy(toml):
    policy = load_policy(toml(f"{TAG}[options]\nkeep_weekday=true\nday_first=false"))

    assert policy.options.keep_weekday
    assert policy.options.day_first is False
    assert load_policy("surrogate").options.day_first is None
