"""Two tables as one: what scrub may do when both are complete."""

from __future__ import annotations

import pytest

from streams.engine.errors import CorruptState, RetriableError
from streams.engine.observer import TableProgress
from streams.pipeline.scrub.tables import Tables


class Table:
    """A table whose steps the test takes."""

    def __init__(self):
        self.to_be_ready, self.to_be_settled = [], []
        self.opened, self.settling, self.released = set(), [], []
        self.dropped = []
        self.is_damaged = False
        self.trouble = None

    def open(self, partitions):
        self.opened.update(partitions)

    def ready(self):
        done, self.to_be_ready = self.to_be_ready, []
        return done

    def settle(self, partitions):
        if self.trouble is not None:
            raise self.trouble
        self.settling += partitions

    def settled(self):
        done, self.to_be_settled = self.to_be_settled, []
        return done

    def release(self, partitions):
        if self.trouble is not None:
            raise self.trouble
        self.released += partitions

    def drop(self):
        self.dropped = sorted(self.opened)
        return self.dropped

    def progress(self):
        return [TableProgress(0, 5, 3, 1.0, 10)]


@pytest.fixture
def pair():
    return Table(), Table()


@pytest.fixture
def tables(pair):
    made = Tables(*pair)
    made.open([0, 1])
    return made


def complete(tables, pair, partitions):
    for each in pair:
        each.to_be_ready = list(partitions)
        each.to_be_settled = list(partitions)
    return tables.ready(), tables.settled(partitions)


def test_a_partition_is_ready_and_settled_when_both_tables_are(tables, pair):
    one, other = pair
    one.to_be_ready = [0, 1]
    assert tables.ready() == []
    other.to_be_ready = [1]
    assert tables.ready() == [1]

    other.to_be_settled = [1]
    assert tables.settled([1]) == []
    one.to_be_settled = [1]
    assert tables.settled([]) == [1]
    assert tables.settled([]) == []
    assert (one.settling, other.settling) == ([1], [1])


def test_a_partition_that_is_claimed_once_more_is_returned_once_more(tables, pair):
    """Its tables are complete: nobody else has written since."""
    complete(tables, pair, [0, 1])

    assert tables.settled([0]) == [0]
    assert tables.settled([]) == []


def test_a_partition_that_could_not_be_settled_is_tried_again(tables, pair):
    pair[1].trouble = RetriableError("of the test")
    with pytest.raises(RetriableError):
        complete(tables, pair, [0])
    pair[1].trouble = None

    assert tables.settled([]) == [0]
    assert pair[1].settling == [0]


def test_only_the_damaged_table_is_dropped_and_both_are_read_again(tables, pair):
    complete(tables, pair, [0, 1])
    one, other = pair
    other.is_damaged = True
    one.opened.clear()

    assert tables.drop() == [0, 1]

    assert (one.dropped, other.dropped) == ([], [0, 1])
    assert ([0, 1], {0, 1}) == (one.released, one.opened)
    assert complete(tables, pair, [0, 1]) == ([0, 1], [0, 1])


def test_if_no_table_is_known_to_be_damaged_all_are_dropped(tables, pair):
    complete(tables, pair, [0, 1])

    assert tables.drop() == [0, 1]
    assert [each.dropped for each in pair] == [[0, 1]] * 2


def test_all_tables_are_released_even_if_one_fails(tables, pair):
    complete(tables, pair, [0, 1])
    pair[0].trouble = CorruptState("of the test")

    with pytest.raises(CorruptState):
        tables.release([0])

    assert pair[1].released == [0]
    pair[0].trouble = None
    assert complete(tables, pair, [0]) == ([0], [0])


def test_the_slower_table_decides_about_the_progress(tables):
    assert tables.progress() == [TableProgress(0, 5, 6, 1.0, 10)]
