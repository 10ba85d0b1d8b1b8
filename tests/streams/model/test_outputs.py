"""Each topic declares the version of its schema."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

import schemas
from schemas import Schema, SchemaError
from streams.engine.errors import FatalError, InvalidRecord
from streams.engine.records import Partition, Record
from streams.kafka.topics import NOTES, PATIENTS, TOPICS, WATCH_TOPICS
from streams.model.outputs import encoded
from streams.model.patients.updates import decode_update
from streams.pipeline.scrub.decode import decode

RECORD = Record(Partition("hl7.raw", 0), 1, b"k", b"v")
NOTE = {
    "note_id": "n",
    "patient": {"assigning_authority": "A", "id": "1"},
    "note_type": "",
    "written_at": "",
    "text": "Stable.",
}


@pytest.fixture
def notes_v2(tmp_path, monkeypatch):
    """Give `notes` a second version, in which notes name their ward."""
    folder = Path(schemas.__file__).parent
    for kind in ("notes", "patients"):
        shutil.copytree(folder / kind, tmp_path / kind)
    definition = Schema("notes", 1).definition()
    definition["properties"]["schema_version"] = {"const": 2}
    definition["properties"]["ward"] = {"type": "string"}
    definition["required"] += ["ward"]
    (tmp_path / "notes/v2.json").write_bytes(orjson.dumps(definition))
    monkeypatch.setattr(schemas, "FOLDER", tmp_path)
    return replace(NOTES, schema_version=2)


def test_one_topic_gets_a_further_version_and_the_others_stay(notes_v2):
    output = encoded(notes_v2, b"k", NOTE | {"ward": "7B"}, RECORD)

    value = orjson.loads(output.value)
    assert (value["schema_version"], output.headers["schema"]) == (2, b"notes/2")
    notes_v2.schema.check(value)
    with pytest.raises(SchemaError, match="schema_version: must be 1"):
        NOTES.schema.check(value)
    assert PATIENTS.schema.versioned({})["schema_version"] == 1


def test_what_breaks_the_declared_version_is_never_written(notes_v2):
    checked = replace(notes_v2, checked_by_reader=False)

    with pytest.raises(FatalError, match="notes: value: lacks ward"):
        encoded(checked, b"k", NOTE, RECORD)


def test_only_what_phistream_reads_itself_is_left_to_the_check_of_its_reader():
    """`decode` of scrub checks notes, and `decode_update` patient updates."""
    left = {topic.name for topic in TOPICS if topic.checked_by_reader}
    broken = Record(Partition("notes", 0), 1, b"A|1", b'{"text": "ZZVALUE"}')

    assert left == {"notes", "patient.updates"}
    with pytest.raises(InvalidRecord, match="schema: notes: "):
        decode(broken, max_bytes=1000)
    with pytest.raises(InvalidRecord, match=r"schema: patient\.updates: "):
        decode_update(broken.value)


def test_every_topic_of_the_contract_declares_a_schema_that_exists():
    of_json = [topic for topic in TOPICS if topic.name != "hl7.scrubbed"]

    assert {topic.schema.definition()["type"] for topic in of_json} == {"object"}
    with pytest.raises(LookupError, match=r"watch.audit: declares no schema_version"):
        _ = WATCH_TOPICS[0].schema
