"""Rows of records, columns of schemas, and offsets of snapshots, without any table."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

import pytest

from streams.operations.settings import load_settings
from streams.products.lake.columns import columns, converters, properties_of
from streams.products.lake.progress import LostProgress, Progress, progress_of
from streams.products.lake.rows import ErasedPatient, RefusedRecord, rows_of
from tests.streams.products.lake.lakes import ANN, BEN, NOTES, note_value, record

MARKER = "Zzquellwright"


def refused(topic, given):
    with pytest.raises(RefusedRecord) as caught:
        rows_of(topic).of(given, "day")
    assert MARKER not in str(caught.value)
    assert str(caught.value).startswith(f"{topic}/2/7: ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ward": MARKER}, "holds 1 unknown"),
        ({"text": 7}, "text: must be of type string"),
        ({"schema_version": 9}, "schema_version: known are 1"),
        ({"schema_version": MARKER}, "schema_version: known are 1"),
        ({"patient": BEN}, "key: is not the patient"),
        ({"source": {"topic": "notes", "partition": 0}}, "source: lacks offset"),
    ],
)
def test_a_value_that_breaks_its_schema_is_refused_by_place_and_field(changes, says):
    value = note_value(**changes)
    assert says in refused(NOTES, record(value, 7, partition=2, key=ANN.encode()))


@pytest.mark.parametrize(
    ("raw", "says"),
    [(MARKER.encode(), "is not JSON"), (b"[1]", "object"), (b'{"a":1,"a":2}', "twice")],
)
def test_what_is_no_object_is_refused(raw, says):
    assert says in refused(NOTES, record(raw, 7, partition=2, key=ANN.encode()))


def test_a_null_value_erases_only_under_a_pseudonym():
    assert ErasedPatient(ANN) == rows_of(NOTES).of(
        record(None, 1, key=ANN.encode()), "day"
    )
    given = record(None, 7, partition=2, key=MARKER.encode())
    assert "key: is no pseudonym" in refused(NOTES, given)


@pytest.mark.parametrize(
    ("written_at", "day"),
    [("2024-03-02", date(2024, 3, 2)), ("2024", None), ("2024-02-31", None)],
)
def test_the_day_of_a_note_is_what_the_policy_wrote(written_at, day):
    given = record(note_value(written_at=written_at))
    assert day == rows_of(NOTES).of(given, "day")["day"]


def test_a_note_without_a_day_gets_none_of_arrival():
    assert rows_of(NOTES).of(record(note_value()), "day")["day"] is None


HEADERS = {
    "source": b"notes/1/5",
    "format": b"ccda",
    "content-type": b"application/xml",
    "key_id": b"0123abcd",
}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source": b"x"}, "header source"),
        ({"format": b""}, "header format"),
        ({"content-type": b"text/plain"}, "header content-type"),
        ({"key_id": b"g"}, "header key_id"),
    ],
)
def test_a_message_needs_the_headers_that_scrub_writes(changes, says):
    topic = "hl7.scrubbed"
    given = {"topic": topic, "partition": 2, "key": ANN.encode()}
    row = rows_of(topic).of(record(b"<a/>", 7, headers=HEADERS, **given), "day")
    assert (row["content"], row["format"], row["day"]) == ("<a/>", "ccda", None)

    bad = record(b"<a/>", 7, headers=HEADERS | changes, **given)
    assert says in refused(topic, bad)
    assert "UTF-8" in refused(topic, record(b"\xff", 7, headers=HEADERS, **given))


def test_objects_whose_names_are_data_become_maps():
    found = properties_of(
        [
            {
                "properties": {
                    "counts": {
                        "type": "object",
                        "additionalProperties": {"type": "integer"},
                    },
                    "flag": {"type": "boolean"},
                    "kind": {"enum": ["a", "b"]},
                }
            }
        ]
    )

    assert [*map(str, found.values())] == ["map<string, long>", "boolean", "string"]
    assert converters(found)["counts"]({"x": 1}) == [("x", 1)]


def test_properties_of_all_versions_are_columns():
    versions = [
        {"properties": {"a": {"type": "string"}}},
        {"properties": {"b": {"type": "number"}}},
    ]
    assert {"a", "b"} <= set(columns(properties_of(versions)).column_names)


@pytest.mark.parametrize(
    "versions",
    [
        [{"a": {"type": "string"}}, {"a": {"type": "integer"}}],
        [{"a": {"type": "object"}}],
        [{"a": {"type": "array"}}],
        [{"a": {}}],
    ],
)
def test_what_no_column_can_hold_is_refused(versions):
    with pytest.raises(LookupError, match="a: "):
        properties_of({"properties": each} for each in versions)


def test_no_property_takes_the_place_of_an_own_column():
    with pytest.raises(LookupError, match="record_offset"):
        columns(properties_of([{"properties": {"record_offset": {"type": "integer"}}}]))


def snapshot(number, parent=None, **said):
    summary = SimpleNamespace(additional_properties=said)
    return SimpleNamespace(
        snapshot_id=number, parent_snapshot_id=parent, summary=summary
    )


def test_offsets_are_those_of_the_latest_ancestor_that_has_some():
    progress = Progress(NOTES, "id", {0: 4, 11: 2})
    first = snapshot(1, **progress.summary())
    last = snapshot(3, parent=2)
    known = {1: first, 2: snapshot(2, parent=1)}

    assert progress == progress_of(NOTES, last, known.get)
    assert Progress(NOTES, "", {}) == progress_of(NOTES, None, known.get)
    with pytest.raises(LostProgress):
        progress_of(NOTES, last, {}.get)
    with pytest.raises(LostProgress, match="another topic's"):
        progress_of("phi.audit", last, known.get)


def test_properties_of_the_catalog_are_shown_nowhere():
    env = {"PHISTREAM_LAKE": '{"properties": {"s3.secret-access-key": "Zz1"}}'}
    assert "Zz1" not in repr(load_settings(environment=env))
