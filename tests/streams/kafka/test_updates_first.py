"""Notes wait for the updates that were committed before them, and for no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.errors import RetriableError
from streams.engine.records import Partition, Record
from streams.kafka.updates_first import UpdatesFirst


class Ends:
    def __init__(self):
        self.ends = {}
        self.asked = []

    def __call__(self, partitions):
        self.asked.append(list(partitions))
        return {p: self.ends.get(p, 0) for p in partitions}


@pytest.fixture
def ends():
    return Ends()


@pytest.fixture
def order(ends):
    return UpdatesFirst("updates", ends)


def update(offset, partition=0):
    return Record(Partition("updates", partition), offset, b"k", b"v")


def note(offset, partition=0):
    return Record(Partition("notes", partition), offset, b"k", b"v")


def test_a_note_comes_after_the_updates_that_were_there_before_it(order, ends):
    ends.ends[0] = 2
    order.add([note(0), update(0)])
    order.ask()

    assert order.take() == [update(0)]
    assert order.lacking == {0}
    order.add([update(1)])
    assert order.take() == [update(1), note(0)]
    assert order.is_empty


def test_markers_at_the_end_hold_nothing_up(order, ends):
    ends.ends[0] = 5
    order.add([note(0)])
    order.ask()
    order.reach(0, 5)

    assert order.take() == [note(0)]


def test_a_note_that_arrives_later_is_asked_for_anew(order, ends):
    """Its updates may lie behind those that the note before it needed."""
    ends.ends[0] = 1
    order.add([note(0)])
    order.ask()
    ends.ends[0] = 2
    order.add([note(1), update(0)])
    order.ask()

    assert order.take() == [update(0), note(0)]
    order.ask()
    assert order.take() == []
    order.add([update(1)])
    assert order.take() == [update(1), note(1)]


def test_one_partition_does_not_wait_for_another(order, ends):
    ends.ends |= {0: 3, 1: 0}
    order.add([note(0), note(0, partition=1)])
    order.ask()

    assert order.take() == [note(0, partition=1)]
    assert order.lacking == {0}


def test_no_note_passes_while_the_updates_end_before_what_was_read(order, ends):
    """The topic was deleted and made anew: its first updates are not read yet."""
    order.add([update(499)])
    order.take()
    ends.ends[0] = 2
    order.add([note(0)])

    with pytest.raises(RetriableError, match="made anew"):
        order.ask()
    assert order.take() == []
    order.forget([0])
    order.add([note(0), update(0)])
    order.ask()
    assert order.take() == [update(0)]
    order.add([update(1)])
    assert order.take() == [update(1), note(0)]


def test_nothing_of_a_lost_partition_is_delivered(order, ends):
    ends.ends[0] = 9
    order.add([note(0), update(7), update(7, partition=1)])
    order.ask()
    order.add([note(1)])
    order.forget([0])

    assert order.take() == [update(7, partition=1)]
    assert order.is_empty


@given(st.data())
def test_no_note_is_early_lost_doubled_or_out_of_order(data):
    """Against a plain model of two logs, with polls of any size."""
    ends = Ends()
    order = UpdatesFirst("updates", ends)
    log, seen = [], []
    updates = notes = read = 0
    needs = {}
    for _ in range(data.draw(st.integers(1, 30))):
        action = data.draw(st.sampled_from(["update", "note", "receive", "take"]))
        if action == "update":
            log.append(update(updates))
            updates += 1
        elif action == "note":
            needs[notes] = updates
            log.append(note(notes))
            notes += 1
        elif action == "receive":
            # The consumer may receive a note before updates that are older.
            some = log[read : read + data.draw(st.integers(1, 3))]
            order.add(sorted(some, key=lambda each: each.partition.topic))
            read += len(some)
        else:
            ends.ends[0] = updates
            order.ask()
            seen += order.take()
    ends.ends[0] = updates
    order.add(log[read:])
    for _ in range(2):
        order.ask()
        seen += order.take()

    delivered = [each.offset for each in seen if each.partition.topic == "notes"]
    assert list(range(notes)) == delivered
    assert updates == len(seen) - notes
    for at, each in enumerate(seen):
        if each.partition.topic == "notes":
            before = sum(r.partition.topic == "updates" for r in seen[:at])
            assert before >= needs[each.offset]
