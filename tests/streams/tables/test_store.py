import shutil
import subprocess
import sys
from types import SimpleNamespace

import orjson
import pytest
from rocksdict import Options, Rdict

from streams.engine.errors import CorruptState, StateLocked, StorageFull
from streams.tables.store import PartitionStore, drop_store

WEEK = 7 * 86400.0


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def opened(tmp_path, clock):
    def opened(identity="topic-1"):
        return PartitionStore(tmp_path / "t", identity, oldest=WEEK, clock=clock)

    return opened


def write(store, rows, next_offset, *, is_current=True):
    store.write(rows.items(), next_offset, is_current=is_current)


def test_starts_at_zero(opened):
    store = opened()

    assert (0, 0) == (store.next_offset, store.rows)


def test_resumes_from_the_offset_written_with_the_data(opened):
    store = opened()
    write(store, {b"a": b"1", b"b": b"2"}, 10)
    write(store, {b"a": None}, 12)
    store.close()

    store = opened()

    assert 12 == store.next_offset
    assert [None, b"2"] == [store.get(b"a"), store.get(b"b")]


def test_the_last_value_of_a_key_counts(opened):
    store = opened()
    store.write([(b"a", b"1"), (b"a", None), (b"a", b"2")], 3, is_current=False)

    assert b"2" == store.get(b"a")


def test_an_empty_value_is_not_a_deletion(opened):
    store = opened()
    write(store, {b"a": b""}, 1)

    assert b"" == store.get(b"a")


def test_rows_are_scanned_by_prefix_in_the_order_of_bytes(opened):
    store = opened()
    write(
        store, {b"b\xff": b"3", b"a": b"0", b"c": b"4", b"b\x00": b"2", b"b": b"1"}, 5
    )

    assert [(b"b", b"1"), (b"b\x00", b"2"), (b"b\xff", b"3")] == [*store.scan(b"b")]
    assert 5 == len([*store.scan(b"")])
    assert [(b"b\xff", b"3")] == [*store.scan(b"b", b"b\x01")]
    assert 3 == len([*store.scan(b"b", b"a")])
    assert [(b"c", b"4")] == [*store.scan(b"", b"b\xff\x00")]


def test_rows_that_change_during_a_scan_are_seen_as_they_were(opened):
    store = opened()
    write(store, {b"a": b"1", b"b": b"1"}, 2)
    scan = store.scan(b"")
    next(scan)
    write(store, {b"b": None, b"c": b"1"}, 4)

    assert [(b"b", b"1")] == [*scan]


def test_an_offset_without_rows_is_kept_as_well(opened):
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.reach(7, is_current=True)
    store.reach(6, is_current=True)
    store.close()

    assert 7 == opened().next_offset


def test_a_process_that_dies_has_both_rows_and_offset_or_neither(opened, tmp_path):
    """There is no log: a crash loses the rows that were not flushed, and their offset.

    The files are those of a process that was killed: neither flushed nor closed.
    """
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.flush()
    write(store, {b"a": b"2", b"b": b"1"}, 9)
    shutil.copytree(tmp_path / "t", tmp_path / "killed")
    (tmp_path / "killed" / "LOCK").unlink()

    again = PartitionStore(
        tmp_path / "killed", "topic-1", oldest=WEEK, clock=lambda: 1e6
    )

    assert (5, b"1", None) == (again.next_offset, again.get(b"a"), again.get(b"b"))


def test_a_store_of_another_topic_is_refused(opened):
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.close()

    with pytest.raises(CorruptState, match="another topic"):
        opened("topic-2")


def test_a_store_of_the_previous_version_is_refused_and_can_be_dropped(
    opened, tmp_path, clock
):
    """Its rows are merged, and its offsets are those of merged records."""
    meta = {"identity": "topic-1", "next_offset": 5, "rows": 1, "saved_at": clock()}
    old = Rdict(str(tmp_path / "t"), options=Options(raw_mode=True))
    old.put(b"ra", b"1")
    old.put(b"m", orjson.dumps(meta))
    old.close()

    with pytest.raises(CorruptState, match="another version"):
        opened()

    drop_store(tmp_path / "t")
    assert 0 == opened().next_offset


def test_a_store_that_may_have_missed_deletions_is_refused(opened, clock):
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.close()
    clock.now += WEEK + 1

    with pytest.raises(CorruptState, match="too old"):
        opened()


def test_an_unfinished_restore_ages_from_its_beginning(opened, clock):
    """What was deleted before it was reached may be gone from the topic since."""
    store = opened()
    clock.now += WEEK / 2
    write(store, {b"a": b"1"}, 5, is_current=False)
    store.close()
    clock.now += WEEK / 2 + 1

    with pytest.raises(CorruptState, match="too old"):
        opened()


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.sst"])
def test_a_damaged_store_is_refused_and_can_be_dropped(opened, tmp_path, pattern):
    store = opened()
    write(store, {b"%d" % n: b"%d" % n * 50 for n in range(2000)}, 2000)
    store.close()
    for file in (tmp_path / "t").glob(pattern):
        file.write_bytes(b"damaged" * 100)

    with pytest.raises(CorruptState):
        [opened().get(b"%d" % n) for n in range(2000)]

    drop_store(tmp_path / "t")
    assert 0 == opened().next_offset


def test_damage_is_found_by_reads_and_by_scans(opened, tmp_path):
    store = opened()
    write(store, {b"%05d" % n: bytes(200) for n in range(5000)}, 5000)
    store.close()
    [file] = (tmp_path / "t").glob("*.sst")
    content = bytearray(file.read_bytes())
    content[len(content) // 3 : len(content) // 2] = bytes(
        len(content) // 2 - len(content) // 3
    )
    file.write_bytes(content)

    store = opened()
    with pytest.raises(CorruptState):
        list(store.scan(b""))
    assert store.is_damaged


def test_errors_do_not_show_keys(opened):
    store = opened()
    store.close()

    with pytest.raises(CorruptState) as caught:
        store.get(b"ZZMARKER")

    assert "ZZMARKER" not in str(caught.value)


HOLD = """
import sys, time
from pathlib import Path
from streams.tables.store import PartitionStore
store = PartitionStore(Path(sys.argv[1]), "topic-1", oldest=1e9)
store.write([(b"a", b"1")], 7, is_current=True)
store.flush()
print("open", flush=True)
time.sleep(60)
"""


def test_a_store_that_another_process_holds_is_waited_for_not_deleted(tmp_path):
    folder = tmp_path / "t"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE
    )
    try:
        assert b"open\n" == holder.stdout.readline()
        with pytest.raises(StateLocked):
            PartitionStore(folder, "topic-1", oldest=1e9)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()

    assert 7 == PartitionStore(folder, "topic-1", oldest=1e9).next_offset


def test_what_a_full_disk_refused_is_read_again(opened, monkeypatch):
    """Even if there is room again when the store is closed."""
    store = opened()
    write(store, {b"a": b"1"}, 5)

    def full(_batch):
        raise OSError("IO error: No space left on device: While appending to file")

    with monkeypatch.context() as patched:
        patched.setattr(store, "_rows", SimpleNamespace(write=full))
        with pytest.raises(StorageFull):
            write(store, {b"b": b"2"}, 9)
    store.close()

    store = opened()
    assert (5, b"1", None) == (store.next_offset, store.get(b"a"), store.get(b"b"))


def test_a_full_disk_is_no_damage(opened, monkeypatch):
    store = opened()

    def full(_batch):
        raise OSError("IO error: No space left on device: While appending to file")

    monkeypatch.setattr(store, "_rows", SimpleNamespace(write=full))
    with pytest.raises(StorageFull, match="make room"):
        write(store, {b"a": b"1"}, 1)
    assert not store.is_damaged
