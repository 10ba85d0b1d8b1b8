"""An invented hospital with habits of its own."""

from __future__ import annotations

import orjson

from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.document import Document
from streams.demo.site import CLINIC, IN_RECORD, NUMBER, OUTSIDE, STAFF, SiteHospital


def test_the_same_seed_gives_the_same_notes_and_another_other_habits():
    def events(seed):
        return [each.event for each in SiteHospital(seed=seed, patients=4).notes(8)]

    assert events(1) == events(1)
    profiles = {SiteHospital(seed=seed, patients=1).profile for seed in range(5)}
    assert len(profiles) == 5


def test_every_value_is_marked_where_it_is_written():
    notes = list(SiteHospital(seed=2, patients=10).notes(40))
    kinds = set()
    for note in notes:
        spans = [each.span for each in note.document.spans]
        assert spans == sorted(spans)
        kinds.update(kind for each in note.document.spans for kind in each.kinds)
        assert "{" not in note.document.text
    assert kinds == {IN_RECORD, *OUTSIDE, "date"}


def test_the_record_tells_nothing_of_what_is_outside_of_it():
    detector = PatientRecordDetector()
    outside = found = 0
    for note in SiteHospital(seed=2, patients=20).notes(100):
        document = note.document
        [known] = detector([Document("", document.text, document.known)])
        for span in document.spans:
            if span.kinds[0] in (STAFF, CLINIC, NUMBER):
                outside += 1
                found += any(each.span.overlaps(span.span) for each in known)
    assert outside > 100
    # Two people may bear one name.
    assert found < outside / 10


def test_a_note_is_also_an_event_with_the_patients_record():
    [note] = SiteHospital(seed=2, patients=1).notes(1)
    event = orjson.loads(note.event)
    assert event["text"] == note.document.text
    assert event["patient"]["id"] == note.patient
    families = {each["family"] for each in event["demographics"]["providers"]}
    assert families == {n.family for n in note.document.known.provider_names}
