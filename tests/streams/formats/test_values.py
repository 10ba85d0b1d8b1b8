"""The vocabulary of rules, and the values that all formats have."""

import pytest

from deid_core import Label
from streams.engine.errors import ConfigError
from streams.formats import values
from streams.formats.ccda import rules as ccda
from streams.formats.fhir import rules as fhir
from streams.formats.hl7 import field_rules as hl7
from streams.formats.values import Rule, Verb, Vocabulary, identifier, shown_age

WORDS = [(values, Verb), *((each, each.Word) for each in (hl7, fhir, ccda))]
VOCABULARY = Vocabulary(
    (Verb.LIST, Verb.NUMBER, Verb.REPLACE, Verb.PSEUDONYM),
    incomplete=(Verb.PSEUDONYM,),
    lists={"use": frozenset({"H"})},
)


class Policy:
    """Values of a policy that shows ages up to 89, and tags."""

    def replaced(self, label, value):
        if label is Label.AGE:
            return value if int(value) < 90 else "90+"
        return f"[{label.value}]"

    def pseudonym(self, kind, value):
        return f"{kind}-{value}"


def test_every_word_of_rules_is_explained():
    missing = [w for module, words in WORDS for w in words if w not in module.__doc__]

    assert missing == []


@pytest.mark.parametrize("own", [hl7.Word, fhir.Word, ccda.Word])
def test_a_format_has_no_word_of_its_own_for_what_all_have(own):
    assert {*map(str, own)}.isdisjoint(map(str, Verb))


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("number", Rule(Verb.NUMBER)),
        ("replace", Rule(Verb.REPLACE)),
        ("replace CITY", Rule(Verb.REPLACE, label=Label.CITY)),
        ("pseudonym order", Rule(Verb.PSEUDONYM, argument="order")),
        ("list use", Rule(Verb.LIST, argument="use", words=frozenset({"H"}))),
        (["a", "b"], Rule(Verb.LIST, words=frozenset({"a", "b"}))),
        ("Person DOCTOR", Rule(Verb.TYPE, "Person", label=Label.DOCTOR)),
        ("CS use", Rule(Verb.TYPE, "CS", "use", words=frozenset({"H"}))),
    ],
)
def test_words_stand_for_rules(given, rule):
    assert VOCABULARY.rule(given, "place") == rule


@pytest.mark.parametrize(
    "given",
    [
        *("", "keep", "date", "pseudonym", "pseudonym A1", "replace NOBODY"),
        *("number CITY", "number use", "list nobody", "CS nobody"),
    ],
)
def test_words_that_are_not_known_are_refused(given):
    with pytest.raises(ConfigError, match=r"place: '.*' is unknown; known: list, num"):
        VOCABULARY.rule(given, "place")


@pytest.mark.parametrize(
    ("number", "unit", "shown"),
    [
        *(("45", "a", "45"), ("89", "", "89"), ("89.5", "a", "89.5")),
        *(("90", "a", "90+"), ("1.2e2", "", "90+")),
        *(("1079", "mo", "1079"), ("1080", "mo", ""), ("4680", "wk", "")),
        *(("32849", "d", "32849"), ("32850", "d", "")),
    ],
)
def test_ages_over_89_are_not_shown_in_any_unit(number, unit, shown):
    assert shown_age(Policy(), number, unit) == shown


def test_an_identifier_is_a_pseudonym_where_notes_show_a_tag():
    assert identifier(Policy(), Label.SSN, "1") == "ssn-1"
    assert identifier(Policy(), Label.HOSPITAL, "1", "authority") == "authority-1"
