"""The two forms of a JSON note, and what `feed` and `scrub` make of them."""

from __future__ import annotations

import io
from pathlib import Path

import orjson
import pytest

from deid_core import Document
from schemas import Schema
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats import Format
from streams.pipeline.files.documents import documents_in
from streams.pipeline.files.json_notes import NO_PATIENT, for_topic, note_event_of

NAMES = {"names": [{"family": "Quellwright", "given": "Mabelle"}]}
IDENTITY = {"assigning_authority": "NORTH", "id": "48291"}
EVENT = {
    "note_id": "n1",
    "patient": IDENTITY,
    "text": "Ms. Quellwright came.",
    "demographics": NAMES,
}
TWICE = "JSON note: value: an object gives a name twice; give it once"
OF_NORTH = {"assigning_authority": "", "id": "48291"}
SHORT = {"id": "n1", "text": "t", "patient_id": "48291", "patient": NAMES}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EVENT, EVENT),
        (
            SHORT,
            {"note_id": "n1", "text": "t", "patient": OF_NORTH, "demographics": NAMES},
        ),
        ({"id": 7, "text": "t"}, {"note_id": "7", "text": "t"}),
        (
            {"id": "n1", "text": "t", "patient": IDENTITY, "spans": [[0, 1, "x"]]},
            {"note_id": "n1", "text": "t", "patient": IDENTITY},
        ),
        (
            {"note_id": "n1", "text": "t", "patient": NAMES},
            {"note_id": "n1", "text": "t", "demographics": NAMES},
        ),
        ({"id": "n", "text": "t", "patient": None}, {"note_id": "n", "text": "t"}),
        ({"id": "n", "text": "t", "patient_id": ""}, {"note_id": "n", "text": "t"}),
    ],
)
def test_both_forms_say_the_same_note_event(given, expected):
    assert expected == note_event_of(given)


def test_of_a_note_event_nothing_is_left_out_so_that_its_schema_judges_it():
    assert "pateint" in note_event_of({**EVENT, "pateint": NAMES})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], 'needs "note_id" (or "id") and "text"'),
        ({"id": "ZZMARKER"}, 'needs "note_id" (or "id") and "text"'),
        ({"text": "ZZMARKER"}, 'lacks "note_id" (or "id")'),
        ({**EVENT, "id": "ZZMARKER"}, '"note_id" and "id" mean the same'),
        ({**EVENT, "patient_id": "ZZMARKER"}, '"patient" and "patient_id" mean'),
        ({**SHORT, "demographics": NAMES}, '"patient" and "demographics" mean'),
        ({"id": ["ZZMARKER"], "text": "t"}, "id: must be a string or a number"),
        ({"id": True, "text": "t"}, "id: must be a string or a number"),
        ({"id": None, "text": "ZZMARKER"}, "id: must be a string or a number"),
    ],
)
def test_what_is_no_note_or_says_a_thing_twice_is_refused_without_its_value(
    given, says
):
    with pytest.raises(InvalidRecord) as caught:
        note_event_of(given)

    assert says in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)


def test_a_short_form_is_published_as_a_note_event_that_keeps_its_schema():
    event = orjson.loads(for_topic(orjson.dumps(SHORT)))

    Schema("note_event", 1).check(event)
    assert (event["patient"], event["demographics"]) == (OF_NORTH, NAMES)


@pytest.mark.parametrize(
    "value",
    [
        orjson.dumps(EVENT, option=orjson.OPT_INDENT_2),
        b"MSH|^~\\&|A",
        b"{not json",
        b'{"resourceType": "Bundle"}',
        b"",
    ],
)
def test_everything_else_is_published_as_it_is_for_intake_to_judge(value):
    assert value == for_topic(value)


@pytest.mark.parametrize("value", [b'{"note_id": "n"}', b'{"eventId": 1, "body": "x"}'])
def test_json_of_another_form_is_refused_unless_intake_has_a_map(value):
    with pytest.raises(InvalidRecord, match="phistream map --sample") as refused:
        for_topic(value)
    assert refused.value.code is ReasonCode.SCHEMA
    assert value == for_topic(value, any_json=True)


@pytest.mark.parametrize(
    "given", [{"id": 1, "text": "t"}, {"note_id": "1", "text": ""}]
)
def test_a_note_of_nobody_is_not_published_and_the_reason_says_what_to_add(given):
    with pytest.raises(InvalidRecord) as caught:
        for_topic(orjson.dumps(given))

    assert (caught.value.code, caught.value.reason) == ("no_patient", NO_PATIENT)
    assert '"patient_id"' in NO_PATIENT


# --- files as documents


def found(content, name="f.jsonl", kind=Format.JSONL, *, is_explicit=True):
    stream = io.BytesIO(content)
    return [*documents_in(Path(name), stream, kind, is_explicit=is_explicit)]


def lines(*values):
    return b"".join(orjson.dumps(each) + b"\n" for each in values)


def test_a_note_is_joined_with_what_the_file_has_said_of_its_patient():
    later = {"note_id": "n2", "patient": IDENTITY, "text": "again"}
    first, second = found(lines(EVENT, later))

    assert [first.id, second.id] == ["n1", "n2"]
    assert first.patient == second.patient == "NORTH|48291"
    assert [each.family for each in second.known.patient_names] == ["Quellwright"]
    assert [each.value for each in second.known.ids] == ["48291"]


def test_a_note_of_nobody_has_its_own_demographics_alone():
    one = {"id": "a", "text": "t", "patient": NAMES, "note_type": "Progress note"}
    first, second = found(lines(one, {"id": "b", "text": "t"}))

    assert (first.patient, second.patient, first.note_type) == ("", "", "Progress note")
    assert [each.family for each in first.known.patient_names] == ["Quellwright"]
    assert second.known.patient_names + second.known.ids == ()


def test_an_empty_note_stays_one():
    [empty] = found(lines({"id": "a", "text": ""}))

    assert (empty.id, empty.text) == ("a", "")


def test_a_json_file_is_an_array_of_notes_or_a_single_one():
    one = {"id": "a", "text": "t"}
    array = found(orjson.dumps([one, one]), "f.json", Format.JSON)
    single = found(orjson.dumps(one), "f.json", Format.JSON)

    assert [Document, Document] == [*map(type, array)]
    assert [each.id for each in single] == ["a"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"resourceType": "Bundle"}', "f.json value 1: not a JSON note"),
        (b'[{"id": "a", "text": "t"}, 7]', "f.json value 2: not a JSON note"),
        (b"plain", "f.json value 1: not JSON"),
        (b'{"id": "a", "text": "\xff"}', "f.json value 1: not JSON in UTF-8"),
        (b'{"id": null, "text": "t"}', "f.json value 1: id: must be a string"),
        (
            b'{"note_id": null, "text": "t"}',
            "f.json value 1: note_event: note_id: must",
        ),
        (b'{"id": "a", "text": "t", "text": "u"}', f"f.json value 1: {TWICE}"),
        (b'[{"id": "a", "text": "t", "id": "b"}]', f"f.json value 1: {TWICE}"),
        (b'{"message": "MSH|^~", "message": "MSH|^~"}', f"f.json value 1: {TWICE}"),
    ],
)
def test_json_that_is_no_note_is_refused_by_name(content, says):
    *_, last = found(content, "f.json", Format.JSON)

    assert isinstance(last, InvalidRecord)
    assert last.reason.startswith(says)


def test_a_birth_date_that_is_none_is_refused_with_its_property():
    demographics = {"birth_dates": ["1952-13-41"]}
    [refused] = found(lines({"id": "a", "text": "t", "patient": demographics}))

    assert "f.jsonl:1: note event: demographics.birth_dates" in refused.reason
    assert "1952" not in str(refused)


def test_hl7_that_json_wraps_is_read_as_hl7():
    message = "MSH|^~\\&|A|B|||20250101||ORU^R01|2|P|2.5\rPID|1||7\rOBX|1|TX|||fine"
    [note] = found(lines({"message": message}))

    assert (note.text, note.id) == ("fine", "f.jsonl:1.1")


@pytest.mark.parametrize(
    "content", [b'{"a": 1}', b' [{"a": 1}]\n', lines({"a": 1}, {"a": 2})]
)
def test_json_is_not_taken_for_text_unless_a_person_says_so(content):
    [refused] = found(content, "f.txt", Format.TEXT, is_explicit=False)
    [told] = found(content, "f.txt", Format.TEXT)

    assert "JSON, not text" in refused.reason
    assert content.decode() == told.text


def test_hl7_is_not_taken_for_text_unless_a_person_says_so():
    """As by a pipe, whose beginning can't be looked at first."""
    [refused] = found(b"MSH|^~\\&|A\rPID|1||7", "pipe", Format.TEXT, is_explicit=False)

    assert "pipe: HL7, not text; say --format hl7" in refused.reason


@pytest.mark.parametrize(
    "content",
    ["MSH2 was sequenced", "[sic] came", "{ALLERGIES} none", "", "[ ]\n- milk"],
)
def test_a_text_that_begins_like_json_is_a_text(content):
    [note] = found(content.encode(), "f.txt", Format.TEXT, is_explicit=False)

    assert content == note.text


def test_a_note_of_nobody_shares_nothing_with_a_patient_of_any_id():
    of_nobody = {"id": "a", "text": "t", "patient": NAMES}
    dash = {"id": "b", "text": "t", "patient": {"assigning_authority": "", "id": "-"}}

    _first, second = found(lines(of_nobody, dash))

    assert second.known.patient_names == ()


def test_a_note_that_gives_a_name_twice_is_not_published():
    value = b'{"id": "n", "text": "one", "text": "two", "patient_id": "7"}'

    with pytest.raises(InvalidRecord, match=TWICE):
        for_topic(value)
