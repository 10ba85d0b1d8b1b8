"""The table of a changelog on a real broker: restore, takeover, outcomes, copies."""

from __future__ import annotations

import logging
import shutil
import time

import pytest

from streams.engine.errors import (
    ConfigError,
    CorruptState,
    DamagedState,
    RetriableError,
    StateInUse,
)
from streams.kafka.client import admin_client
from streams.kafka.offsets import end_offsets, high_watermarks
from streams.kafka.tables import table as tables
from streams.kafka.tables.table import ChangelogTable
from tests.brokers import wait_until
from tests.streams.kafka.tables.changelog import (
    CHANGELOG,
    PARTITIONS,
    Owner,
    create,
    held_by_another_process,
    reached,
    rows_of,
    take_over,
    until,
)


def stop_as_killed(table):
    """Leave the files as a killed process does: what was not flushed is lost."""
    for part in table._parts.values():
        shutil.copytree(folder_of(part.store), f"{folder_of(part.store)}.killed")
    paths = [table._path(p) for p in table._parts]
    table.close()
    for path in paths:
        shutil.rmtree(path)
        shutil.move(f"{path}.killed", path)
        (path / "LOCK").unlink()


def folder_of(store):
    return store._rows.path()


def test_a_restored_table_holds_the_last_value_of_each_key(opened, owner):
    owner.commit(1, [(b"%d" % n, b"first") for n in range(3000)])
    owner.commit(1, [(b"%d" % n, b"") for n in range(0, 3000, 2)])
    owner.commit(1, [(b"%d" % n, None) for n in range(0, 3000, 3)])
    owner.commit(2, [(b"%d" % n, b"other partition") for n in range(10)])

    table = take_over(opened(), [1, 2])

    assert {
        b"%d" % n: b"first" if n % 2 else b"" for n in range(3000) if n % 3
    } == rows_of(table, 1)
    assert len(rows_of(table, 2)) == 10


def test_rows_of_aborted_transactions_never_appear(opened, owner):
    owner.commit(0, [(b"a", b"1")])
    owner.begin(0, [(b"a", b"aborted"), (b"b", b"aborted")])
    owner.abort()

    table = take_over(opened(), [0])

    assert rows_of(table, 0) == {b"a": b"1"}


@pytest.mark.parametrize("is_committed", [True, False])
def test_an_open_transaction_is_waited_for_before_a_partition_is_settled(
    opened, settings, owner, is_committed
):
    Owner(settings, "earlier").commit(0, [(b"a", b"1")])
    owner.begin(0, [(b"a", b"2")])
    table = opened()
    table.open([0])
    until(table.ready, [0])
    table.settle([0])
    for _ in range(10):
        assert table.settled() == []
    assert rows_of(table, 0) == {b"a": b"1"}

    if is_committed:
        owner.commit()
    else:
        owner.abort()

    until(table.settled, [0])
    assert rows_of(table, 0) == {b"a": b"2" if is_committed else b"1"}


def test_a_partition_is_not_written_before_it_is_settled(opened, owner):
    """A row of the previous owner might otherwise replace the newer one."""
    owner.commit(0, [(b"a", b"1")])
    table = opened()
    table.open([0])
    until(table.ready, [0])

    with pytest.raises(ValueError, match="before it settled"):
        table.write(0, {b"a": b"2"}, 9)


def test_the_owner_reads_nothing_back_of_what_it_writes(opened, owner):
    table = take_over(opened(), [0])

    for n in range(5):
        table.write(0, {b"a": b"%d" % n}, owner.commit(0, [(b"a", b"%d" % n)]))

    assert rows_of(table, 0) == {b"a": b"4"}
    assert not table._followed


@pytest.mark.parametrize("is_committed", [True, False])
def test_after_an_unknown_outcome_committed_rows_are_read(
    opened, owner, settings, is_committed
):
    table = take_over(opened(), [0, 1])
    table.write(0, {b"a": b"1"}, owner.commit(0, [(b"a", b"1")]))
    owner.begin(0, [(b"a", b"2"), (b"b", b"2")])
    if is_committed:
        owner.commit()
    else:
        Owner(settings)  # a new producer ends the transaction

    table.reread()

    assert table.settled() == []
    new = {b"a": b"2", b"b": b"2"} if is_committed else {b"a": b"1"}
    assert new == rows_of(table, 0)
    table.write(0, {b"c": b"3"}, Owner(settings).commit(0, [(b"c", b"3")]))
    assert new | {b"c": b"3"} == rows_of(table, 0)


def test_nothing_is_written_while_an_outcome_is_unknown(opened, owner, monkeypatch):
    table = take_over(opened(), [0])
    owner.begin(0, [(b"a", b"1")])
    monkeypatch.setattr(tables, "CALL_SECONDS", 0.5)

    with pytest.raises(RetriableError, match="not read in time"):
        table.reread()
    with pytest.raises(ValueError, match="before it settled"):
        table.write(0, {b"a": b"2"}, 9)

    monkeypatch.undo()
    owner.commit()
    table.reread()
    assert rows_of(table, 0) == {b"a": b"1"}


def test_a_reread_does_not_wait_for_the_transaction_of_a_dead_owner(
    opened, owner, settings
):
    """Its partition is not settled yet, and waits by itself."""
    Owner(settings, "dead").begin(1, [(b"a", b"1")])
    table = take_over(opened(), [0])
    table.open([1])
    until(table.ready, [1])
    table.settle([1])
    assert table.settled() == []
    table.write(0, {b"a": b"1"}, owner.commit(0, [(b"a", b"1")]))

    table.reread()

    table.write(0, {b"a": b"2"}, owner.commit(0, [(b"a", b"2")]))
    assert table.settled() == []
    Owner(settings, "dead")
    until(table.settled, [1])


def test_a_partition_is_taken_over_although_the_cluster_did_not_answer_at_first(
    opened, owner, monkeypatch
):
    owner.commit(0, [(b"a", b"1")])
    table = opened()

    for answer, note in ((table.ready, table.open), (table.settled, table.settle)):
        inner = tables.high_watermarks
        failures = iter([RetriableError("list offsets: timed out")])

        def fails_once(*args, failures=failures, inner=inner):
            for failure in failures:
                raise failure
            return inner(*args)

        monkeypatch.setattr(tables, "high_watermarks", fails_once)
        note([0])
        with pytest.raises(RetriableError):
            answer()
        until(answer, [0])

    assert rows_of(table, 0) == {b"a": b"1"}


def test_a_crash_between_commit_and_write_is_repaired_from_the_changelog(opened, owner):
    table = take_over(opened(), [0])
    table.write(0, {b"a": b"1"}, owner.commit(0, [(b"a", b"1")]))
    owner.commit(0, [(b"a", b"2"), (b"b", b"2")])
    table.close()

    assert rows_of(take_over(opened(), [0]), 0) == {b"a": b"2", b"b": b"2"}


def test_a_killed_worker_reads_again_what_it_had_not_flushed(opened, owner):
    table = take_over(opened(), [0])
    table.write(0, {b"a": b"1"}, owner.commit(0, [(b"a", b"1")]))
    table._parts[0].store.flush()
    table.write(0, {b"a": b"2"}, owner.commit(0, [(b"a", b"2"), (b"b", None)]))
    stop_as_killed(table)

    table = opened()
    table.open([0])
    until(table.ready, [0])

    assert table.get(0, b"a") == b"2"


def test_a_warm_table_reads_the_rest_alone(opened, owner, monkeypatch):
    owner.commit(0, [(b"%d" % n, b"1") for n in range(100)])
    take_over(opened(), [0]).close()
    owner.commit(0, [(b"0", b"2"), (b"1", None)])
    read = count_records(monkeypatch)

    table = take_over(opened(), [0])

    assert read == [b"0", b"1"]
    assert (table.get(0, b"0"), len(rows_of(table, 0))) == (b"2", 99)


def count_records(monkeypatch):
    """Return a list of the keys that tables read from now on."""
    read = []
    inner = tables.PartitionStore.write

    def write(self, changes, next_offset, *, is_current):
        changes = list(changes)
        read.extend(key for key, _ in changes)
        inner(self, changes, next_offset, is_current=is_current)

    monkeypatch.setattr(tables.PartitionStore, "write", write)
    return read


def test_a_released_partition_that_comes_back_is_not_opened_again(
    opened, owner, monkeypatch
):
    """The eager protocol revokes everything in each rebalance, and then assigns it."""
    owner.commit(0, [(b"a", b"1")])
    table = take_over(opened(), [0, 1])
    monkeypatch.setattr(table, "_open", None)
    read = count_records(monkeypatch)

    table.release([0, 1])
    with pytest.raises(ValueError, match="not owned"):
        table.get(0, b"a")
    take_over(table, [0, 1])

    assert rows_of(table, 0) == {b"a": b"1"}
    assert read == []


def test_what_another_owner_wrote_in_between_is_read(opened, owner):
    table = take_over(opened(), [0])
    table.release([0])
    owner.commit(0, [(b"a", b"2")])

    assert rows_of(take_over(table, [0]), 0) == {b"a": b"2"}


def test_a_released_partition_is_closed_when_another_is_taken_over(opened, settings):
    table = take_over(opened(), [0])
    table.release([0])
    take_over(table, [1])

    assert list(table._parts) == [1]


def test_a_released_partition_is_closed_after_a_while(opened, monkeypatch):
    table = take_over(opened(), [0])
    table.release([0])
    table.ready()
    assert list(table._parts) == [0]

    monkeypatch.setattr(tables, "KEPT_SECONDS", 0.0)
    table.ready()

    assert list(table._parts) == []


def test_a_table_of_a_deleted_topic_is_restored(opened, owner, settings):
    owner.commit(0, [(b"a", b"1")])
    take_over(opened(), [0]).close()
    admin = admin_client(settings)
    admin.delete_topics([CHANGELOG.name])[CHANGELOG.name].result(20)
    wait_until(lambda: CHANGELOG.name not in admin.list_topics(timeout=10).topics)
    create(settings)
    Owner(settings).commit(0, [(b"b", b"2")])

    assert rows_of(take_over(opened(), [0]), 0) == {b"b": b"2"}


@pytest.mark.parametrize("was_open", [True, False])
def test_a_table_ahead_of_its_topic_is_restored(opened, owner, was_open):
    """The topic was truncated, e.g. by an unclean election of its leader."""
    owner.commit(0, [(b"a", b"1")])
    table = take_over(opened(), [0])
    table._parts[0].store.write([(b"lost", b"1")], 1000, is_current=True)
    table.release([0])
    if not was_open:
        table.close()
        table = opened()

    assert rows_of(take_over(table, [0]), 0) == {b"a": b"1"}


def test_a_table_that_is_current_is_not_ahead_of_a_slow_commit(opened, owner, settings):
    """The commit has returned, but its marker is not in the partition yet.

    The last stable offset is then below what the table holds.
    """
    admin = admin_client(settings)
    table = take_over(opened(), [0])
    after = owner.begin(0, [(b"a", b"1")])
    table.write(0, {b"a": b"1"}, after)
    table.close()
    assert end_offsets(admin, CHANGELOG.name, [0])[0] < after
    assert after == high_watermarks(admin, CHANGELOG.name, [0])[0]

    table = opened()
    table.open([0])
    until(table.ready, [0])

    assert after == reached(table, 0)
    owner.commit()


def test_only_damaged_stores_are_dropped_and_restored(opened, owner, monkeypatch):
    for partition in (0, 1):
        owner.commit(partition, [(b"%05d" % n, b"v" * 200) for n in range(3000)])
    table = take_over(opened(), [0, 1])
    assert not table.is_damaged
    damage(table, 0)
    with pytest.raises(CorruptState):
        rows_of(table, 0)
    read = count_records(monkeypatch)

    assert table.is_damaged
    assert table.drop() == [0, 1]

    with pytest.raises(ValueError, match="not owned"):
        table.get(1, b"00001")
    take_over(table, [0, 1])
    assert [len(rows_of(table, p)) for p in (0, 1)] == [3000, 3000]
    assert len(read) == 3000


def test_rows_that_damage_elsewhere_kept_from_being_written_are_read(
    opened, owner, monkeypatch
):
    """The transaction is committed, and one of its partitions cannot be written."""
    table = take_over(opened(), [0, 1])
    for partition in (0, 1):
        owner.commit(partition, [(b"a", b"1")])
    table._parts[0].store._rows = Damaged(table._parts[0].store._rows)
    with pytest.raises(DamagedState):
        table.write(0, {b"a": b"1"}, 1)  # and partition 1 is not written any more

    take_over(table, table.drop())

    assert [rows_of(table, p) for p in (0, 1)] == [{b"a": b"1"}] * 2


class RocksError(Exception):
    """The binding raises plain exceptions."""


class Damaged:
    """A store of RocksDB whose writes report damage, as after a failed merge."""

    def __init__(self, rows):
        self._rows = rows

    def write(self, _batch):
        raise RocksError("Corruption: block checksum mismatch")

    def __getattr__(self, name):
        return getattr(self._rows, name)


def damage(table, partition):
    """Damage the files of a store, and open them again."""
    part = table._parts[partition]
    folder = table._path(partition)
    part.store.close()
    for file in folder.glob("*.sst"):
        content = bytearray(file.read_bytes())
        third = len(content) // 3
        content[third : 2 * third] = bytes(third)
        file.write_bytes(content)
    part.store = table._store(folder)


def test_after_a_failure_records_that_were_read_are_read_again(
    opened, owner, monkeypatch
):
    """Those of the other partitions would be missing from their tables."""
    for partition in range(PARTITIONS):
        owner.commit(partition, [(b"%d" % n, b"1") for n in range(50)])
    inner = tables.PartitionStore.write
    failures = iter([CorruptState("table: broken")])

    def write(self, *args, **kwargs):
        for failure in failures:
            raise failure
        inner(self, *args, **kwargs)

    monkeypatch.setattr(tables.PartitionStore, "write", write)
    table = opened()
    table.open(range(PARTITIONS))
    with pytest.raises(CorruptState):
        until(table.ready, range(PARTITIONS))

    until(table.ready, range(PARTITIONS))

    assert [len(rows_of(table, p)) for p in range(PARTITIONS)] == [50] * PARTITIONS


def test_a_topic_with_another_number_of_partitions_is_refused(settings):
    with pytest.raises(ConfigError, match="both need the same count"):
        ChangelogTable(settings, CHANGELOG, "scrub-0", PARTITIONS + 1)


def test_progress_counts_what_is_left_of_a_restore(opened, owner):
    owner.commit(0, [(b"%d" % n, b"1") for n in range(100)])
    table = opened()
    table.open([0])
    until(table.ready, [0])

    [progress] = table.progress()

    assert (
        progress.partition, progress.next_offset, progress.behind, progress.rows
    ) == (0, 101, 0, 100)  # fmt: skip


def test_progress_shows_that_an_open_transaction_is_waited_for(opened, owner):
    table = opened()
    table.open([0])
    until(table.ready, [0])
    owner.begin(0, [(b"a", b"1")])
    table.settle([0])
    assert table.settled() == []

    [progress] = table.progress()

    assert progress.behind == 1
    owner.abort()


def follow_until(table, wanted):
    """Follow the copies until they have reached these offsets."""
    wait_until(lambda: table.follow() or offsets_of(table) == wanted, 30)


def stores_of(table):
    return [part.store for part in table._parts.values()]


def offsets_of(table):
    return {each.partition: each.next_offset for each in table.copies()}


def test_a_takeover_of_a_copy_reads_only_the_rest(opened, owner, monkeypatch):
    first = take_over(opened("scrub-0"), [0])
    after = owner.commit(0, [(b"%d" % n, b"1") for n in range(1000)])
    standby = take_over(opened("scrub-1"), [1])
    standby.copy([0])
    follow_until(standby, {0: after + 1})
    monkeypatch.setattr(standby, "_open", None)
    first.close()
    owner.commit(0, [(b"0", b"2"), (b"1", None)])
    read = count_records(monkeypatch)

    take_over(standby, [0])

    assert read == [b"0", b"1"]
    assert (standby.get(0, b"0"), len(rows_of(standby, 0))) == (b"2", 999)
    assert standby.copies() == []


def test_a_copy_follows_its_changelog_and_is_not_read_by_the_join(opened, owner):
    table = take_over(opened(), [0])
    table.copy([1, 2])
    follow_until(table, {1: 0, 2: 0})

    after = owner.commit(1, [(b"a", b"1")])
    follow_until(table, {1: after + 1, 2: 0})

    with pytest.raises(ValueError, match="not owned"):
        table.get(1, b"a")
    assert [each.partition for each in table.progress()] == [0]


def test_a_copy_that_is_not_wanted_any_more_is_closed_and_its_files_kept(
    opened, owner, monkeypatch
):
    after = owner.commit(1, [(b"a", b"1")])
    table = take_over(opened(), [0])
    table.copy([1])
    follow_until(table, {1: after + 1})

    table.copy([2])

    assert table.copies() == []
    table.copy([1])
    follow_until(table, {1: after + 1})


def test_a_copy_waits_for_the_restore_of_owned_partitions(opened, owner, settings):
    after = owner.commit(1, [(b"a", b"1")])
    table = opened()
    table.copy([1])
    follow_until(table, {1: after + 1})
    owner.begin(0, [(b"b", b"1")])
    table.open([0])
    until(table.ready, [0])
    table.settle([0])
    assert table.settled() == []

    Owner(settings, "another").commit(1, [(b"c", b"1")])
    table.follow()
    assert offsets_of(table) == {1: after + 1}

    owner.commit()
    until(table.settled, [0])
    follow_until(table, {1: after + 3})


def test_a_released_partition_becomes_a_copy_without_being_opened_again(
    opened, owner, monkeypatch
):
    table = take_over(opened(), [0])
    after = owner.commit(0, [(b"a", b"1")])
    monkeypatch.setattr(table, "_open", None)
    table.copy([0])

    table.release([0])
    follow_until(table, {0: after + 1})

    assert rows_of(take_over(table, [0]), 0) == {b"a": b"1"}


def test_a_damaged_copy_is_restored_and_the_owned_tables_are_kept(
    opened, owner, monkeypatch
):
    after = owner.commit(1, [(b"a", b"1")])
    table = take_over(opened(), [0])
    table.copy([1])
    follow_until(table, {1: after + 1})
    damaged = table._parts[1].store
    damaged._rows = Damaged(damaged._rows)
    after = owner.commit(1, [(b"a", b"2")])
    wait_until(lambda: table.follow() or damaged not in stores_of(table))

    follow_until(table, {1: after + 1})

    take_over(table, [1])
    assert rows_of(table, 1) == {b"a": b"2"}


def test_a_copy_that_another_process_has_open_is_left_alone(opened, settings):
    other = opened("scrub-0")
    take_over(other, [1])
    table = opened("scrub-0")
    take_over(table, [0])

    table.copy([1])
    table.follow()

    assert table.copies() == []


def test_a_locked_store_is_waited_for_while_the_others_go_on(
    opened, owner, settings, caplog
):
    owner.commit(0, [(b"a", b"1")])
    table = opened()
    with held_by_another_process(table._path(1)) as pid:
        caplog.set_level(logging.WARNING)
        table.open([0, 1])
        until(table.ready, [0])
        assert table.ready() == []
        assert f"process {pid} has {table._path(1)} open" in caplog.text
        assert "waiting, 0 of 60 s" in caplog.text

    until(table.ready, [1])


def test_the_wait_for_a_locked_store_is_bounded_and_deletes_nothing(settings):
    dropped = []
    table = ChangelogTable(
        settings.model_copy(update={"state_lock_seconds": 1.5}),
        CHANGELOG,
        "scrub-0",
        PARTITIONS,
        damaged=lambda: dropped.append(1),
    )
    with held_by_another_process(table._path(1)):
        before = {each.name for each in table._path(1).iterdir()}
        table.open([1])
        begun = time.monotonic()
        with pytest.raises(StateInUse, match="nothing was deleted"):
            until(table.ready, [1])
        assert 1.5 <= time.monotonic() - begun < 15
        after = {each.name for each in table._path(1).iterdir()}
    table.close()

    # RocksDB has renamed its log, and nothing else.
    assert {n for n in before if "LOG" not in n} == {n for n in after if "LOG" not in n}
    assert dropped == []


def test_each_store_that_is_dropped_for_damage_is_counted(opened, owner, settings):
    owner.commit(1, [(b"%05d" % n, b"v" * 200) for n in range(3000)])
    take_over(opened(), [1]).close()
    dropped = []

    def again():
        return ChangelogTable(
            settings,
            CHANGELOG,
            "scrub-0",
            PARTITIONS,
            damaged=lambda: dropped.append(1),
        )

    table = again()
    [manifest] = table._path(1).glob("MANIFEST-*")
    manifest.unlink()
    take_over(table, [1])
    assert len(dropped) == 1
    damage(table, 1)
    with pytest.raises(DamagedState):
        rows_of(table, 1)
    take_over(table, table.drop())
    assert len(dropped) == 2
    assert len(rows_of(table, 1)) == 3000
    table.close()


def test_what_is_deleted_leaves_the_files_of_owned_partitions_and_copies(
    opened, owner, monkeypatch
):
    monkeypatch.setattr(tables, "PURGE_SECONDS", 0.2)
    for partition in (0, 1):
        owner.commit(partition, [(b"a", b"ZZMARKER"), (b"b", b"kept")])
    table = take_over(opened(), [0])
    table.copy([1])
    wait_until(lambda: table.follow() or 1 in offsets_of(table), 30)
    wait_until(lambda: table.follow() or offsets_of(table)[1] >= 2, 30)
    for part in table._parts.values():
        part.store.flush()
    assert [is_in_files(table, p, b"ZZMARKER") for p in (0, 1)] == [True, True]

    after = owner.commit(0, [(b"a", None)])
    table.write(0, {b"a": None}, after)
    owner.commit(1, [(b"a", None)])

    wait_until(lambda: table.ready() or not is_in_files(table, 0, b"ZZMARKER"), 30)
    wait_until(lambda: table.follow() or not is_in_files(table, 1, b"ZZMARKER"), 30)
    assert [is_in_files(table, p, b"kept") for p in (0, 1)] == [True, True]


def is_in_files(table, partition, marker):
    files = table._path(partition).glob("*.sst")
    return any(marker in each.read_bytes() for each in files)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def stores(settings):
    """Return the stores that hold anything, by slot and partition."""
    return {
        f"{each.parent.name}/{each.name}"
        for each in (settings.state_dir / settings.group).glob("*/*-*")
        if [path for path in each.iterdir() if path.name != "LOCK"]
    }


def test_files_that_nobody_uses_are_deleted_after_a_while(settings, owner):
    """Of a former owner, and of a slot that there is no more: they miss erasures."""
    owner.commit(0, [(b"a", b"1")])
    owner.commit(1, [(b"b", b"1")])
    gone = take_over(ChangelogTable(settings, CHANGELOG, "scrub-1", PARTITIONS), [1])
    gone.close()
    clock = Clock()
    table = ChangelogTable(settings, CHANGELOG, "scrub-0", PARTITIONS, clock=clock)
    other = ChangelogTable(settings, CHANGELOG, "scrub-2", PARTITIONS)
    table.open([0, 1])
    take_over(other, [2])
    for _ in range(50):
        clock.now += 0.1
        table.ready()
    table.release([1])
    both = {"scrub-0/changelog-0", "scrub-2/changelog-2"}
    former = {"scrub-0/changelog-1", "scrub-1/changelog-1"}

    for _ in range(8):
        table.ready()
        assert both | former == stores(settings)
        clock.now += 60
    for _ in range(6):
        clock.now += 60
        table.ready()

    assert both == stores(settings)
    take_over(other, [1])
    assert rows_of(other, 1) == {b"b": b"1"}
    table.close()
    other.close()
