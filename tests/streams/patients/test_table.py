import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from streams.engine.claim import Claim
from streams.engine.errors import CorruptState, StateLocked, StorageFull
from streams.patients.store import Table, drop_table

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
        return Table(tmp_path / "t", identity, oldest=WEEK, clock=clock)

    return opened


def test_starts_at_zero(opened):
    assert 0 == opened().next_offset


def test_resumes_from_the_offset_written_with_the_data(opened):
    table = opened()
    table.write({b"a": b"1", b"b": b"2"}, 10)
    table.write({b"a": None}, 12)
    table.close()

    table = opened()

    assert 12 == table.next_offset
    assert [None, b"2"] == [table.get(b"a"), table.get(b"b")]


def test_counts_its_keys_through_changes_deletions_and_a_restart(opened):
    table = opened()
    table.write({b"a": b"1", b"b": b"2", b"none": None}, 3)
    table.write({b"a": b"3", b"c": b"4"}, 5)
    table.write({b"b": None}, 6)
    before = table.rows
    table.close()

    assert (2, 2) == (before, opened().rows)


def test_a_process_that_dies_after_the_write_has_both_or_neither(opened, tmp_path):
    """The files as they are after a write, without close, hold data and offset."""
    table = opened()
    table.write({b"a": b"1"}, 5)
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    (tmp_path / "copy" / "LOCK").unlink()

    again = Table(tmp_path / "copy", "topic-1", oldest=WEEK, clock=lambda: 1e6)

    assert (5, b"1") == (again.next_offset, again.get(b"a"))


def test_a_table_of_another_topic_is_refused(opened):
    table = opened()
    table.write({b"a": b"1"}, 5)
    table.close()

    with pytest.raises(CorruptState, match="another topic"):
        opened("topic-2")


def test_a_table_that_may_have_missed_deletions_is_refused(opened, clock):
    table = opened()
    table.write({b"a": b"1"}, 5)
    table.close()
    clock.now += WEEK + 1

    with pytest.raises(CorruptState, match="too old"):
        opened()


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.sst"])
def test_a_damaged_table_is_refused_and_can_be_dropped(opened, tmp_path, pattern):
    table = opened()
    for n in range(2000):
        table.write({b"%d" % n: bytes(200)}, n + 1)
    table.flush()
    table.close()
    for file in (tmp_path / "t").glob(pattern):
        file.write_bytes(b"damaged" * 100)

    with pytest.raises(CorruptState):
        [opened().get(b"%d" % n) for n in range(2000)]

    drop_table(tmp_path / "t")
    assert 0 == opened().next_offset


def test_errors_do_not_show_keys(opened):
    table = opened()
    table.close()

    with pytest.raises(CorruptState) as caught:
        table.get(b"ZZMARKER")

    assert "ZZMARKER" not in str(caught.value)


HOLD = """
import sys, time
from pathlib import Path
from streams.patients.store import Table
table = Table(Path(sys.argv[1]), "topic-1", oldest=1e9)
table.write({b"a": b"1"}, 7)
print("open", flush=True)
time.sleep(60)
"""


def test_a_table_that_another_process_holds_is_waited_for_not_deleted(tmp_path):
    folder = tmp_path / "t"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE
    )
    try:
        assert b"open\n" == holder.stdout.readline()
        with pytest.raises(StateLocked):
            Table(folder, "topic-1", oldest=1e9)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()

    assert 7 == Table(folder, "topic-1", oldest=1e9).next_offset


def test_a_full_disk_is_no_damage(opened, monkeypatch):
    table = opened()

    def full(_batch):
        raise OSError("IO error: No space left on device: While appending to file")

    monkeypatch.setattr(table, "_rows", SimpleNamespace(write=full, get=lambda _: None))
    with pytest.raises(StorageFull, match="make room"):
        table.write({b"a": b"1"}, 1)


def test_what_was_being_merged_when_its_owner_died_is_told_to_the_next(
    opened, tmp_path
):
    table = opened()
    table.write({b"a": b"1"}, 5)
    table.write_claim(Claim(is_held=True))
    died = tmp_path / "died"
    shutil.copytree(tmp_path / "t", died, ignore=shutil.ignore_patterns("LOCK"))

    assert Table(died, "topic-1", oldest=1e12).claim.taken_over(10).is_quarantine
    table.write({b"a": b"2"}, 6)
    table.close()
    assert not opened().claim.is_held
