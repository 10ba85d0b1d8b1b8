"""What a note is guaranteed to see, on real Kafka with transactions that are open."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer, TopicPartition

from streams.engine.errors import ConfigError
from streams.engine.records import CommittedOffset, Output, Partition
from streams.kafka import consumer
from streams.kafka.client import admin_client
from streams.kafka.consumer import KafkaConsumer
from streams.kafka.offsets import end_offsets, high_watermarks
from streams.kafka.partitioner import partition_of
from streams.kafka.producer import KafkaProducer
from streams.kafka.topics import NOTES, PATIENT_UPDATES
from tests.brokers import PATIENCE, wait_until
from tests.harness import is_settled

pytestmark = pytest.mark.timeout(400)


class Listener:
    def __init__(self):
        self.partitions = set()

    def assigned(self, partitions):
        self.partitions |= set(partitions)

    def revoked(self, partitions):
        self.partitions -= set(partitions)


class Member:
    """A consumer that reads both topics, and lets all partitions flow."""

    def __init__(self, settings, name="member-0"):
        self.listener = Listener()
        self.consumer = KafkaConsumer(
            settings,
            NOTES.name,
            updates=PATIENT_UPDATES.name,
            group=f"{settings.group}-scrub",
            member=name,
            listener=self.listener,
        )
        self.records = []

    def poll(self, seconds=0.5):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.consumer.poll(100, 0.0)
            self.consumer.resume(self.listener.partitions)
            self.records += found
        return self.seen

    def wait_for(self, count, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while len(self.records) < count and time.monotonic() < deadline:
            self.poll(0.05)
        return self.seen

    @property
    def seen(self):
        return [each.value for each in self.records]


@pytest.fixture
def member(settings):
    made = Member(settings)
    while len(made.listener.partitions) < settings.partitions:
        made.poll(0.1)
    yield made
    made.consumer.close()


def write(producer, topic, value, key=b"k"):
    producer.produce(Output(topic.name, key, value))


def commit(producer, *pairs):
    producer.begin()
    for topic, value in pairs:
        write(producer, topic, value)
    return producer.commit()


def long(settings):
    """Return a producer whose transactions a busy broker does not abort."""
    return KafkaProducer(
        settings.model_copy(update={"transaction_seconds": 120}), "slow"
    )


def flushed(producer):
    """Have the broker hold the records of the open transaction."""
    assert producer._producer.flush(10) == 0


def test_a_note_waits_for_an_update_hidden_by_another_open_transaction(
    settings, member
):
    """The update is committed, but not stable: an older transaction is open."""
    slow, quick = long(settings), KafkaProducer(settings, "quick")
    slow.begin()
    write(slow, PATIENT_UPDATES, b"of the open transaction")
    flushed(slow)
    commit(quick, (PATIENT_UPDATES, b"update"))
    commit(quick, (NOTES, b"note"))

    assert member.poll(2.0) == []
    slow.commit()

    assert member.wait_for(3) == [b"of the open transaction", b"update", b"note"]


def test_a_note_does_not_wait_for_what_is_aborted(settings, member):
    slow, quick = long(settings), KafkaProducer(settings, "quick")
    slow.begin()
    write(slow, PATIENT_UPDATES, b"aborted")
    flushed(slow)
    commit(quick, (PATIENT_UPDATES, b"update"), (NOTES, b"note"))
    assert member.poll(0.5) == []
    slow.abort()

    assert member.wait_for(2) == [b"update", b"note"]


def test_after_a_rewind_updates_come_first_again(settings, member):
    producer = KafkaProducer(settings, "one")
    commit(producer, (PATIENT_UPDATES, b"update"), (NOTES, b"note"))
    assert member.wait_for(2) == [b"update", b"note"]

    for _ in range(3):
        member.records.clear()
        member.consumer.rewind()
        assert member.wait_for(2) == [b"update", b"note"]


def test_after_a_rewind_a_note_does_not_wait_for_updates_already_processed(
    settings, member
):
    """The updates are committed and read; below the watermark are markers alone."""
    producer = KafkaProducer(settings, "one")
    commit(producer, (PATIENT_UPDATES, b"update"), (NOTES, b"note"))
    member.wait_for(2)
    update = member.records[0]
    producer.begin()
    write(producer, NOTES, b"to open it")
    producer.send_offsets(
        {update.partition: CommittedOffset(update.next_offset)},
        member.consumer.group_metadata(),
    )
    producer.commit()
    member.records.clear()

    member.consumer.rewind()

    assert member.wait_for(2) == [b"note", b"to open it"]


def test_updates_far_behind_do_not_fill_the_memory_with_notes(settings, member):
    """The notes are throttled until their updates are through, and flow again then."""
    producer = KafkaProducer(settings, "one")
    member.consumer.pause(member.listener.partitions)
    commit(producer, *((PATIENT_UPDATES, b"update %d" % n) for n in range(3000)))
    commit(producer, *((NOTES, b"note %d" % n) for n in range(1000)))

    seen = member.wait_for(4000, 60)

    updates = [value for value in seen if value.startswith(b"update")]
    assert [b"update %d" % n for n in range(3000)] == updates
    assert [b"note %d" % n for n in range(1000)] == seen[3000:]


def test_large_notes_that_wait_do_not_fill_the_memory(settings):
    """As many as a batch may hold would take hundreds of megabytes."""
    member = Member(settings.model_copy(update={"batch_bytes": 500_000}))
    while len(member.listener.partitions) < settings.partitions:
        member.poll(0.1)
    slow, quick = long(settings), KafkaProducer(settings, "quick")
    slow.begin()
    write(slow, PATIENT_UPDATES, b"update")
    flushed(slow)
    for _ in range(60):
        commit(quick, (NOTES, b"note" * 25_000))

    def kept():
        assert member.consumer.poll(100, 0.0) == []
        order = member.consumer._order
        held = (r for notes in order._held.values() for r in notes)
        return sum(each.size for each in [*order.waiting, *held])

    wait_until(lambda: kept() >= 500_000, 30)
    # No more come then.
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        assert 500_000 <= kept() <= 1_500_000
    slow.commit()

    assert len(member.wait_for(61)) == 61
    member.consumer.close()


class RebalancingClient:
    """The client of a member whose partitions are revoked in the middle of a poll.

    Args:
        member: Of a group.
        topic: They are revoked right after a record of this topic was received.
        join: Has another member join the group.
    """

    def __init__(self, member, topic, join):
        self._client = member.consumer._consumer
        self._listener = member.listener
        self._topic = topic
        self._join = join
        self._is_next = False
        self.is_done = False

    def __getattr__(self, name):
        return getattr(self._client, name)

    def poll(self, seconds):
        if self._is_next and not self.is_done:
            self._join()
            before, deadline = {*self._listener.partitions}, time.monotonic() + 40
            while self._listener.partitions == before and time.monotonic() < deadline:
                self._client.poll(0.1)
            self.is_done = True
            return None
        message = self._client.poll(seconds)
        is_record = message is not None and message.error() is None
        self._is_next = is_record and message.topic() == self._topic.name
        return message


@pytest.fixture
def rebalance(settings, member):
    """Have a member lose, in the middle of a poll, partitions that it gets again."""
    others = []

    def rebalance(topic):
        def join():
            others.append(Member(settings, "member-1"))

        client = RebalancingClient(member, topic, join)
        member.consumer._consumer = client
        deadline = time.monotonic() + 40
        while not client.is_done and time.monotonic() < deadline:
            member.poll(0.05)
        while member.listener.partitions != {0, 1} and time.monotonic() < deadline:
            others[0].poll(0.1)
            assert member.consumer.poll(100, 0.0) == []
        assert member.records == []

    yield rebalance
    for each in others:
        # Not in the middle of a rebalance: the client may never end then.
        deadline = time.monotonic() + 20
        while not each.listener.partitions and time.monotonic() < deadline:
            member.poll(0.1)
            each.poll(0.1)
        each.consumer.close()


OF_MEMBER_0 = next(b"%d" % n for n in range(99) if partition_of(b"%d" % n, 4) == 0)
"""A key whose partition stays the first member's when another one joins."""


def test_a_note_received_before_its_partition_was_revoked_is_not_doubled(
    settings, member, rebalance
):
    """It is read again: what waited for updates when it was revoked must be gone."""
    slow, quick = long(settings), KafkaProducer(settings, "quick")
    slow.begin()
    write(slow, PATIENT_UPDATES, b"update", OF_MEMBER_0)
    flushed(slow)
    quick.begin()
    write(quick, NOTES, b"note", OF_MEMBER_0)
    quick.commit()

    rebalance(NOTES)
    slow.commit()

    assert member.wait_for(2) == [b"update", b"note"]
    assert member.poll(1.0) == [b"update", b"note"]


def test_an_update_received_before_its_partition_was_revoked_is_waited_for(
    settings, member, rebalance
):
    """It is read again, and perhaps after a note that needs it."""
    feed = Producer(settings.client(partitioner="murmur2_random"))
    feed.produce(PATIENT_UPDATES.name, b"update", OF_MEMBER_0)
    assert feed.flush(10) == 0
    rebalance(PATIENT_UPDATES)
    member.consumer.resume([0])
    updates = [TopicPartition(PATIENT_UPDATES.name, 0)]
    member.consumer._consumer.pause(updates)
    quick = KafkaProducer(settings, "quick")
    quick.begin()
    write(quick, NOTES, b"note", OF_MEMBER_0)
    quick.commit()

    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        assert member.consumer.poll(100, 0.0) == []
    member.consumer._consumer.resume(updates)

    assert member.wait_for(2) == [b"update", b"note"]


def test_members_own_the_same_partitions_of_both_topics(settings, member):
    """Also after others have come and gone."""
    other = Member(settings, "member-1")
    deadline = time.monotonic() + 40
    while len(other.listener.partitions) != 2 and time.monotonic() < deadline:
        member.poll(0.1)
        other.poll(0.1)
    assert member.listener.partitions == {0, 1}
    assert other.listener.partitions == {2, 3}
    producer = KafkaProducer(settings, "one")
    for n in range(20):
        producer.begin()
        for topic in (PATIENT_UPDATES, NOTES):
            write(producer, topic, b"%d" % n, key=b"%d" % n)
        producer.commit()
    deadline = time.monotonic() + 20
    while len(member.records) + len(other.records) < 40 and time.monotonic() < deadline:
        member.poll(0.1)
        other.poll(0.1)
    other.consumer.close()

    for each in (member, other):
        of_notes = {r.key for r in each.records if r.partition.topic == NOTES.name}
        of_updates = {r.key for r in each.records if r.partition.topic != NOTES.name}
        assert of_notes
        assert of_notes == of_updates


def test_topics_that_are_assigned_unevenly_stop_the_worker(settings, monkeypatch):
    """A member of the group that reads one of the topics alone splits the pairs."""
    monkeypatch.setattr(consumer, "UNEVEN_SECONDS", 1.0)
    first, second = Member(settings, "a"), Member(settings, "b")
    first.consumer._consumer.subscribe([NOTES.name])

    with pytest.raises(ConfigError, match="use range"):
        poll_all([first, second], 40)


def poll_all(members, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for each in members:
            each.poll(0.1)


def test_the_producer_reports_the_offset_after_its_changelog_records(settings):
    producer = KafkaProducer(settings, "one")
    rows = [(b"a", 0), (b"b", 3), (b"c", 0)]
    for _ in range(2):
        producer.begin()
        for key, partition in rows:
            producer.produce(Output("patients", key, b"v", partition=partition))
        write(producer, NOTES, b"note")
        written = producer.commit()

    wait_until(lambda: is_settled(settings, "patients"))
    admin = admin_client(settings)
    ends = high_watermarks(admin, "patients", range(4))
    # The commit's marker follows.
    assert {Partition("patients", p): ends[p] - 1 for p in (0, 3)} == written
    assert commit(producer, (NOTES, b"another")) == {}
    assert end_offsets(admin, "patients", [1, 2]) == {1: 0, 2: 0}
