"""An invented sample of every resource: valid before and after, and consistent."""

from __future__ import annotations

import re

import orjson
import pytest

from streams.formats.fhir.rules import SUBJECTS, SUPPORTED
from tests.streams.formats.fhir.scrubbing import (
    POLICIES,
    READER,
    SAMPLES,
    attached,
    parts,
    rebuilt,
    sample,
    sample_bundle,
    scrubbed,
    validate,
)

SAMPLE_NAMES = sorted(each.stem for each in SAMPLES.glob("*.json"))
BUNDLES = ("searchset", "message", "batch")
NAMES = [*SAMPLE_NAMES, *BUNDLES]
WITHHELD = re.compile(
    r"quellwright|mabel|\bmabe|tennison|okonjo|kowalczyk|adeyemi|ostrander|larkfield"
    r"|brindle|raman|oak street|hospital way|sangamon|tillbury|77881234|219-09-9876"
    r"|q400|555-0(?:123|188|100)|9941339108|036-112233|p-4711|LOT-77A|FLU-2018|ORD-5"
    r"|V-2019",
    re.IGNORECASE,
)
"""What the samples say of persons and institutions."""


def message(name: str) -> dict:
    """Return a sample, with its patient where it refers to one."""
    if name in BUNDLES:
        return sample_bundle(name)
    one = sample(name)
    if name == "Bundle":
        return one
    others = ("Patient", "Practitioner", "Organization")
    entries = [{"resource": sample(each)} for each in others if each != name]
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [*entries, {"resource": one}],
    }


def test_there_is_a_sample_of_every_resource():
    assert set(SAMPLE_NAMES) == SUPPORTED


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_valid_itself(name):
    validate(message(name))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_valid_without_identifiers(name, policy):
    [part] = parts(message(name))
    written = rebuilt(part, policy)
    value = orjson.loads(written.value)

    validate(value)
    text = "\n".join([written.value.decode(), *attached(value)])
    assert [*map(str, WITHHELD.findall(text))] == []
    assert not written.unreadable


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_a_resource_alone_is_that_of_the_patient_it_refers_to(name):
    [part] = parts(sample(name))
    value = orjson.loads(rebuilt(part).value)

    validate(value)
    assert value["resourceType"] == name
    assert {each.patient.key for each in part.updates} == {b"FHIR|p-4711"}
    assert {each.patient.key for each in part.notes} <= {b"FHIR|p-4711"}


@pytest.mark.parametrize("name", NAMES)
def test_the_part_of_a_sample_is_written_twice_alike(name):
    [part] = parts(message(name))

    assert rebuilt(part).value == rebuilt(part).value


def test_a_part_is_a_message_again():
    [part] = parts(message("searchset"))
    [again] = READER.parts(part.content.encode())

    assert again.content == part.content
    assert again.updates == part.updates


def test_what_is_kept_stays_as_it_is_written():
    given = (SAMPLES / "Observation.json").read_bytes().replace(b"1.5,", b"1.500,")
    bundle = (
        b'{"resourceType":"Bundle","type":"batch","entry":[{"resource":%s}]}' % given
    )
    [part] = READER.parts(bundle)
    value = rebuilt(part).value

    assert b'"value":1.500,"unit":"mg/dL","system":"http://unitsofmeasure.org"' in value
    original = orjson.loads(given)
    [written] = [each["resource"] for each in orjson.loads(value)["entry"]]
    for kept in ("status", "category", "code", "interpretation", "referenceRange"):
        assert written[kept] == original[kept]


def test_names_in_fields_are_those_in_texts():
    bundle = scrubbed(message("searchset"))
    by_type = {
        each["resource"]["resourceType"]: each["resource"] for each in bundle["entry"]
    }
    name = by_type["Patient"]["name"][0]
    doctor = by_type["Practitioner"]["name"][0]
    [note] = attached(by_type["DocumentReference"])

    assert f"{name['given'][0]} {name['family']}" in note
    assert f"{doctor['given'][0]} {doctor['family']}" in note
    assert by_type["Organization"]["name"] in note
    assert by_type["Patient"]["identifier"][0]["value"] in note
    assert name["family"] in by_type["Patient"]["text"]["div"]
    assert name["family"] in by_type["DiagnosticReport"]["conclusion"]
    display = by_type["Observation"]["subject"]["display"]
    assert display == " ".join([*name["given"], name["family"]])


def test_dates_in_fields_move_as_those_in_texts():
    """May 1, 2019 in fields and in texts; the time of day goes."""
    bundle = scrubbed(message("searchset"))
    by_type = {
        each["resource"]["resourceType"]: each["resource"] for each in bundle["entry"]
    }
    day = by_type["DiagnosticReport"]["effectiveDateTime"]
    [note] = attached(by_type["DocumentReference"])
    shown = re.search(r"seen on (\w+) (\d+), (\d+)", note)

    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert day != "2019-05-01"
    assert by_type["DiagnosticReport"]["issued"] == f"{day}T00:00:00Z"
    assert by_type["ServiceRequest"]["occurrenceDateTime"] == day
    assert shown[3] == day[:4]
    assert int(shown[2]) == int(day[8:])
