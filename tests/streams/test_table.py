import pytest

from streams.errors import CorruptState
from streams.table import Table, drop_table

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
    import shutil

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
