"""The tables of rules: each name in them exists."""

from __future__ import annotations

import pytest

from streams.formats.ccda.rules import INSTEAD, LISTS, TYPES, Word
from streams.formats.ccda.terminology import (
    is_code,
    is_public_root,
    is_template,
    is_version,
)
from streams.formats.values import Verb

RULES = [
    (f"{type_.name}.{name}", rule)
    for type_ in TYPES.values()
    for name, rule in type_.rules.items()
]


def test_every_type_that_a_rule_names_has_rules():
    assert [name for name, each in RULES if each.type and each.type not in TYPES] == []
    assert {*INSTEAD, *(each for types in INSTEAD.values() for each in types)} <= {
        *TYPES
    }


def test_every_list_that_a_rule_names_is_there():
    lists = [(n, each) for n, each in RULES if each.verb in (Verb.LIST, Word.LISTED)]
    unknown = [
        name for name, each in lists if each.argument and each.argument not in LISTS
    ]
    assert unknown == []
    assert [
        name for name, each in RULES if each.type == "CS" and each.argument not in LISTS
    ] == []


def test_every_attribute_is_written_by_a_verb_and_every_element_by_a_type():
    assert [n for n, each in RULES if "@" in n and each.verb is Verb.TYPE] == []


@pytest.mark.parametrize(
    ("system", "code"),
    [
        ("2.16.840.1.113883.6.1", "34133-9"),
        ("2.16.840.1.113883.6.96", "59621000"),
        ("2.16.840.1.113883.6.88", "314076"),
        ("2.16.840.1.113883.6.90", "I10"),
        ("2.16.840.1.113883.5.1", "F"),
        ("2.16.840.1.113883.5.6", "CONC"),
        ("2.16.840.1.113883.3.26.1.1", "C38288"),
        ("2.16.840.1.113883.6.101", "207R00000X"),
    ],
)
def test_codes_of_public_systems_are_known(system, code):
    assert is_code(system, code)


@pytest.mark.parametrize(
    ("system", "code"),
    [
        ("2.16.840.1.113883.6.1", "34133-8"),
        ("2.16.840.1.113883.6.1", "SMITH"),
        ("2.16.840.1.113883.5.1", "Quellwright"),
        ("1.2.840.114350.1.13.2", "I10"),
        ("", "I10"),
    ],
)
def test_other_codes_are_not(system, code):
    assert not is_code(system, code)


def test_roots_of_institutions_are_not_public():
    assert is_public_root("2.16.840.1.113883.4.6")
    assert is_public_root("2.16.840.1.113883.4.3.36")
    assert not is_public_root("1.2.840.114350.1.13.99998")
    assert is_template("2.16.840.1.113883.10.20.22.4.3")
    assert not is_template("2.16.840.1.113883.10.20.22.561832947")
    assert is_version("2015-08-01")
    assert not is_version("561-83-2947")
    assert not is_version("1957-03-16")
    assert not is_version("20520908")  # may be a number of the patient
