"""The rules of fields, compared with the tables of the standard in hl7apy."""

from functools import cache
from importlib import import_module

import pytest

from streams.engine.errors import ConfigError
from streams.formats.hl7.field_rules import (
    FIELD_FILES,
    VERSIONS,
    Rules,
    _in_version,
    _load,
    _numbers,
)
from streams.formats.values import Verb

OF_LIBRARY = [each for each in VERSIONS if each != "2.7.1"]
"""hl7apy has no 2.7.1, which changed no field."""
UNTYPED = (None, "WD", "wd", "-", "CM")
"""Fields that were withdrawn, and composites of v2.1 whose components are not named."""
RULES = Rules()


@cache
def library(version, tables):
    return import_module(f"hl7apy.v{version.replace('.', '_')}.{tables}")


def standard_fields(version):
    """Return the data type of every field of a version."""
    return {
        (name.split("_")[0], int(name.split("_")[1])): reference[2]
        for name, reference in library(version, "fields").FIELDS.items()
    }


def stated_types():
    """Return the data types that the files state: version and type, by field."""
    found = {}
    for file in FIELD_FILES:
        for segment, table in _load(file).items():
            for number, (_, *types) in table.items():
                pairs = [each.rpartition(" ")[::2] for each in types]
                found[segment, int(number)] = [
                    (_numbers(since or "2.1"), type_) for since, type_ in pairs
                ]
    return found


@pytest.mark.parametrize("version", OF_LIBRARY)
def test_every_field_of_the_standard_has_a_rule_or_its_segment_is_removed(version):
    rules = RULES.of(version)

    without = [
        f"{segment}-{number}"
        for segment, number in standard_fields(version)
        if segment not in RULES.removed and number not in rules.get(segment, {})
    ]

    assert without == []


@pytest.mark.parametrize("version", OF_LIBRARY)
def test_the_data_type_of_every_field_is_that_of_the_standard(version):
    types = stated_types()

    wrong = [
        f"{segment}-{number}: {type_}"
        for (segment, number), type_ in standard_fields(version).items()
        if segment not in RULES.removed
        and type_ not in UNTYPED
        and type_ != _in_version(types[segment, number], _numbers(version))
    ]

    assert wrong == []


@pytest.mark.parametrize("version", OF_LIBRARY)
def test_every_component_of_every_data_type_is_stated(version):
    counts = {}
    for name in library(version, "datatypes").DATATYPES:
        type_, number = name.rsplit("_", 1)
        counts[type_] = max(counts.get(type_, 0), int(number))

    short = {
        type_: (len(RULES._types[type_]), count)
        for type_, count in counts.items()
        if type_ in RULES._types
        and len(RULES._types[type_]) < count
        and RULES._types[type_][-1] != "..."
    }

    assert short == {}


def test_no_segment_is_both_removed_and_ruled():
    assert RULES.removed.isdisjoint(RULES.of("2.8.2"))


@pytest.mark.parametrize(
    ("version", "same"),
    [
        *(
            ("2.9", "2.8.2"),
            ("2.7.1", "2.7"),
            ("2.5.1^USA", "2.5.1"),
            ("2.35", "2.8.2"),
        ),
        *(("", "2.5.1"), ("three", "2.5.1"), (" 2.3 ", "2.3"), ("2.0", "2.1")),
    ],
)
def test_an_unknown_version_is_read_as_the_nearest_lower_one(version, same):
    assert RULES.of(version) == RULES.of(same)


def test_rules_change_with_the_version():
    before, since = RULES.of("2.2")["PV1"][3], RULES.of("2.3")["PV1"][3]

    assert before != since


def test_a_site_adds_rules_for_its_own_segments(tmp_path):
    file = tmp_path / "ours.toml"
    file.write_text('[ZPD]\n1 = ["type", "CWE"]\n2 = ["identifier ACCOUNT"]\n')

    rules = Rules.with_file(file).of("2.3")

    assert rules["ZPD"][2].place == "ZPD-2"
    assert rules["ZPD"][2].holds([Verb.IDENTIFIER])
    assert rules["PID"] == RULES.of("2.3")["PID"]


def test_a_site_may_change_a_rule_of_the_standard():
    rules = Rules({"PID": {"10": ["remove", "CWE"]}}).of("2.8")

    assert not rules["PID"][10].holds([Verb.CODE])
    assert rules["PID"][5] == RULES.of("2.8")["PID"][5]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            {"ZPD": {"1": ["keep", "ST"]}},
            "ZPD-1: 'keep' is unknown; known: charset, code",
        ),
        ({"ZPD": {"1": ["type", "XYZ"]}}, "ZPD-1: the data type 'XYZ' is unknown"),
        ({"ZPD": {"1": ["type", "9.9 ST"]}}, "ZPD-1: '9.9' is no version; known: 2.1"),
        ({"ZPD": {"1": ["replace NOBODY", "ST"]}}, "labels: PATIENT"),
        ({"ZPD": {"1": ["number PATIENT", "ST"]}}, "ZPD-1: 'number PATIENT' is"),
        ({"ZPD": {"1": ["boolean", "ST"]}}, "ZPD-1: 'boolean' is unknown"),
        ({"ZPD": {"1": ["CWE", "ST"]}}, "ZPD-1: 'CWE' is unknown"),
        ({"ZPD": {"1": ["identifier", "ST"]}}, "ZPD-1: 'identifier' is unknown"),
        ({"ZPD": {"one": ["type", "ST"]}}, "ZPD-one must be"),
        ({"ZPD": {"1": "type"}}, "ZPD-1 must be"),
        ({"ZPD": {"1": []}}, "ZPD-1 must be"),
        ({"zpd": {"1": ["type", "ST"]}}, "'zpd' must be a segment"),
        ({"ZPD": "type"}, "'ZPD' must be a segment and a table"),
        ({"ZPD": {"1": ["delimiters", "ST"]}}, "'delimiters' is for MSH-1, MSH-2"),
        ({"ZPD": {"1": ["narrative", "ST"]}}, "'narrative' is for NTE-3"),
    ],
)
def test_a_rule_that_is_not_understood_is_refused(table, reason):
    with pytest.raises(ConfigError, match=reason):
        Rules(table)


@pytest.mark.parametrize("text", [None, "[ZPD", "\xff"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, text):
    file = tmp_path / "ours.toml"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))

    with pytest.raises(ConfigError, match=r"ours\.toml: .* give a TOML file"):
        Rules.with_file(file)
