"""Fields and texts of a message agree, for many invented patients."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

import pytest
from faker import Faker

from tests.streams.formats.fhir.scrubbing import attached, encoded, resources, scrubbed

PATIENTS = 60


def message(number: int) -> dict:
    """Return a patient with a note that says what the fields say."""
    random, fake = Random(number), Faker("en_US")
    fake.seed_instance(number)
    day = date(2015, 1, 1) + timedelta(days=random.randrange(3000))
    given, family, doctor = fake.first_name(), fake.last_name(), fake.last_name()
    mrn = f"{random.randrange(10**7, 10**8)}"
    note = (
        f"{given} {family} (MRN {mrn}) was seen on {day:%m/%d/%Y} by Dr. {doctor}.\n"
        f"{family} went home on {day + timedelta(days=3):%m/%d/%Y}."
    )
    subject = {"reference": "Patient/1", "display": f"{given} {family}"}
    patient = {
        "resourceType": "Patient",
        "id": "1",
        "name": [{"family": family, "given": [given]}],
        "gender": random.choice(["male", "female"]),
        "identifier": [{"type": {"coding": [{"code": "MR"}]}, "value": mrn}],
    }
    document = {
        "resourceType": "DocumentReference",
        "status": "current",
        "subject": subject,
        "author": [{"reference": "Practitioner/9", "display": f"Dr. {doctor}"}],
        "context": {"period": {"start": f"{day}", "end": f"{day + timedelta(days=3)}"}},
        "content": [{"attachment": {"data": encoded(note)}}],
    }
    entries = [{"resource": each} for each in (patient, document)]
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


@pytest.mark.parametrize("number", range(PATIENTS))
def test_names_numbers_and_dates_of_fields_are_those_of_the_note(number):
    written = resources(scrubbed(message(number)))
    patient, document = written["Patient"], written["DocumentReference"]
    [name], [note] = patient["name"], attached(document)
    full = f"{name['given'][0]} {name['family']}"
    start, end = (
        date.fromisoformat(document["context"]["period"][each])
        for each in ("start", "end")
    )

    mrn = patient["identifier"][0]["value"]
    assert note.startswith(f"{full} (MRN {mrn}) was seen on {start:%m/%d/%Y} by Dr. ")
    assert f"by {document['author'][0]['display']}." in note
    assert note.endswith(f"\n{name['family']} went home on {end:%m/%d/%Y}.")
    assert document["subject"]["display"] == full
    assert end - start == timedelta(days=3)
