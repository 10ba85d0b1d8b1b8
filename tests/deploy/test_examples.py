"""The examples' own logic, without Kafka: offsets lead back, files are the position."""

from __future__ import annotations

import json
import os

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from deid_core import OffsetMap
from deid_core.document import Row
from tests.deploy.example import load

nlp = load("nlp_consumer")
lake = load("parquet_lake")

NOON = 1_767_182_400_000  # 2025-12-31, 12:00 UTC
DAY = 24 * 60 * 60 * 1000


@st.composite
def rows(draw):
    """Draw the rows of an OffsetMap: what was kept, removed and written in turns."""
    found, note, scrubbed = [], 0, 0
    for _ in range(draw(st.integers(0, 5))):
        kept, removed, written = (draw(st.integers(n, 9)) for n in (0, 1, 0))
        start, place = note + kept, scrubbed + kept
        note, scrubbed = start + removed, place + written
        found.append([start, note, place, scrubbed])
    return found


@given(rows(), st.integers(0, 120))
def test_three_lines_map_offsets_as_the_library_does(found, offset):
    expected = OffsetMap(tuple(Row(*row) for row in found)).to_original(offset)

    assert expected == nlp.in_original(offset, found)


def test_a_find_between_replacements_is_told_in_both_texts():
    note = {
        "note_id": "0" * 32,
        "text": "[NAME:PATIENT] takes metformin[DATE].",
        "offsets": [[0, 3, 0, 14], [19, 29, 30, 36]],
        "source": {"topic": "notes", "partition": 1, "offset": 7},
    }
    original = "Ann takes metformin3/14/2024X."

    [find] = nlp.finds(note)

    assert note["text"][find["start"] : find["end"]] == "metformin"
    assert original[find["original_start"] : find["original_end"]] == "metformin"
    assert note["source"] == find["source"]


def message(offset, *, partition=0, at=NOON):
    value = {
        "stage": "scrub",
        "outcome": "scrubbed",
        "annotations": [
            {"start": 0, "end": 3, "label": "DATE", "score": 1, "detector": "rules"}
        ],
        "outputs": 1,
    }
    return Message(
        topic="phi.audit",
        partition=partition,
        offset=offset,
        value=json.dumps(value).encode(),
        timestamp=(1, at),
    )


MESSAGES = [
    message(4),
    message(0, partition=1),
    message(5, at=NOON + DAY),
    message(7, at=NOON),  # a clock that went back: a day must not jump over another
    message(1, partition=1),
    message(8),
]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "phi.audit"
    folder.mkdir()
    return folder


def stored(folder):
    """Return the (partition, offset) of all rows of complete files."""
    return sorted(
        (row["partition"], row["offset"])
        for file in folder.rglob("*.parquet")
        for row in pq.read_table(file, partitioning=None).to_pylist()
    )


def left(folder):
    """Return what a reader that starts at the files' positions is given."""
    reached = lake.positions(folder)
    return [m for m in MESSAGES if m.offset() >= reached.get(m.partition(), 0)]


def test_a_file_is_named_after_what_it_holds_and_lies_under_its_day(folder):
    lake.store(folder, MESSAGES)

    names = sorted(str(f.relative_to(folder)) for f in folder.rglob("*.parquet"))
    assert names == [
        "date=2025-12-31/phi.audit-0-4-4.parquet",
        "date=2025-12-31/phi.audit-0-7-8.parquet",
        "date=2025-12-31/phi.audit-1-0-1.parquet",
        "date=2026-01-01/phi.audit-0-5-5.parquet",
    ]
    assert lake.positions(folder) == {0: 9, 1: 2}


class Crash(BaseException):
    """Stands for kill -9."""


@pytest.mark.parametrize("step", ["mkdir", "write_table", "fsync", "replace", "after"])
@pytest.mark.parametrize("call", range(4))
def test_a_crash_at_any_step_leaves_neither_loss_nor_doubles(
    folder, monkeypatch, step, call
):
    calls = []

    def crash_before(do):
        def crashing(*arguments, **options):
            calls.append(step)
            if step != "after" and len(calls) > call:
                raise Crash
            do(*arguments, **options)
            if len(calls) > call:
                raise Crash

        return crashing

    place = {
        "mkdir": (type(folder), "mkdir"),
        "write_table": (lake.pq, "write_table"),
        "fsync": (os, "fsync"),
        "replace": (os, "replace"),
        "after": (os, "replace"),
    }[step]
    monkeypatch.setattr(*place, crash_before(getattr(*place)))
    with pytest.raises(Crash):
        lake.store(folder, MESSAGES)
    monkeypatch.undo()

    lake.store(folder, left(folder))

    assert stored(folder) == [(0, 4), (0, 5), (0, 7), (0, 8), (1, 0), (1, 1)]


def test_a_second_writer_of_a_folder_is_refused(folder, tmp_path):
    import fcntl

    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(BlockingIOError):
            lake.main("127.0.0.1:9", "phi.audit", tmp_path, 1)


@pytest.mark.parametrize("example", [nlp, lake], ids=["nlp_consumer", "parquet_lake"])
def test_a_value_is_read_with_the_wire_format_of_a_registry_and_without(example):
    note = {"text": "a"}
    plain = json.dumps(note).encode()

    assert note == example.json_of(plain) == example.json_of(b"\0\0\0\0\7" + plain)
