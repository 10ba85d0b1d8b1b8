"""Lag on real Kafka: against the last stable offset, in records and in seconds."""

from __future__ import annotations

import itertools
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams.demo.flow import wait_until_drained
from streams.engine.errors import ConfigError
from streams.kafka.lag import LagMonitor, LagState
from streams.kafka.offsets import end_offsets, high_watermarks
from tests.brokers import wait_until
from tests.conftest import has_leaders, settings_for

pytestmark = pytest.mark.timeout(120)

WRITTEN_AT = 1_700_000_000.0
_names = itertools.count()


class Clock:
    """Moves only when it is told to."""

    def __init__(self):
        self.now = WRITTEN_AT

    def __call__(self):
        return self.now


class Place:
    """A topic of two partitions, a group on it, a monitor with a hand-made clock."""

    def __init__(self, settings):
        self.settings = settings
        self.topic = f"lag-{next(_names)}"
        self.group = f"{settings.group}-{self.topic}"
        self.admin = AdminClient(settings.client())
        # Its records look years old: retention would take them at once.
        kept = {"retention.ms": "-1"}
        new = NewTopic(self.topic, num_partitions=2, replication_factor=1, config=kept)
        self.admin.create_topics([new])[self.topic].result(30)
        wait_until(lambda: has_leaders(self.admin, self.topic))
        self.clock = Clock()
        self.monitor = self.monitor_of(self.topic)

    def monitor_of(self, *topics):
        """Return a monitor of the group on some topics."""
        watched = [(self.group, each) for each in topics]
        return LagMonitor(self.settings, watched, self.clock, window=60)

    def producer(self, **config):
        return Producer(self.settings.client(**config))

    def produce(self, count, *, partition=0, age=0.0, producer=None):
        ours = producer or self.producer()
        for _ in range(count):
            when = int((WRITTEN_AT - age) * 1000)
            ours.produce(self.topic, b"x", partition=partition, timestamp=when)
        ours.flush(30)

    def transaction(self, count, *, end):
        """Write records in a transaction; ``end`` is commit, abort or nothing."""
        name = {"transactional.id": f"{self.topic}-{next(_names)}"}
        ours = self.producer(**name)
        ours.init_transactions(30)
        ours.begin_transaction()
        self.produce(count, producer=ours)
        if end is not None:
            self.end(ours, end)
        return ours

    def end(self, ours, end):
        """End a transaction, and wait for the marker that it leaves."""
        getattr(ours, f"{end}_transaction")(30)
        while end_offsets(self.admin, self.topic, [0])[0] != self.high_watermark():
            time.sleep(0.02)

    def high_watermark(self):
        return high_watermarks(self.admin, self.topic, [0])[0]

    def commit(self, offset, *, partition=0):
        consumer = Consumer(self.settings.client(**{"group.id": self.group}))
        place = TopicPartition(self.topic, partition, offset)
        consumer.commit(offsets=[place], asynchronous=False)
        consumer.close()

    def read(self, partition=0):
        return self.monitor.read()[partition]


@pytest.fixture
def place(cluster, tmp_path):
    place = Place(settings_for(cluster, tmp_path))
    yield place
    place.monitor.close()


def test_lag_is_counted_and_as_old_as_the_oldest_record_not_committed(place):
    place.produce(3, age=500.0)
    place.produce(4, age=20.0)

    before = place.read()
    place.commit(3)
    after = place.read()

    assert (
        before.committed,
        before.stable,
        before.records,
        before.seconds,
    ) == (0, 7, 7, 500.0)
    assert (after.committed, after.records, after.seconds) == (3, 4, 20.0)


def test_lag_grows_older_with_the_clock_while_nothing_is_committed(place):
    place.produce(1, age=5.0)
    ages = []
    for _ in range(3):
        ages.append(place.read().seconds)
        place.clock.now += 10

    assert ages == [5.0, 15.0, 25.0]


def test_what_is_not_stable_is_no_lag(place):
    """An open transaction hides its records, and all behind it, from readers."""
    place.produce(2)
    place.commit(2)
    ours = place.transaction(5, end=None)

    end = place.high_watermark()
    hidden = place.read()
    place.end(ours, "commit")
    shown = place.read()

    assert end >= 7
    assert (hidden.stable, hidden.records, hidden.seconds) == (2, 0, 0.0)
    assert shown.records >= 5


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_nothing_but_markers_and_aborted_records_is_no_lag(place, end):
    place.transaction(5, end=end)
    place.commit(5 if end == "commit" else 0)

    lag = place.read()

    assert lag.stable > lag.committed
    assert (lag.records, lag.seconds, lag.state) == (0, 0.0, LagState.OK)


def test_a_record_after_a_marker_is_lag(place):
    """What was judged to be a marker alone is looked at again when more comes."""
    place.transaction(5, end="commit")
    place.commit(5)
    assert place.read().records == 0

    place.produce(1, age=3.0)

    assert (place.read().records, place.read().seconds) == (2, 3.0)


def test_a_group_that_commits_nothing_stops_and_one_partition_of_it_stalls(place):
    place.produce(9, partition=0)
    place.produce(99, partition=1)

    stopped = after_a_window(place, place.monitor, lambda _turn: None)
    stalled = after_a_window(
        place, place.monitor, lambda turn: place.commit(turn + 1, partition=1)
    )

    assert stopped == [LagState.STOP, LagState.STOP]
    assert stalled == [LagState.STALL, LagState.OK]


def after_a_window(place, monitor, commit):
    """Return the states after a window, with a commit in each of its intervals."""
    for turn in range(12):
        commit(turn)
        states = [lag.state for lag in monitor.read()]
        place.clock.now += 6
    return states


def test_a_topic_stalls_while_its_group_commits_on_another_topic(place, settings):
    other = Place(settings)
    other.produce(9)
    place.produce(99)
    both = place.monitor_of(place.topic, other.topic)

    stalled = after_a_window(place, both, lambda turn: place.commit(turn + 1))

    assert stalled == [LagState.OK, LagState.OK, LagState.STALL, LagState.OK]
    both.close()
    other.monitor.close()


class NotDrained(Exception):
    """Raised after some looks."""


@pytest.mark.parametrize(
    ("topic", "stage"),
    [("hl7.raw", "intake"), ("notes", "scrub"), ("patient.updates", "scrub")],
)
def test_all_is_drained_when_every_topic_of_both_stages_is(settings, topic, stage):
    producer = Producer(settings.client())
    producer.produce(topic, b"x", partition=0)
    producer.flush(30)
    looks = iter(range(3))

    def check():
        if next(looks, None) is None:
            raise NotDrained

    with pytest.raises(NotDrained):
        wait_until_drained(settings, check, lambda _progress: None)
    consumer = Consumer(settings.client(**{"group.id": f"{settings.group}-{stage}"}))
    place = TopicPartition(topic, 0, 1)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()
    shown = []

    wait_until_drained(settings, lambda: None, shown.append)

    assert (shown[-1].intake_done + shown[-1].scrub_done) == 1


def test_a_missing_topic_says_what_to_do(place):
    with pytest.raises(ConfigError, match="phistream topics create"):
        LagMonitor(place.settings, [("g", "no.such.topic")], place.clock)
