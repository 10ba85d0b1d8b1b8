"""Files of patient updates: what is published, and what is refused with its line."""

from __future__ import annotations

import orjson
import pytest

from streams.engine.errors import FatalError, InputError
from streams.kafka.topics import PATIENT_UPDATES
from streams.model.patients.updates import decode_update
from streams.pipeline.files import input_file, sources
from streams.pipeline.files.patient_updates import update_messages
from streams.pipeline.files.sources import lines_in

PATIENT = {"assigning_authority": "NORTH|A", "id": "48291"}
UPDATE = {
    "patient": PATIENT,
    "updated_at": "2024-03-01T09:30:00+01:00",
    "demographics": {"names": [{"family": "Quellwright"}], "phones": ["555-0100"]},
    "former": {"names": [{"family": "Marsh"}]},
    "merged": [{"assigning_authority": "NORTH|A", "id": "815"}],
    "times": {"phones": "2023-01-01"},
}


def published(*lines):
    refused = []
    records = [
        sources.SourceRecord("f.jsonl", number, line)
        for number, line in enumerate(lines)
    ]
    return [*update_messages(records, refused.append)], refused


def test_a_line_is_published_under_its_patients_key_with_the_schemas_version():
    [message], refused = published(orjson.dumps(UPDATE))

    assert refused == []
    assert message.key == b"NORTH\\|A|48291"
    assert orjson.loads(message.value) == {"schema_version": 1, **UPDATE}
    assert orjson.loads(message.value)["patient"] == PATIENT


def test_an_erasure_is_the_null_value_under_the_patients_key():
    [message], refused = published(orjson.dumps({"patient": PATIENT, "erase": True}))

    assert (message.value, message.key) == (None, b"NORTH\\|A|48291")
    assert refused == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"ZZMARKER", "the line is not JSON"),
        (b"[]", "must be of type object"),
        (orjson.dumps(UPDATE)[:-1] + b',"patient":{}}', "gives a name twice"),
        (b'{"erase": true, "patient": {"id": "ZZ", "id": "ZY"}}', "gives a name twice"),
        ({"demographics": {}}, "lacks patient"),
        ({"patient": {"assigning_authority": "ZZMARKER"}}, "patient: lacks id"),
        (
            {**UPDATE, "demographics": {"birth_dates": ["ZZMARKER"]}},
            "demographics.birth_dates: must match",
        ),
        (
            {**UPDATE, "former": {"birth_dates": ["2023-02-30"]}},
            "former.birth_dates: must be dates",
        ),
        ({**UPDATE, "ZZMARKER": 1}, "holds 1 unknown; known: schema_version, patient"),
        ({**UPDATE, "note_id": "n", "text": "ZZMARKER"}, "holds 2 unknown"),
        ({**UPDATE, "schema_version": 2}, "schema_version: must be 1"),
        ({**UPDATE, "forwarded": True}, "forwarded: set by scrub; leave it out"),
        (
            {**UPDATE, "held": {"release": [7]}},
            "held: run phistream held; leave it out",
        ),
        ({**UPDATE, "updated_at": "ZZMARKER"}, "updated_at: must be ISO 8601"),
        ({**UPDATE, "times": {"names": "ZZ"}}, "times.names: must be ISO 8601"),
        ({"patient": PATIENT, "erase": False}, "erase: must be true"),
        ({"patient": PATIENT, "erase": "ZZMARKER"}, "erase: must be true"),
        ({**UPDATE, "erase": True}, "erase: goes with patient alone"),
        ({"erase": True}, "lacks patient"),
        ({"patient": {**PATIENT, "id": ""}, "erase": True}, "must have 1 or more"),
    ],
)
def test_a_line_that_is_no_update_is_named_by_line_and_field_and_never_shown(
    line, says
):
    given = line if isinstance(line, bytes) else orjson.dumps(line)

    messages, [refusal] = published(orjson.dumps(UPDATE), given)

    assert len(messages) == 1
    assert refusal.startswith("f.jsonl line 2: patient.updates: ")
    assert says in refusal
    assert "ZZ" not in refusal


def test_what_is_published_is_what_scrub_reads():
    [message], _ = published(orjson.dumps(UPDATE))

    update = decode_update(message.value)
    assert message.key == update.record.patient.key
    assert not update.is_forwarded
    PATIENT_UPDATES.schema.check_strictly(orjson.loads(message.value))


def test_lines_are_counted_with_blank_ones_and_ends_of_either_kind(tmp_path):
    file = tmp_path / "u.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"b":2}\n{"c":3}')

    found = [(each.ordinal + 1, each.value) for each in lines_in([file])]

    assert found == [(1, b'{"a":1}'), (4, b'{"b":2}'), (5, b'{"c":3}')]


def test_a_folder_gives_its_json_lines_and_a_named_file_is_read_anyway(tmp_path):
    for name in ("b.jsonl", "a.ndjson", "c.csv", "d.json"):
        (tmp_path / name).write_text("{}")
    skipped = []

    folder = [each.origin.name for each in lines_in([tmp_path], skipped=skipped.append)]
    named = [each.origin.name for each in lines_in([tmp_path / "d.json"])]

    assert folder == ["a.ndjson", "b.jsonl"]
    assert [each.name for each in skipped] == ["c.csv", "d.json"]
    assert named == ["d.json"]


def test_a_line_without_end_and_a_file_that_is_absent_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(input_file, "MAX_RECORD_BYTES", 100)
    (tmp_path / "u.jsonl").write_bytes(b"x" * 101)

    with pytest.raises(FatalError, match="a record of more than 100 bytes"):
        [*lines_in([tmp_path / "u.jsonl"])]
    with pytest.raises(InputError, match="no such file"):
        lines_in([tmp_path / "absent"])
