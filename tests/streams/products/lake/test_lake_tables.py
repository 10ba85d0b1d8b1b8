"""Tables without Kafka: commits and conflicts, erasure, compaction, expiry."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from schemas import Schema
from streams.engine.errors import ConfigError, RetriableError
from streams.kafka.topics import NOTES_SCRUBBED
from streams.products.lake import maintenance
from streams.products.lake.maintenance import Compacted, compact, expire, small_files
from streams.products.lake.progress import OFFSETS, LostProgress
from streams.products.lake.rows import JsonRows
from streams.products.lake.table import LakeTable, OtherWriter
from tests.streams.products.lake.lakes import (
    ANN,
    BEN,
    Lake,
    note_value,
    record,
    settings_of,
    tombstone,
)


@pytest.fixture
def lake(tmp_path):
    lake = Lake(settings_of(tmp_path))
    yield lake
    lake.close()


def notes(*offsets, **changes):
    return [record(note_value(**changes), n) for n in offsets]


def data_files(lake):
    folder = Path(urlparse(lake.table.table.location()).path, "data")
    return {str(path) for path in folder.rglob("*.parquet")}


def test_rows_and_offsets_are_in_one_snapshot(lake):
    lake.write(*notes(0, 1, 5), record(note_value(), 7, partition=1))

    snapshot = lake.table.table.current_snapshot()
    assert snapshot.summary[OFFSETS] == '{"notes.scrubbed":{"0":6,"1":8}}'
    assert lake.table.progress().offsets == {0: 6, 1: 8}
    assert lake.places() == [(0, 0), (0, 1), (0, 5), (1, 7)]


def test_a_table_is_partitioned_by_the_notes_own_day_and_by_type(lake):
    lake.write(
        *notes(0, written_at="2024-03-02"),
        *notes(1, written_at="2024"),
        *notes(2, note_type=""),
    )

    # 19784 days after 1970 it is 2024-03-02.
    assert {tuple(each.file.partition[n] for n in (0, 1))
          for each in lake.table.table.scan().plan_files()} == {
        (19784, "11506-3"), (None, "11506-3"), (None, ""),
    }  # fmt: skip


@pytest.mark.parametrize(("unit", "day"), [("month", 1), ("year", 1), ("day", 9)])
def test_partitions_may_be_of_months_or_years(tmp_path, unit, day):
    lake = Lake(settings_of(tmp_path, partition_by=unit))
    lake.write(*notes(0, written_at="2024-01-09"))
    # As it was made, whatever the settings say now.
    again = Lake(settings_of(tmp_path, partition_by="day"))

    assert unit == again.table.unit
    assert again.rows("day") == [(date(2024, 1, day),)]
    lake.close()
    again.close()


def test_the_metadata_hold_no_beginning_of_a_text(lake):
    lake.write(*notes(0, text="Zzquellwright"))

    folder = Path(urlparse(lake.table.table.location()).path, "metadata")
    held = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"Zzquell" not in held
    [file] = [each.file for each in lake.table.table.scan().plan_files()]
    column = lake.table.table.schema().find_field("text").field_id
    assert column not in file.lower_bounds


def test_the_second_of_two_writers_is_refused_and_writes_nothing(lake, tmp_path):
    other = Lake(lake.settings)
    mine, theirs = lake.batch(), other.batch()
    lake.write(*notes(0, 1), batch=mine)

    with pytest.raises(OtherWriter, match="another process"):
        other.write(*notes(0, 1), batch=theirs)

    assert other.places() == [(0, 0), (0, 1)]
    other.close()


def test_writers_that_commit_at_the_same_moment_double_nothing(tmp_path):
    for round_ in range(5):
        settings = settings_of(tmp_path / str(round_))
        lakes = [Lake(settings) for _ in range(3)]
        # Both have looked before either commits.
        gate, outcomes = threading.Barrier(3), []

        def write(lake, gate=gate, outcomes=outcomes):
            batch = lake.batch()
            gate.wait()
            try:
                lake.write(*notes(0, 1, 2), batch=batch)
                outcomes.append("written")
            except OtherWriter:
                outcomes.append("refused")

        threads = [threading.Thread(target=write, args=(each,)) for each in lakes]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        assert sorted(outcomes) == ["refused", "refused", "written"]
        assert lakes[0].places() == [(0, 0), (0, 1), (0, 2)]
        for each in lakes:
            each.close()


def test_rows_are_written_again_on_top_of_a_snapshot_of_maintenance(lake):
    lake.write(*notes(0))
    lake.write(*notes(1))
    batch = lake.batch()
    other = Lake(lake.settings)
    table, write = lake.table, lake.table._write

    def after_compaction(commit):
        table._write = write
        transaction = table.table.transaction()
        assert Compacted(2, 1) == compact(other.table, lake.settings, min_files=2)
        assert transaction is not None
        # Based on the snapshot from before.
        table._table = stale
        write(commit)

    stale = lake.catalog.load_table(table.name)
    table._write = after_compaction
    lake.write(*notes(2), batch=batch)

    assert lake.places() == [(0, 0), (0, 1), (0, 2)]
    other.close()


@pytest.mark.parametrize("is_made", [True, False])
def test_a_commit_whose_answer_is_lost_is_made_once(lake, is_made):
    write, calls = lake.table._write, []

    def lossy(commit):
        calls.append(1)
        if is_made or len(calls) > 1:
            write(commit)
        if len(calls) == 1:
            raise CommitStateUnknownException("no answer")

    lake.table._write = lossy
    lake.write(*notes(0, 1))

    assert lake.places() == [(0, 0), (0, 1)]
    assert (1 if is_made else 2) == len(calls)


def test_pyiceberg_never_repeats_a_commit_by_itself(lake):
    with lake.table.table.transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "4"})
    stale = lake.batch()
    lake.write(*notes(0))

    assert lake.table.table.properties["commit.retry.num-retries"] == "0"
    with pytest.raises(OtherWriter):
        lake.write(*notes(0), batch=stale)


def test_a_null_value_erases_earlier_rows_and_no_later_ones(lake):
    lake.write(*notes(0, 1), *notes(2, patient=BEN))
    lake.write(*notes(3), tombstone(ANN, 4), *notes(5), *notes(6, patient=BEN))

    assert lake.rows("record_offset", "patient") == [(2, BEN), (5, ANN), (6, BEN)]
    assert lake.table.progress().offsets == {0: 7}


def test_a_null_value_alone_moves_the_offsets(lake):
    lake.write(tombstone(ANN, 0))
    lake.write(*notes(1), tombstone(BEN, 2))
    lake.write(tombstone(BEN, 3))

    assert lake.places() == [(0, 1)]
    assert lake.table.progress().offsets == {0: 4}


def test_erased_rows_are_in_no_file_once_old_snapshots_have_expired(lake):
    lake.write(*notes(0, 1), *notes(2, patient=BEN))
    before = data_files(lake)
    lake.write(tombstone(ANN, 3))
    assert before <= data_files(lake)
    later = datetime.now(UTC) + timedelta(seconds=1)

    done = expire(lake.table, lake.settings, later)

    assert done.snapshots
    assert not before & data_files(lake)
    assert lake.places() == [(0, 2)]
    assert lake.table.progress().offsets == {0: 4}


def test_small_files_of_a_partition_become_one_and_keep_the_offsets(lake):
    for n in range(5):
        lake.write(*notes(n), *notes(n + 10, note_type="34133-9", patient=BEN))
    assert small_files(lake.table, lake.settings) == (10, 5)
    before = lake.places()

    assert Compacted(10, 2) == compact(lake.table, lake.settings, min_files=5)

    assert before == lake.places()
    assert small_files(lake.table, lake.settings) == (2, 1)
    assert lake.table.progress().offsets == {0: 15}
    assert Compacted() == compact(lake.table, lake.settings, min_files=2)


def test_compaction_does_not_bring_back_what_is_erased_meanwhile(lake, monkeypatch):
    lake.write(*notes(0), *notes(1, patient=BEN))
    lake.write(*notes(2), *notes(3, patient=BEN))
    other = Lake(lake.settings)
    rewrite = maintenance._rewrite

    def after_erasure(table, groups):
        monkeypatch.setattr(maintenance, "_rewrite", rewrite)
        stale = lake.catalog.load_table(table.name)
        other.write(tombstone(ANN, 4))
        table._table = stale
        return rewrite(table, groups)

    monkeypatch.setattr(maintenance, "_rewrite", after_erasure)
    compact(lake.table, lake.settings, min_files=2)

    assert lake.rows("record_offset") == [(1,), (3,)]
    assert lake.table.progress().offsets == {0: 5}
    other.close()


def test_files_of_a_killed_writer_are_deleted_when_they_are_old(lake):
    lake.write(*notes(0))
    folder = Path(urlparse(lake.table.table.location()).path, "data")
    old, new = folder / "old.parquet", folder / "new.parquet"
    for path in (old, new):
        path.write_bytes(b"x")
    long_ago = time.time() - 3600
    os.utime(old, (long_ago, long_ago))

    done = expire(lake.table, lake.settings, datetime.now(UTC))

    assert done.orphans == 1
    assert (old.exists(), new.exists()) == (False, True)
    assert lake.places() == [(0, 0)]


def test_snapshots_of_other_programs_leave_the_offsets_as_they_were(lake):
    lake.write(*notes(0, 1))
    lake.table.table.delete("record_offset = 0")
    lake.write(*notes(2))

    assert lake.places() == [(0, 1), (0, 2)]
    assert lake.table.progress().offsets == {0: 3}


def test_the_snapshot_that_holds_the_offsets_outlives_those_of_other_programs(lake):
    lake.write(*notes(0))
    lake.write(*notes(1, 2))
    lake.table.table.delete("record_offset = 0")
    lake.table.table.delete("record_offset = 1")
    later = datetime.now(UTC) + timedelta(seconds=1)

    assert expire(lake.table, lake.settings, later).snapshots == 1

    assert lake.table.progress().offsets == {0: 3}
    assert lake.places() == [(0, 2)]


def test_a_snapshot_that_only_deletes_holds_the_offsets_of_before(lake):
    lake.write(*notes(0, 1))
    lake.write(tombstone(ANN, 2), *notes(3, patient=BEN))

    offsets = [each.summary[OFFSETS] for each in lake.table.table.metadata.snapshots]
    by_partition = '{"notes.scrubbed":{"0":%d}}'
    assert offsets == [by_partition % 2, by_partition % 2, by_partition % 4]


def test_a_table_without_any_offsets_is_refused(lake):
    lake.table.table.append(lake.table.arrow([{"patient": ANN}]))

    with pytest.raises(LostProgress, match=r"phistream\.offsets"):
        lake.batch()


class Earlier(Schema):
    """The schema as it was before a property was added."""

    def definition(self):
        found = super().definition()
        del found["properties"]["written_at"]
        del found["properties"]["source"]["properties"]["offset"]
        return found


def test_a_property_that_a_schema_gains_becomes_a_column(tmp_path):
    settings = settings_of(tmp_path)
    earlier = Lake(settings, JsonRows(NOTES_SCRUBBED, (Earlier("notes.scrubbed", 1),)))
    value = note_value(source={"topic": "notes", "partition": 0})
    earlier.write(record(value, 0))
    later = Lake(settings)
    later.write(*notes(1, written_at="2024"))

    rows = [
        (row["written_at"], row["source"]["offset"])
        for row in later.table.table.scan().to_arrow().to_pylist()
    ]
    assert set(rows) == {(None, None), ("2024", 3)}
    earlier.close()
    later.close()


def test_a_column_of_another_type_is_refused(tmp_path):
    class Changed(Schema):
        def definition(self):
            found = super().definition()
            found["properties"]["text"] = {"type": "boolean"}
            return found

    settings = settings_of(tmp_path)
    lake = Lake(settings)
    rows = JsonRows(NOTES_SCRUBBED, (Changed("notes.scrubbed", 1),))

    with pytest.raises(ConfigError, match="another type"):
        LakeTable(lake.catalog, settings, rows).open()
    lake.close()


def test_a_conflict_without_end_is_an_error_that_may_pass(lake):
    def conflict(_commit):
        raise CommitFailedException("again")

    lake.table._write = conflict

    with pytest.raises(RetriableError, match="too many conflicts"):
        lake.write(*notes(0))
