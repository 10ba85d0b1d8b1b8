import os
import resource
import shutil
import subprocess
import sys
from types import SimpleNamespace

import orjson
import pytest
from rocksdict import Options, Rdict

from streams.engine.errors import (
    CorruptState,
    DamagedState,
    FatalError,
    StateLocked,
    StorageFailed,
    StorageFull,
    StreamError,
)
from streams.kafka.tables.rocksdb import drop_store, holder, translated
from streams.kafka.tables.store import PartitionStore
from tests.streams.kafka.tables.changelog import held_by_another_process, small_disk

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

    assert (store.next_offset, store.rows) == (0, 0)


def test_resumes_from_the_offset_written_with_the_data(opened):
    store = opened()
    write(store, {b"a": b"1", b"b": b"2"}, 10)
    write(store, {b"a": None}, 12)
    store.close()

    store = opened()

    assert store.next_offset == 12
    assert [store.get(b"a"), store.get(b"b")] == [None, b"2"]


def test_the_last_value_of_a_key_counts(opened):
    store = opened()
    store.write([(b"a", b"1"), (b"a", None), (b"a", b"2")], 3, is_current=False)

    assert store.get(b"a") == b"2"


def test_an_empty_value_is_not_a_deletion(opened):
    store = opened()
    write(store, {b"a": b""}, 1)

    assert store.get(b"a") == b""


def test_rows_are_scanned_by_prefix_in_the_order_of_bytes(opened):
    store = opened()
    write(
        store, {b"b\xff": b"3", b"a": b"0", b"c": b"4", b"b\x00": b"2", b"b": b"1"}, 5
    )

    assert [*store.scan(b"b")] == [(b"b", b"1"), (b"b\x00", b"2"), (b"b\xff", b"3")]
    assert len([*store.scan(b"")]) == 5
    assert [*store.scan(b"b", b"b\x01")] == [(b"b\xff", b"3")]
    assert len([*store.scan(b"b", b"a")]) == 3
    assert [*store.scan(b"", b"b\xff\x00")] == [(b"c", b"4")]


def test_rows_that_change_during_a_scan_are_seen_as_they_were(opened):
    store = opened()
    write(store, {b"a": b"1", b"b": b"1"}, 2)
    scan = store.scan(b"")
    next(scan)
    write(store, {b"b": None, b"c": b"1"}, 4)

    assert [*scan] == [(b"b", b"1")]


def test_an_offset_without_rows_is_kept_as_well(opened):
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.reach(7, is_current=True)
    store.reach(6, is_current=True)
    store.close()

    assert opened().next_offset == 7


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

    assert (again.next_offset, again.get(b"a"), again.get(b"b")) == (5, b"1", None)


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
    assert opened().next_offset == 0


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
    assert opened().next_offset == 0


def test_damage_is_found_by_reads_and_by_scans(opened, tmp_path):
    store = opened()
    write(store, {b"%05d" % n: bytes(200) for n in range(5000)}, 5000)
    store.close()
    [file] = (tmp_path / "t").glob("*.sst")
    flip(file, 3)

    store = opened()
    with pytest.raises(DamagedState, match="block checksum mismatch"):
        list(store.scan(b""))
    assert store.is_damaged


def flip(file, part):
    """Change one byte of a file, at a part of its length."""
    content = bytearray(file.read_bytes())
    content[len(content) // part] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT"])
def test_a_flipped_byte_of_the_index_of_files_is_damage(opened, tmp_path, pattern):
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.close()
    [file] = (tmp_path / "t").glob(pattern)
    flip(file, 2)

    with pytest.raises(DamagedState, match="RocksDB reports damage"):
        opened()


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.sst"])
def test_an_absent_file_is_damage(opened, tmp_path, pattern):
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.close()
    for file in (tmp_path / "t").glob(pattern):
        file.unlink()

    with pytest.raises(DamagedState):
        opened()


def test_too_few_open_files_are_no_damage(opened):
    """RocksDB itself calls it corruption when it can't open a file."""
    store = opened()
    write(store, {b"a": b"1"}, 5)
    store.close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(each) for each in os.listdir("/proc/self/fd")}
    free = [each for each in range(soft) if each not in used]
    found = set()
    for more in range(1, 12):
        # The limit is one on numbers: those below it that are free can be had.
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[more], hard))
        try:
            opened().close()
        except (StorageFailed, DamagedState) as error:
            found.add(type(error))
            text = str(error)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert found == {StorageFailed}
    assert "ulimit -n" in text
    store = opened()
    assert (store.next_offset, store.get(b"a")) == (5, b"1")


def test_a_folder_that_is_a_file_is_named_and_kept(opened, tmp_path):
    (tmp_path / "t").write_bytes(b"mine")

    with pytest.raises(StorageFailed, match="set state_dir to a folder"):
        opened()

    assert (tmp_path / "t").read_bytes() == b"mine"


def test_the_folder_of_a_store_is_closed_to_others(opened, tmp_path):
    """Also one that was open."""
    for before in (None, 0o755):
        if before is not None:
            (tmp_path / "t").chmod(before)
        opened().close()
        assert (tmp_path / "t").stat().st_mode & 0o777 == 0o700


def test_absent_folders_above_are_made_for_their_owner_alone(tmp_path, clock):
    folder = tmp_path / "state" / "group" / "scrub-0" / "patients-0"
    PartitionStore(folder, "topic-1", oldest=WEEK, clock=clock).close()

    made = (folder, *folder.parents[:3])
    assert {each.stat().st_mode & 0o777 for each in made} == {0o700}


def test_errors_do_not_show_keys(opened):
    store = opened()
    store.close()

    with pytest.raises(FatalError, match="report it") as caught:
        store.get(b"ZZMARKER")

    assert "ZZMARKER" not in str(caught.value)


def test_a_store_that_another_process_holds_is_waited_for_not_deleted(tmp_path):
    folder = tmp_path / "t"
    with held_by_another_process(folder) as pid:
        with pytest.raises(StateLocked, match=f"process {pid} has {folder} open"):
            PartitionStore(folder, "topic-1", oldest=1e9)
        assert pid == holder(folder)

    store = PartitionStore(folder, "topic-1", oldest=1e9)
    assert store.next_offset == 7
    assert os.getpid() == holder(folder)
    store.close()
    assert holder(folder) is None


def test_a_folder_under_a_living_owner_is_never_deleted(tmp_path):
    """Neither another process's nor one's own."""
    folder = tmp_path / "t"
    with held_by_another_process(folder):
        before = {each.name for each in folder.iterdir()}
        with pytest.raises(StateLocked):
            drop_store(folder)
        assert before == {each.name for each in folder.iterdir()}

    own = PartitionStore(folder, "topic-1", oldest=1e9)
    with pytest.raises(StateLocked, match="this process"):
        drop_store(folder)
    assert own.get(b"a") == b"1"
    # Its lock is still there.
    with pytest.raises(AssertionError), held_by_another_process(folder):
        pass
    own.close()
    drop_store(folder)
    assert [each.name for each in folder.iterdir()] == ["LOCK"]


def fill(store):
    """Write six times a megabyte."""
    for at in range(6, 12):
        rows = [(b"%d" % n, os.urandom(1000)) for n in range(1000)]
        store.write(rows, at, is_current=True)
        store.flush()


def test_a_disk_that_is_full_is_named_and_nothing_is_deleted(tmp_path):
    with small_disk(tmp_path / "disk", "1500k") as disk:
        folder = disk / "t"
        store = PartitionStore(folder, "topic-1", oldest=1e9)
        write(store, {b"a": b"1"}, 5)
        store.flush()
        with pytest.raises(StorageFull) as caught:
            fill(store)
        said = str(caught.value)
        assert f"No space left on device in {folder}" in said
        assert "MiB free" in said
        assert "larger disk" in said
        assert not store.is_damaged
        with pytest.raises(StorageFull):
            store.close()
        subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)

        store = PartitionStore(folder, "topic-1", oldest=1e9)
        assert 5 <= store.next_offset < 12
        assert store.get(b"a") == b"1"
        store.close()


LIMITED = """
import os, resource, sys
from pathlib import Path
from streams.engine.errors import StorageFull
from streams.kafka.tables.store import PartitionStore
store = PartitionStore(Path(sys.argv[1]), "topic-1", oldest=1e9)
store.write([(b"a", b"1")], 5, is_current=True)
store.flush()
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
try:
    rows = [(b"%d" % n, os.urandom(1000)) for n in range(1000)]
    store.write(rows, 9, is_current=True)
    store.flush()
except StorageFull as error:
    assert not store.is_damaged
    print(error)
"""


def test_a_limit_of_size_is_a_full_disk(tmp_path):
    folder = tmp_path / "t"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, folder],
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"File too large in {folder}" in done.stdout
    assert "LimitFSIZE" in done.stdout
    store = PartitionStore(folder, "topic-1", oldest=1e9)
    assert (store.next_offset, store.get(b"a")) == (5, b"1")


class RocksError(Exception):
    """The binding raises plain exceptions."""


def test_what_a_full_disk_refused_is_read_again(opened, monkeypatch):
    """Even if there is room again when the store is closed."""
    store = opened()
    write(store, {b"a": b"1"}, 5)

    def full(_batch):
        raise RocksError("IO error: No space left on device: While appending to file")

    with monkeypatch.context() as patched:
        patched.setattr(store, "_rows", SimpleNamespace(write=full))
        with pytest.raises(StorageFull):
            write(store, {b"b": b"2"}, 9)
    store.close()

    store = opened()
    assert (store.next_offset, store.get(b"a"), store.get(b"b")) == (5, b"1", None)


def test_a_full_disk_is_no_damage(opened, monkeypatch):
    store = opened()

    def full(_batch):
        raise RocksError("IO error: No space left on device: While appending to file")

    monkeypatch.setattr(store, "_rows", SimpleNamespace(write=full))
    with pytest.raises(StorageFull, match="free some space"):
        write(store, {b"a": b"1"}, 1)
    assert not store.is_damaged


def purge(store):
    store.purge()
    store._purging.join()
    store.purge()


def test_a_purge_removes_what_was_deleted_from_the_files(opened, tmp_path):
    """Rows, and their keys, which are identifiers; also from RocksDB's own files."""
    store = opened()
    rows = {b"%05d" % n: os.urandom(20) for n in range(5000)}
    gone = {b"00000-ZZKEY": b"ZZMARKER-0", b"02500-ZZKEY": b"ZZMARKER-2", b"ZZKEY": b""}
    write(store, rows | gone, 5)
    store.flush()
    assert found_in(tmp_path / "t", b"ZZMARKER")
    write(store, dict.fromkeys(gone), 7)
    store.flush()
    assert found_in(tmp_path / "t", b"ZZMARKER")

    purge(store)

    assert found_in(tmp_path / "t", b"ZZMARKER") == []
    assert found_in(tmp_path / "t", b"ZZKEY") == []
    assert found_in(tmp_path / "t", b"ZZKEY".hex().upper().encode()) == []
    assert rows == dict(store.scan(b""))
    assert store.next_offset == 7
    store.close()
    assert found_in(tmp_path / "t", b"ZZMARKER") == []


def found_in(folder, marker):
    """Return the files that hold some bytes."""
    return [path.name for path in folder.iterdir() if marker in path.read_bytes()]


def test_a_purge_is_done_by_the_next_owner_of_the_files(opened, tmp_path):
    store = opened()
    write(
        store, {b"%d" % n: os.urandom(50) for n in range(99)} | {b"a": b"ZZMARKER"}, 5
    )
    store.close()
    store = opened()
    write(store, {b"a": None}, 7)
    store.close()
    assert found_in(tmp_path / "t", b"ZZMARKER")

    store = opened()
    purge(store)
    store.close()

    assert found_in(tmp_path / "t", b"ZZMARKER") == []
    store = opened()
    store.purge()
    assert store._purging is None


def test_a_purge_that_fails_is_tried_again(opened, monkeypatch):
    store = opened()
    write(store, {b"a": b"1"}, 1)
    write(store, {b"a": None}, 2)
    rows, merged = store._rows, []

    class Failing:
        def __getattr__(self, name):
            return getattr(rows, name)

        def compact_range(self, *_bounds):
            merged.append(1)
            raise RocksError("IO error: Input/output error")

    monkeypatch.setattr(store, "_rows", Failing())
    purge(store)
    store._purging.join()

    assert len(merged) == 2


def error_of(text, folder):
    with pytest.raises(StreamError) as caught, translated(folder):
        raise RocksError(text)
    return caught.value


IO_ERROR = "IO error: While appending to file: /x/ZZMARKER.sst: "


@pytest.mark.parametrize(
    ("text", "kind", "step"),
    [
        (f"{IO_ERROR}No space left on device", StorageFull, "larger disk"),
        (f"{IO_ERROR}Disk quota exceeded", StorageFull, "raise the quota"),
        (f"{IO_ERROR}File too large", StorageFull, "ulimit -f"),
        (f"{IO_ERROR}Permission denied", StorageFailed, "service's user"),
        (f"{IO_ERROR}Read-only file system", StorageFailed, "for writing"),
        (f"{IO_ERROR}Input/output error", StorageFailed, "check the disk"),
        (f"Corruption: {IO_ERROR}Too many open files", StorageFailed, "ulimit -n"),
        (f"Corruption: {IO_ERROR}No space left on device", StorageFull, "larger"),
        ("Busy: ZZMARKER", StorageFailed, "nothing was deleted"),
        (f"{IO_ERROR}No such file or directory", DamagedState, "No such file"),
        ("Corruption: ZZMARKER bad entry in block", DamagedState, "corruption"),
        ("DB instance already closed", FatalError, "report it"),
    ],
)
def test_each_error_of_rocksdb_has_its_consequence_and_shows_no_key(
    tmp_path, text, kind, step
):
    error = error_of(text, tmp_path)

    assert kind is type(error)
    assert step in str(error)
    assert "ZZMARKER" not in str(error)


def test_a_word_in_the_path_of_a_store_decides_nothing(tmp_path):
    folder = tmp_path / "was closed" / "Input/output error"
    error = error_of(f"IO error: While open {folder}/x: Unknown error 512", folder)

    assert type(error) is StorageFailed
    assert "nothing was deleted: look at" in str(error)
