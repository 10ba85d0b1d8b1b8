"""Rows that a transaction changes, in front of a table in memory."""

from __future__ import annotations

import pytest

from streams.engine.errors import FatalError
from streams.engine.records import Partition
from streams.kafka.tables.staged import StagedTable
from streams.kafka.topics import PATIENTS
from tests.tables import MemoryTable

WRITTEN = {Partition(PATIENTS.name, 0): 7}


@pytest.fixture
def table():
    made = MemoryTable()
    made.write(0, {b"old": b"1", b"gone": b"2"}, 5)
    return made


@pytest.fixture
def staged(table):
    made = StagedTable(PATIENTS, table)
    made.put(0, b"new", b"3")
    made.put(0, b"gone", None)
    return made


def test_the_transaction_reads_what_it_changed_and_the_table_does_not(staged, table):
    assert [staged.get(0, k) for k in (b"old", b"gone", b"new")] == [b"1", None, b"3"]
    assert staged.changed(0) == {b"new", b"gone"}
    assert dict(staged.committed(0, b"")) == {b"old": b"1", b"gone": b"2"}
    assert table.rows[0] == {b"old": b"1", b"gone": b"2"}


def test_a_commit_writes_the_changes_with_the_end_of_the_changelog(staged, table):
    staged.commit(WRITTEN)

    assert (table.rows[0], table.next_offset) == ({b"old": b"1", b"new": b"3"}, 7)
    assert not staged.changed(0)
    staged.commit({})


def test_an_abort_drops_the_changes(staged, table):
    staged.abort()

    assert [staged.get(0, k) for k in (b"gone", b"new")] == [b"2", None]
    staged.commit({})
    assert table.rows[0] == {b"old": b"1", b"gone": b"2"}


def test_partitions_are_apart(staged):
    assert (staged.get(1, b"new"), staged.changed(1)) == (None, set())


def test_a_change_that_is_not_in_the_changelog_is_fatal(staged):
    with pytest.raises(FatalError, match="patients: a changed row was not written"):
        staged.commit({Partition(PATIENTS.name, 1): 7})
