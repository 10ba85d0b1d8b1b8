"""The rules against the elements that the package fhir.resources knows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.formats.fhir.rules import COMPLEX, EXTENSIONS, SUPPORTED, TYPES
from streams.formats.values import Rule, Verb
from tests.streams.formats.fhir.models import Element, elements_of

ASKED_FOR = {
    *("DocumentReference", "DiagnosticReport", "Observation", "Composition"),
    *("Patient", "RelatedPerson", "Practitioner", "PractitionerRole", "Organization"),
    *("Location", "Encounter", "Condition", "Procedure", "AllergyIntolerance"),
    *("MedicationRequest", "MedicationStatement", "MedicationAdministration"),
    *("Immunization", "ServiceRequest", "Communication", "QuestionnaireResponse"),
    *("Binary", "Bundle", "Device", "Specimen", "CarePlan", "EpisodeOfCare"),
    "MedicationDispense",
}
NARROWER = {"Bundle.type"}
"""Codes of which only some are supported."""


def walked() -> Iterator[tuple[str, Element, Rule | None]]:
    """Yield each element of each supported type, and its rule."""
    waiting = [(each, each) for each in sorted(SUPPORTED)]
    seen = set()
    while waiting:
        name, model = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for element in elements_of(model):
            rule = TYPES[name].rules.get(element.name)
            yield name, element, rule
            if rule is not None and rule.verb is Verb.TYPE:
                waiting.append((rule.type, element.type))


ELEMENTS = [*walked()]


def test_all_resources_of_the_issue_have_rules():
    assert ASKED_FOR <= SUPPORTED


def test_every_element_has_a_rule():
    assert [f"{n}.{e.name}" for n, e, rule in ELEMENTS if rule is None] == []
    assert len(ELEMENTS) > 800


def test_elements_that_hold_elements_have_the_rules_of_a_type_or_go():
    wrong = [
        f"{name}.{element.name}"
        for name, element, rule in ELEMENTS
        if rule.verb is not Verb.REMOVE
        and (rule.verb in COMPLEX) is not element.is_complex
    ]
    assert wrong == []


def test_the_codes_of_a_rule_are_those_of_the_standard():
    wrong = [
        f"{name}.{element.name}"
        for name, element, rule in ELEMENTS
        if element.codes and rule.verb is Verb.LIST
        if not set(element.codes) - {"+"} <= rule.words
        or ("+" not in element.codes and rule.words - set(element.codes))
        if f"{name}.{element.name}" not in NARROWER
    ]
    assert wrong == []


def test_every_mandatory_element_is_known_as_such():
    wrong = [
        f"{name}.{element.name}"
        for name, element, rule in ELEMENTS
        if element.is_mandatory and element.name not in TYPES[name].mandatory
    ]
    # Without it, nothing is written of the type.
    assert wrong == ["Narrative.div"]


def test_no_rule_is_of_an_element_that_the_standard_does_not_know():
    known = {name: set() for name, _, _ in ELEMENTS}
    for name, element, _ in ELEMENTS:
        known[name].add(element.name)
    wrong = [
        f"{name}.{each}"
        for name, elements in known.items()
        for each in TYPES[name].rules
        if each not in elements and each not in ("modifierExtension", "extension")
    ]
    assert wrong == []


def test_every_type_with_rules_is_used():
    used = {name for name, _, _ in ELEMENTS}
    # Some data types occur in extensions alone, or have rules for all elements.
    assert TYPES.keys() - used == {"Element"}


@pytest.mark.parametrize("url", sorted(EXTENSIONS))
def test_extensions_have_rules_of_values_of_the_standard(url):
    known = {each.name: each for each in elements_of("Extension")}
    for name, rule in EXTENSIONS[url].rules.items():
        assert name in known
        assert (rule.verb in COMPLEX) is known[name].is_complex
