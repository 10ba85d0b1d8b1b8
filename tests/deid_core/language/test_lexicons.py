import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import ConfigError
from deid_core.language.fragments import (
    MONTH_WORDS,
    MONTHS,
    WEEKDAY_WORDS,
    WEEKDAYS,
)
from deid_core.language.lexicons import (
    forms_of,
    is_common_name,
    is_frequent,
    is_ordinary,
    is_vocabulary,
    load_list,
    name_score,
    normal,
    words_of,
)

FOLDER = files("deid_core") / "language/lexicons"
LISTS = sorted(
    each.name.removesuffix(".txt")
    for each in FOLDER.iterdir()
    if each.name.endswith(".txt")
)

IN_THEIR_CASE = {"degrees", "roles_before_names"}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("SMITH", "smith"),
        ("Müller", "muller"),
        ("Mu\u0308ller", "muller"),
        ("Łukasz", "lukasz"),
        ("Nguyễn", "nguyen"),
        ("Weiß", "weiss"),
        ("\uff33\uff4d\uff49\uff54\uff48", "smith"),
        ("I\u015f\u0131k", "isik"),
        ("\u33c7", "co."),
    ],
)
def test_one_form_for_all_ways_of_writing(word, expected):
    assert expected == normal(word)


@given(st.text(max_size=20))
def test_normal_is_its_own_fixed_point(text):
    assert normal(text) == normal(normal(text))


@given(st.text("aZé\u0301ß 1-_'\n", max_size=30))
def test_words_are_runs_of_letters_or_digits(text):
    words = words_of(text)

    assert all(word.isdigit() or not any(map(str.isdigit, word)) for word in words)
    kept = [c for c in text if c.isalnum() or c == "\u0301"]
    assert "".join(kept) == "".join(words)


def test_forms_are_normal_words():
    assert forms_of("St. Mary's 12B") == ("st", "mary", "s", "12", "b")


@pytest.mark.parametrize(
    "word",
    [
        "young",
        "hill",
        "pain",
        "low",
        "brown",
        "may",
        "rose",
        "will",
        "an",
        "grace",
        "mark",
        "wood",
        "price",
        "day",
        "iris",
    ],
)
def test_words_that_are_also_names_are_ordinary(word):
    assert is_ordinary(word)


@pytest.mark.parametrize(
    "word",
    [
        "smith",
        "jones",
        "garcia",
        "nguyen",
        "kowalski",
        "maria",
        "john",
        "lee",
        "kim",
        "schumacher",
    ],
)
def test_names_are_not_ordinary(word):
    assert not is_ordinary(word)
    assert not is_vocabulary(word)


@pytest.mark.parametrize(
    "word",
    ["metoprolol", "lisinopril", "auscultation", "crepitus", "stenosis", "heart"],
)
def test_clinical_words_are_vocabulary(word):
    assert is_vocabulary(word)


@pytest.mark.parametrize("word", ["jonh", "obrein", "kowalksi", "zzyzxq"])
def test_misspelt_names_are_not_vocabulary(word):
    assert not is_vocabulary(word)


def test_frequent_words_begin_sentences():
    assert is_frequent("pain")
    assert not is_frequent("glover")


def test_common_names_are_told_from_eponyms():
    assert is_common_name("wilson")
    assert not is_common_name("parkinson")


def test_what_nobody_is_called_scores_lowest():
    assert name_score("week") < name_score("young") < name_score("smith")


@pytest.mark.parametrize("name", LISTS)
def test_lists_hold_each_entry_once_in_compared_form(name):
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    entries = [line for line in lines if not line.startswith("#")]

    assert len(set(entries)) == len(entries)
    assert entries == [entry.strip() for entry in entries]
    if name not in IN_THEIR_CASE:
        assert entries == [entry.lower() for entry in entries]
    included = [entry[1:] for entry in entries if entry.startswith("@")]
    own = len(entries) - len(included)
    assert own + sum(len(load_list(each)) for each in included) == len(load_list(name))


def test_a_list_holds_the_entries_of_the_lists_that_it_includes():
    assert load_list("eponym_nouns") < load_list("clinical_terms")
    assert {"mr", "dr", "rev", "sra"} <= load_list("honorifics")
    assert not any(entry.startswith("@") for entry in load_list("honorifics"))


def test_months_and_weekdays_keep_their_order():
    assert [MONTHS.index(month) for month in ("january", "may", "december")] == [
        0,
        4,
        11,
    ]
    assert (WEEKDAYS[0], WEEKDAYS[6]) == ("monday", "sunday")
    assert {"may", "sept", "febr"} <= {*MONTH_WORDS}
    assert {"tues", "thur", "sun"} <= {*WEEKDAY_WORDS}


def test_every_list_has_its_source_and_no_source_lacks_its_list():
    sources = tomllib.loads((FOLDER / "SOURCES.toml").read_text("utf-8"))

    assert sorted(sources["lists"]) == LISTS
    assert all(each["licence"] and each["origin"] for each in sources["lists"].values())


def test_an_unknown_list_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'eponym'; known: .*eponyms"):
        load_list("eponym")
