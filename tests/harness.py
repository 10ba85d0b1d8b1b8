"""What the end-to-end tests and the benchmarks share: services, feeding, looking."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from operator import sub

import orjson
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from streams.cluster.client import PRODUCER, admin_client
from streams.cluster.lag import LagReader
from streams.cluster.offsets import GroupOffsets, end_offsets
from streams.cluster.topics import HL7_RAW, NOTES, NOTES_SCRUBBED, partition_counts
from streams.demo.flow import read_topic, wait_until_drained
from streams.demo.services import start_service
from streams.engine.errors import RetriableError
from streams.files.feed import RawMessage, feed
from streams.operations.reconcile import Auditor, Verdict
from tests.join_audit import JoinVerdict, Observer, audit_join


@contextmanager
def running(settings, *stages, workers=1):
    """Run stages as services; drain them in the end."""
    services = [start_service(stage, settings, workers=workers) for stage in stages]
    try:
        yield services
    finally:
        for service in services:
            service.stop()


def worker_processes(service):
    """Return the worker processes below ``phistream run``."""
    children = psutil.Process(service.process.pid).children()
    return [each for each in children if "spawn_main" in " ".join(each.cmdline())]


def raw(message):
    key = None if message.patient is None else b"%d" % message.patient
    return RawMessage(message.value, key, message.headers)


def feed_and_drain(settings, services, messages):
    """Publish on hl7.raw and wait until both stages have processed all of it."""
    count = feed(settings, messages)
    drain(settings, services)
    return count


def drain(settings, services=(), turn=lambda: None):
    """Wait until both stages have processed everything; ``turn`` may send more."""

    def check():
        for service in services:
            service.check()
        turn()

    wait_until_drained(settings, check, lambda _progress: None)


def produce(settings, topic, records):
    """Produce (key, value) pairs as a plain client would."""
    producer = Producer(settings.client(**PRODUCER))
    for key, value in records:
        producer.produce(topic, key=key, value=value)
    assert 0 == producer.flush(30)


def values(settings, topic):
    return [orjson.loads(message.value()) for message in read_topic(settings, topic)]


def count_records(settings, topic, isolation):
    """Count the records that a plain subscriber of this isolation level sees."""
    admin = admin_client(settings)
    partitions = range(partition_counts(admin)[topic])
    ends = end_offsets(admin, topic, partitions)
    consumer = Consumer(
        settings.client(
            **{
                "group.id": "count",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
    )
    left = {p for p, end in ends.items() if end}
    consumer.assign([TopicPartition(topic, p, 0) for p in left])
    count = 0
    while left:
        for message in consumer.consume(1000, timeout=0.1):
            if message.error() is None:
                count += 1
            else:
                left.discard(message.partition())
    consumer.close()
    return count


class Killer:
    """Kills workers (SIGKILL) at random moments of their stage's progress.

    A kill waits for a random number of records to be committed, for the worker killed
    before it to be back at work, and then for a random part of the next batch.
    """

    def __init__(self, settings, services, rng, *, kills, records):
        self._rng = rng
        self._services = {each.stage: each for each in services}
        topics = {"intake": HL7_RAW.name, "scrub": NOTES.name}
        self._groups = {
            stage: GroupOffsets(settings, f"{settings.group}-{stage}", topics[stage])
            for stage in self._services
        }
        self._partitions = range(settings.partitions)
        self._last = {stage: self._committed(stage) for stage in self._services}
        # The last of them leaves records enough for the restarted worker to be seen
        # at work.
        self._moments = {stage: [] for stage in self._services}
        for number in range(kills):
            stage = list(self._services)[number % len(self._services)]
            moment = self._last[stage] + rng.randrange(int(records * 0.6))
            self._moments[stage] = sorted([*self._moments[stage], moment])
        self.done = Counter()

    def run(self, *, until, turn, progress):
        """Kill until all is done, or every stage has committed ``until`` records."""
        deadline = time.monotonic() + 300
        while any(self._moments.values()) and time.monotonic() < deadline:
            turn()
            for stage in [each for each, left in self._moments.items() if left]:
                self._services[stage].check()
                now = self._committed(stage)
                if now >= until[stage]:
                    self._moments[stage].clear()  # nothing is left to be hit
                elif now > max(self._last[stage], self._moments[stage][0]):
                    self._kill(stage, progress)
            time.sleep(0.02)
        for group in self._groups.values():
            group.close()

    def _kill(self, stage, progress):
        time.sleep(self._rng.uniform(0.0, 0.5))
        workers = worker_processes(self._services[stage])
        if workers:
            self._rng.choice(workers).send_signal(signal.SIGKILL)
            self._moments[stage].pop(0)
            self.done[stage] += 1
            self._last[stage] = self._committed(stage)
            if progress:
                progress(stage, self.done[stage], self._last[stage])

    def _committed(self, stage):
        # A killed worker's transaction hides its offsets until the next worker is up.
        deadline = time.monotonic() + 120
        while True:
            try:
                return sum(self._groups[stage].read(self._partitions).values())
            except RetriableError:
                assert time.monotonic() < deadline


@dataclass(frozen=True, slots=True)
class AfterKills:
    """What is left after kills.

    Args:
        verdicts: On missing, doubled and out-of-order outputs.
        join: On what the join saw.
        kills: How many were made, by stage.
        aborted: Copies that only `read_uncommitted` sees, by topic: what the kills left
            behind in open transactions.
    """

    verdicts: list[Verdict]
    join: JoinVerdict
    kills: Counter
    aborted: dict[str, int]


def run_with_kills(settings, ward, *, notes, kills, seed, workers=1, progress=None):
    """Feed a `RenamedWard`, kill workers of both stages at random moments, and audit.

    Args:
        settings: Of the services.
        ward: Makes the messages.
        notes: How many it makes; the observer sends up to a tenth as many.
        kills: Half of them of intake, half of scrub.
        seed: Decides when and whom.
        workers: Of each stage.
        progress: Called with stage, number of the kill, and committed offsets.
    """
    with (
        running(settings, "intake", workers=workers) as intake,
        running(settings, "scrub", workers=workers) as scrub,
    ):
        services = [*intake, *scrub]
        feed_and_drain(settings, services, ward.admissions())
        messages = list(ward.messages(notes))
        killer = Killer(
            settings, services, random.Random(seed), kills=kills, records=notes
        )
        observer = Observer(settings, ward, notes=notes // 10)
        feed(settings, messages)
        until = {"intake": len(messages), "scrub": notes}
        killer.run(until=until, turn=observer.turn, progress=progress)
        drain(settings, services, observer.turn)
        for keys, surnames in ward.merged():
            for key in keys:
                observer.send(key, surnames)
        observer.turn()
        drain(settings, services)
        observer.close()
    levels = ("read_uncommitted", "read_committed")
    aborted = {
        topic.name: sub(*(count_records(settings, topic.name, each) for each in levels))
        for topic in (NOTES, NOTES_SCRUBBED)
    }
    join = audit_join(settings, observer.promised)
    return AfterKills(Auditor(settings).verdicts(), join, killer.done, aborted)


def feed_and_drain_intake(settings, services, messages):
    """Publish on hl7.raw and wait until intake has routed all of it."""
    feed(settings, messages)
    admin = admin_client(settings)
    reader = LagReader(settings, admin, HL7_RAW.name, f"{settings.group}-intake")
    while not reader.is_drained(reader.read()):
        for service in services:
            service.check()
        time.sleep(0.2)
    reader.close()
