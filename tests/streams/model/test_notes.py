import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Schema
from streams.kafka.topics import NOTES
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import Demographics, PatientId
from tests.streams.engine.records_strategy import demographics, patient_ids

codes = st.text(alphabet="Aa09^._/-", max_size=9)
some_text = st.text(min_size=1, max_size=30)
notes = st.builds(
    ClinicalNote,
    some_text,
    patient_ids,
    codes,
    st.text(max_size=9),
    some_text,
    st.none() | demographics.filter(lambda each: each != Demographics()),
)


@given(notes)
def test_a_note_survives_its_json_and_keeps_the_schema(note):
    value = orjson.loads(orjson.dumps(NOTES.schema.versioned(note.to_json())))

    NOTES.schema.check(value)
    assert note == ClinicalNote.from_json(value)


@pytest.mark.parametrize("kind", ["notes", "note_event"])
def test_reads_a_note_that_says_only_what_it_must(kind):
    value = {
        "note_id": "N1",
        "patient": {"assigning_authority": "", "id": "7"},
        "text": "Seen in clinic.",
    }
    if kind == "notes":
        value |= {"schema_version": 1, "note_type": ""}
    Schema(kind, 1).check(value)

    assert ClinicalNote("N1", PatientId("", "7"), "", "", "Seen in clinic.") == (
        ClinicalNote.from_json(value)
    )


@given(notes)
def test_no_repr_shows_a_value(note):
    assert repr(note) in (
        "ClinicalNote(patient=PatientId(), demographics=None)",
        "ClinicalNote(patient=PatientId(), demographics=Demographics())",
    )
