"""Claims are written in transactions, one at a time in hand, and released in order."""

from __future__ import annotations

import pytest

from streams.engine.checkpoint import Checkpoint
from streams.engine.claim import Claim, Life
from streams.engine.custody import GAPS_SECONDS, WAIT_SECONDS, Custody, ProcessedOffset
from streams.engine.errors import RetriableError, UnknownOutcome
from streams.engine.records import CommittedOffset, Partition, Record
from tests.streams.kafka import local_broker as local


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Owner:
    """A worker's custody of all partitions of a broker."""

    def __init__(
        self,
        broker,
        batch=10,
        topics=("notes",),
        identity="",
        life=("", ()),
        processed=None,
    ):
        self.broker, self.clock, self.dead = broker, Clock(), []
        self.accused = []
        self.consumer = local.LocalConsumer(broker)
        self.custody = Custody(
            topics,
            Checkpoint(local.LocalProducer(broker)),
            batch=batch,
            identities=dict.fromkeys(topics, identity),
            life=Life(life[0], frozenset((life[0], *life[1]))),
            accused=self.accused.append,
            died=self.dead.append,
            clock=self.clock,
            **({"processed": processed} if processed else {}),
        )
        self.custody.follow(self.consumer)
        self.custody.assigned(range(broker.partitions))

    def claim(self, partition):
        return Claim.read(self.broker.offsets[Partition("notes", partition)].metadata)


@pytest.fixture
def broker():
    return local.LocalBroker(partitions=3)


def record(partition, offset):
    return Record(Partition("notes", partition), offset, b"k", b"v")


def test_partitions_flow_once_they_are_ready_and_claimed(broker):
    owner = Owner(broker)

    assert owner.custody.open([]) == []
    assert broker.offsets == {}
    assert owner.custody.open([1]) == [1]
    assert owner.custody.open([0, 2]) == [0, 2]
    assert all(owner.claim(p).is_held for p in range(3))
    assert owner.dead == []


def test_the_next_owner_learns_of_a_death_and_only_of_a_death(broker):
    Owner(broker).custody.open([0, 1, 2])
    second = Owner(broker)
    second.custody.open([0, 1, 2])
    second.custody.release([0])
    second.custody.abandon()
    third = Owner(broker)
    third.custody.open([0, 1, 2])

    assert second.dead == [0, 1, 2]
    # Partitions 1 and 2 are suspects still; nothing of theirs was in hand.
    assert third.dead == [1, 2]
    assert third.custody.quarantined == 3


def test_who_lost_a_partition_and_has_it_again_did_not_die(broker):
    """Seen with a network that was cut: an innocent note became poison."""
    Owner(broker).custody.open([0])
    owner = Owner(broker, life=("a-2", ()))
    owner.custody.open([0])
    assert owner.dead == [0]
    for _ in range(3):
        owner.custody.take(record(0, 0))
        owner.custody.revoked([0])
        owner.custody.assigned([0])
        assert owner.custody.open([0]) == [0]

    assert owner.dead == [0]
    assert owner.custody.is_quarantine(Partition("notes", 0))
    assert not owner.custody.is_poison(record(0, 0))
    assert not owner.claim(0).deaths


def test_who_lost_a_partition_over_a_record_that_took_long_is_not_excused(broker):
    """The group takes the process for dead: else it read that record for ever."""
    owner = Owner(broker, life=("a-2", ["a-1"]))
    owner.custody.open([0])
    owner.custody.accuse()
    owner.custody.revoked([0])
    owner.custody.assigned([0])
    owner.custody.open([0])

    assert owner.dead == [0]
    assert owner.custody.is_quarantine(Partition("notes", 0))
    owner.custody.committed([record(0, 0)])
    assert owner.accused == [True, False]
    owner.custody.revoked([0])
    owner.custody.assigned([0])
    owner.custody.open([0])
    assert owner.dead == [0]


def test_a_partition_that_was_lost_before_a_commit_is_accused_once(broker):
    owner = Owner(broker, life=("a-2", ["a-1"]))
    owner.custody.open([0, 1, 2])
    owner.custody.accuse()
    owner.custody.revoked([1])
    # It still has the others, and commits: none of them was lost.
    owner.custody.committed([record(0, 0)])
    assert owner.accused == [True, False]
    for lost in ([0], [0, 1]):
        owner.custody.revoked(lost)
        owner.custody.assigned([0, 1])
        owner.custody.open([0, 1])
        owner.custody.take(record(1, 0))

    # Once, though it was lost twice, the second time with a record in hand.
    assert owner.dead == [1]
    assert [owner.custody.is_quarantine(Partition("notes", n)) for n in range(3)] == [
        False,
        True,
        False,
    ]
    assert not owner.claim(1).deaths


def test_a_slots_process_that_no_record_has_ended_is_excused_but_no_other(broker):
    for number in (1, 2, 3):
        owner = Owner(broker, life=(f"a-{number}", [f"a-{number - 1}"]))
        owner.custody.open([0])
    assert owner.dead == []

    other = Owner(broker, life=("b-1", []))
    other.custody.open([0])
    owner = Owner(broker, life=("a-4", ["a-3"]))
    owner.custody.open([0])

    assert [0] == other.dead == owner.dead


def test_one_record_is_in_hand_at_most(broker):
    owner = Owner(broker)
    owner.custody.open([0, 1, 2])
    owner.custody.take(record(0, 7))
    owner.custody.take(record(2, 4))

    in_hand = [owner.claim(p).is_in_hand for p in range(3)]
    assert in_hand == [False, False, True]
    owner.custody.take(None)
    assert not owner.claim(2).is_in_hand


def test_a_release_that_fails_ends_in_a_new_producer(broker):
    owner = Owner(broker)
    owner.custody.open([0, 1, 2])
    broker.plan("commit", 0, RetriableError("planned"))

    owner.custody.release([0])
    owner.custody.revoked([0])
    owner.custody.assigned([0])

    assert owner.custody.open([0]) == [0]
    assert owner.dead == [0]


def test_nothing_is_claimed_between_a_release_that_failed_and_the_new_producer(broker):
    """Other partitions were revoked in a poll that returned records."""
    owner = Owner(broker)
    owner.custody.open([0, 1, 2])
    broker.plan("commit", 0, RetriableError("planned"))
    owner.custody.release([0])
    owner.custody.revoked([0])

    with pytest.raises(UnknownOutcome, match="a release failed"):
        owner.custody.check([record(1, 0)])
    owner.custody.open([])
    owner.custody.check([record(1, 0)])


def test_a_partition_that_does_not_answer_holds_up_no_other(broker, caplog):
    """A transaction of a dead owner is open on it: committed() times out."""
    owner = Owner(broker)
    inner = owner.consumer.committed

    def committed(partitions, seconds=0):
        if Partition("notes", 1) in partitions and owner.clock.now < 110:
            raise RetriableError("committed: _TIMED_OUT")
        return inner(partitions, seconds)

    owner.consumer.committed = committed

    assert owner.custody.open([0, 1, 2]) == [0, 2]
    owner.clock.now += 2 * WAIT_SECONDS
    assert owner.custody.open([]) == []
    owner.clock.now = 120
    assert owner.custody.open([]) == [1]
    assert caplog.text.count("partitions wait for their committed offsets") == 1


def test_what_holds_after_an_undo_is_what_is_committed(broker):
    owner = Owner(broker)
    owner.custody.open([0, 1, 2])
    owner.custody.suspect([record(0, n) for n in range(4)])
    assert owner.custody.quarantined == 1
    broker.offsets[Partition("notes", 2)] = CommittedOffset(5, "by hand")

    undo(owner, [Partition("notes", p) for p in range(3)])

    assert owner.custody.quarantined == 0
    # What somebody else has set is claimed anew before it flows.
    assert owner.custody.open([]) == [2]
    assert (
        CommittedOffset(5, str(Claim(is_held=True)))
        == (broker.offsets[Partition("notes", 2)])
    )


def undo(owner, partitions, *, is_unknown=False):
    if is_unknown:
        owner.custody.doubt()
    return owner.custody.resume(owner.consumer.committed(partitions))


HELD = str(Claim(of="id", by="a", is_held=True, suspects=3))
NOTES = Partition("notes", 0)


def went_back(broker, owner, offset, metadata=HELD, *, is_absent=False):
    """Have the worker commit, and the coordinator serve an offset of before."""
    owner.custody.open([0, 1, 2])
    owner.custody.committed([record(0, 7)])
    broker.offsets[NOTES] = CommittedOffset(offset, metadata, is_absent=is_absent)


def test_offsets_that_went_back_are_not_adopted_after_an_undo(broker, caplog):
    owner = Owner(broker, identity="id")
    went_back(broker, owner, 5)

    assert undo(owner, [NOTES]) == [0]
    assert not owner.custody.owns(NOTES)
    assert owner.custody.open([]) == [0]
    assert broker.offsets[NOTES].offset == 8
    assert "notes[0]: the group's committed offset 5 lies before 8" in caplog.text
    # The suspects of before are done.
    assert owner.custody.quarantined == 0


@pytest.mark.parametrize("is_absent", [False, True])
def test_offsets_that_went_back_are_not_claimed_when_partitions_return(
    broker, is_absent
):
    owner = Owner(broker, identity="id")
    went_back(broker, owner, 0, "" if is_absent else HELD, is_absent=is_absent)
    owner.custody.revoked([0])
    owner.custody.assigned([0])

    assert owner.custody.open([0]) == [0]
    assert broker.offsets[NOTES].offset == 8
    with pytest.raises(RetriableError, match="has committed offset 8"):
        owner.custody.check([record(0, 7)])


def test_an_offset_that_a_person_has_set_back_is_adopted(broker):
    owner = Owner(broker, identity="id")
    went_back(broker, owner, 2, "")
    owner.custody.revoked([0])
    owner.custody.assigned([0])
    owner.custody.open([0])

    assert (
        CommittedOffset(2, str(Claim(of="id", is_held=True))) == (broker.offsets[NOTES])
    )


class Events:
    """What audit events tell: how far each partition was processed."""

    def __init__(self, processed):
        self.processed, self.gaps, self.asked, self.error = processed, set(), [], None

    def __call__(self, committed):
        self.asked.append({p.index for p in committed})
        if self.error is not None:
            raise self.error
        return {
            p: ProcessedOffset(
                max(at.offset, self.processed.get(p.index, 0)), p in self.gaps
            )
            for p, at in committed.items()
        }


def owner_of(broker, events, life="a"):
    return Owner(broker, identity="id", processed=events, life=(life, ()))


def test_what_others_have_processed_counts_where_offsets_are_old(broker):
    broker.offsets[NOTES] = CommittedOffset(5, HELD)
    owner = owner_of(broker, Events({0: 9}), "b")
    owner.custody.open([0, 1, 2])

    assert (
        CommittedOffset(9, str(Claim(is_held=True, of="id", by="b")))
        == (broker.offsets[NOTES])
    )
    assert owner.dead == []


def test_what_others_have_committed_since_is_not_forgotten(broker):
    """Its own last commit is what the coordinator has gone back to."""
    events = Events({})
    owner = owner_of(broker, events)
    went_back(broker, owner, 8)
    owner.custody.revoked([0])
    events.processed[0] = 12
    owner.custody.assigned([0])
    owner.custody.open([0])

    assert broker.offsets[NOTES].offset == 12


def test_a_partition_whose_offset_was_old_begins_behind_what_was_processed(broker):
    broker.offsets[NOTES] = CommittedOffset(5, HELD)
    owner = owner_of(broker, Events({0: 9}), "b")
    owner.custody.open([0, 1, 2])

    assert owner.consumer._positions[NOTES] == 9


def test_records_that_a_person_has_read_again_are_read_by_each_owner(broker):
    """All of them have audit events."""
    events = Events({0: 9})
    broker.offsets[NOTES] = CommittedOffset(2, "")
    first = owner_of(broker, events)
    first.custody.open([0, 1, 2])
    assert first.custody.marked(record(0, 8)).is_repeated
    first.custody.committed([record(0, 4)])
    first.custody.take(None)
    again = str(Claim(is_held=True, of="id", by="a", again=9))
    assert CommittedOffset(2, again) == broker.offsets[NOTES]

    # Its own commits are of before, too.
    first.custody.revoked([0])
    first.custody.assigned([0])
    first.custody.open([0])
    assert broker.offsets[NOTES].offset == 2

    second = owner_of(broker, events, "b")
    second.custody.open([0, 1, 2])
    assert broker.offsets[NOTES].offset == 2
    assert second.custody.marked(record(0, 8)).is_repeated


def test_a_partition_with_gaps_waits_and_no_other(broker):
    events = Events({})
    events.gaps = {NOTES}
    for p in range(3):
        broker.offsets[Partition("notes", p)] = CommittedOffset(5, HELD)
    owner = owner_of(broker, events, "b")

    assert owner.custody.open([0, 1, 2]) == [1, 2]
    assert owner.custody.claimed == {1, 2}
    owner.clock.now += WAIT_SECONDS
    assert owner.custody.open([]) == []
    assert events.asked == [{0, 1, 2}]
    events.gaps = set()
    owner.clock.now += GAPS_SECONDS
    assert owner.custody.open([]) == [0]


def test_partitions_wait_while_audit_events_cannot_be_read(broker, caplog):
    events = Events({})
    events.error = RetriableError("phi.audit: a transaction is open")
    broker.offsets[NOTES] = CommittedOffset(5, HELD)
    owner = owner_of(broker, events)

    assert owner.custody.open([0]) == []
    owner.clock.now += WAIT_SECONDS
    assert owner.custody.open([]) == []
    assert caplog.text.count("partitions wait for their audit events") == 1
    owner.custody.revoked([0])
    owner.custody.assigned([0])
    events.error = None
    assert owner.custody.open([0]) == [0]


def test_after_an_unknown_outcome_it_is_asked_how_far_records_were_processed(broker):
    """Of a transaction that Kafka committed in part, the offsets may be lacking."""
    events = Events({})
    owner = owner_of(broker, events)
    owner.custody.open([0, 1, 2])
    owner.custody.committed([record(0, 4)])
    owner.custody.take(None)
    owner.custody.accuse()
    broker.offsets[NOTES] = CommittedOffset(5, HELD)
    events.gaps = {NOTES}

    assert undo(owner, [NOTES]) == []
    assert undo(owner, [NOTES], is_unknown=True) == [0]
    assert owner.custody.open([]) == []
    events.gaps = set()
    owner.clock.now += GAPS_SECONDS
    assert owner.custody.open([]) == [0]
    # It is its own claim, which no record has ended.
    assert owner.dead == []


def test_partitions_that_wait_to_be_claimed_anew_are_released_as_well(broker):
    """Otherwise their next owner would follow one that died."""
    events = Events({})
    owner = owner_of(broker, events)
    owner.custody.open([0, 1, 2])
    owner.custody.suspect([record(1, 0)])
    owner.custody.take(record(1, 0))
    undo(owner, [Partition("notes", p) for p in range(3)], is_unknown=True)
    owner.custody.release([0])
    assert not owner.claim(0).is_held
    assert owner.claim(1).is_in_hand
    owner.custody.release()

    assert not any(owner.claim(p).is_held for p in range(3))
    assert Claim(of="id", suspects=1, record=0) == owner.claim(1)


def test_old_offsets_are_not_released_and_their_owner_does_not_forget(broker):
    owner = owner_of(broker, Events({}))
    went_back(broker, owner, 5, str(Claim(True, suspects=3, of="id", by="a")))
    undo(owner, [NOTES], is_unknown=True)
    owner.custody.release([0])
    assert CommittedOffset(8, str(Claim(of="id"))) == broker.offsets[NOTES]
    broker.offsets[NOTES] = CommittedOffset(5, HELD)
    owner.custody.revoked([0])
    owner.custody.assigned([0])
    owner.custody.open([0])

    assert broker.offsets[NOTES].offset == 8


def test_what_a_person_has_set_meanwhile_is_not_released(broker):
    owner = owner_of(broker, Events({}))
    owner.custody.open([0, 1, 2])
    broker.offsets[NOTES] = CommittedOffset(2, "by hand")
    undo(owner, [NOTES], is_unknown=True)
    owner.custody.release()

    assert CommittedOffset(2, "by hand") == broker.offsets[NOTES]


def test_a_partition_that_is_not_claimed_is_not_owned(broker):
    owner = Owner(broker)
    owner.custody.open([0])

    assert owner.custody.owns(Partition("notes", 0))
    assert not owner.custody.owns(Partition("notes", 1))


def test_a_partition_flows_when_it_is_claimed_in_every_topic(broker):
    owner = Owner(broker, topics=("updates", "notes"))
    inner = owner.consumer.committed
    silent = Partition("updates", 1)

    def committed(partitions, seconds=0):
        if silent in partitions and owner.clock.now < 110:
            raise RetriableError("committed: _TIMED_OUT")
        return inner(partitions, seconds)

    owner.consumer.committed = committed

    assert owner.custody.open([0, 1, 2]) == [0, 2]
    assert not owner.custody.owns(Partition("notes", 1))
    owner.clock.now += 20
    assert owner.custody.open([]) == [1]
    assert owner.custody.owns(Partition("notes", 1))
    # Its own claim on the topic that answered at once is no sign of a death.
    assert owner.custody.quarantined == 0
    assert owner.dead == []


def test_the_fences_of_a_partition_are_its_committed_offsets(broker):
    broker.offsets[Partition("notes", 2)] = CommittedOffset(7, leader_epoch=1)
    owner = Owner(broker, topics=("updates", "notes"))
    owner.custody.open([2])
    owner.custody.committed(
        [Record(Partition("updates", 2), 3, b"k", b"v", leader_epoch=6)]
    )

    assert owner.custody.fences(2) == {
        Partition("updates", 2): CommittedOffset(4, leader_epoch=6),
        Partition("notes", 2): CommittedOffset(7, leader_epoch=1),
    }
    with pytest.raises(RetriableError, match="not claimed"):
        owner.custody.fences(0)


def test_records_below_an_offset_are_marked_as_read_again_until_it_is_reached(broker):
    place = Partition("notes", 1)
    broker.offsets[place] = CommittedOffset(3, "phistream/1 released again=5 of=a")
    owner = Owner(broker, identity="b")
    owner.custody.open([1])

    marked = [owner.custody.marked(record(1, at)) for at in (3, 4, 5)]
    assert [each.is_repeated for each in marked] == [True, True, False]
    assert owner.custody.metadata(place) == "phistream/1 held again=5 of=b"

    owner.custody.committed([record(1, 3)])
    assert owner.custody.metadata(place) == "phistream/1 held again=5 of=b"
    owner.custody.committed([record(1, 4)])
    assert owner.custody.metadata(place) == "phistream/1 held of=b"
