"""What the end-to-end tests and the benchmarks share: services, feeding, looking."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from contextlib import contextmanager

import orjson
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from streams.cluster.client import PRODUCER, admin_client
from streams.cluster.offsets import GroupOffsets, end_offsets
from streams.cluster.topics import NOTES, NOTES_SCRUBBED, partition_counts
from streams.demo.flow import read_topic, wait_until_drained
from streams.demo.services import start_service
from streams.engine.errors import RetriableError
from streams.files.feed import RawMessage, feed
from streams.operations.reconcile import Auditor


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


def drain(settings, services=()):
    def check():
        for service in services:
            service.check()

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


def kill_at_random_moments(settings, service, rng, *, notes, kills, progress=None):
    """SIGKILL a worker ``kills`` times while notes flow; return how many were hit.

    Each kill waits for a random number of notes to be committed, and then for a random
    part of the next batch.
    """
    # The last of them leaves notes enough for the restarted worker to be seen at work.
    moments = sorted(rng.randrange(int(notes * 0.6)) for _ in range(kills))
    group = GroupOffsets(settings, f"{settings.group}-scrub", NOTES.name)

    deadline = time.monotonic() + 300

    def committed():
        return _committed(group, settings.partitions, deadline)

    done = 0
    last = committed()
    while done < kills and time.monotonic() < deadline:
        now = committed()
        if now >= notes:
            break  # nothing is left to be hit
        service.check()
        if now <= max(last, moments[done]):  # the last kill's worker is back at work
            time.sleep(0.02)
            continue
        time.sleep(rng.uniform(0.0, 0.5))
        workers = worker_processes(service)
        if workers:
            rng.choice(workers).send_signal(signal.SIGKILL)
            done += 1
            last = committed()
            if progress:
                progress(done, last)
    group.close()
    return done


def _committed(group, partitions, deadline):
    # A killed worker's transaction hides its offsets until the next worker is up.
    while True:
        try:
            return sum(group.read(range(partitions)).values())
        except RetriableError:
            assert time.monotonic() < deadline


def run_with_kills(settings, ward, *, notes, kills, seed, workers=1, progress=None):
    """Feed a ward's notes, kill the scrub worker at random moments, and audit.

    Returns:
        The verdicts, the number of kills, and the copies that only `read_uncommitted`
        sees: what the kills left behind in open transactions.
    """
    rng = random.Random(seed)
    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, map(raw, ward.admissions()))
        feed_and_drain_intake(settings, services, map(raw, ward.notes(notes)))
        with running(settings, "scrub", workers=workers) as (scrub,):
            killed = kill_at_random_moments(
                settings, scrub, rng, notes=notes, kills=kills, progress=progress
            )
            drain(settings, [*services, scrub])
    seen = Counter(
        {
            level: count_records(settings, NOTES_SCRUBBED.name, level)
            for level in ("read_committed", "read_uncommitted")
        }
    )
    aborted = seen["read_uncommitted"] - seen["read_committed"]
    return Auditor(settings).verdicts(), killed, aborted


def feed_and_drain_intake(settings, services, messages):
    """Publish on hl7.raw and wait until intake has routed all of it."""
    from streams.cluster.lag import LagReader
    from streams.cluster.topics import HL7_RAW

    feed(settings, messages)
    admin = admin_client(settings)
    reader = LagReader(settings, admin, HL7_RAW.name, f"{settings.group}-intake")
    while not reader.is_drained(reader.read()):
        for service in services:
            service.check()
        time.sleep(0.2)
    reader.close()
