"""A sample of a site's notes with records, from files and from Kafka."""

from __future__ import annotations

import orjson
import pytest

from streams.demo.site import SiteHospital
from streams.engine.errors import InputError
from streams.kafka.topics import NOTES, PATIENTS
from streams.pipeline.intake.route import route
from streams.products.research.site_notes import notes_in_files, notes_in_topics
from tests.harness import produce

MARKED = """\
=== a1 | ward
# record: {"names": [{"family": "Roe", "given": "Jane"}], "mrn": "4410286"}
[[PATIENT|Roe]] settled
=== a2 | ward
Nobody's record.
=== a3 | ward
# record: {"names": [{"family": "Roe", "given": "Jane"}], "mrn": "4410286"}
The same patient again.
"""


def _seen(_count):
    pass


@pytest.fixture
def site():
    return list(SiteHospital(seed=5, patients=4).notes(12))


def test_files_of_note_events_give_notes_with_their_records(site, tmp_path):
    (tmp_path / "notes.jsonl").write_bytes(b"\n".join(each.event for each in site))
    (tmp_path / "log.txt").write_text("no record here")
    counts = []
    found = notes_in_files([tmp_path], 100, 1, counts.append)
    assert [each.text for each in found] == [each.document.text for each in site]
    assert len({each.patient for each in found}) == 4
    assert counts[-1] == 12
    for read, note in zip(found, site, strict=True):
        families = {each.family for each in note.document.known.provider_names}
        assert families == {each.family for each in read.known.provider_names}


def test_marked_notes_of_one_record_are_of_one_patient(tmp_path):
    file = tmp_path / "marked.txt"
    file.write_text(MARKED)
    found = notes_in_files([file], 100, 1, _seen)
    assert [each.text for each in found] == ["Roe settled", "The same patient again."]
    assert len({each.patient for each in found}) == 1


def test_a_sample_is_bounded_and_drawn_from_all(site, tmp_path):
    file = tmp_path / "notes.jsonl"
    file.write_bytes(b"\n".join(each.event for each in site))
    one, again, other = (notes_in_files([file], 3, s, _seen) for s in (1, 1, 2))
    assert len(one) == 3
    assert one == again != other


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        notes_in_files([tmp_path / "none.jsonl"], 3, 1, _seen)


def _sent(settings, site):
    """Write notes without demographics, and rows of their patients, as scrub does."""
    notes, rows = [], {}
    for each in site:
        routed = route(each.event)
        [note] = routed.notes
        value = note.to_json() | {"schema_version": NOTES.schema.version}
        record = value.pop("demographics", None)
        key = note.patient.key
        notes.append((key, orjson.dumps(value)))
        row = {
            "schema_version": PATIENTS.schema.version,
            "patient": value["patient"],
            "updated_at": "",
            "current": record,
            "former": {},
            "merged": [],
            "times": {},
        }
        rows[key] = orjson.dumps(row)
    produce(settings, NOTES.name, notes)
    produce(settings, PATIENTS.name, rows.items())


@pytest.mark.timeout(120)
def test_topics_give_the_newest_notes_joined_with_the_table(settings, site):
    _sent(settings, site)
    produce(settings, NOTES.name, [(b"x", b"not a note")])
    found = notes_in_topics(settings, 1000, _seen)
    assert sorted(each.text for each in found) == sorted(
        each.document.text for each in site
    )
    assert len({each.patient for each in found}) == 4
    assert all(each.known.provider_names and each.known.ids for each in found)
    fewer = notes_in_topics(settings, settings.partitions, _seen)
    assert 0 < len(fewer) <= settings.partitions


@pytest.mark.timeout(120)
def test_the_notes_of_an_erased_patient_have_no_record(settings, site):
    _sent(settings, site)
    [first] = route(site[0].event).notes
    produce(settings, PATIENTS.name, [(first.patient.key, None)])
    found = notes_in_topics(settings, 1000, _seen)
    assert first.patient.key.decode() not in {each.patient for each in found}
    assert len({each.patient for each in found}) == 3
