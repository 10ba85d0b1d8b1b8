"""What the end-to-end tests and the benchmarks share: services, feeding, looking."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager, suppress

import orjson
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from streams.demo.flow import read_topic, wait_until_drained
from streams.demo.services import Service, _environment
from streams.engine.errors import RetriableError
from streams.engine.records import Partition, Record
from streams.kafka.client import PRODUCER, admin_client, value_of
from streams.kafka.lag import LagReader
from streams.kafka.offsets import GroupOffsets, end_offsets, high_watermarks
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import (
    HL7_RAW,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.model.outputs import encoded
from streams.model.seals import Seals, audit_key
from streams.pipeline.files.feed import RawMessage, feed
from tests.commands import Forked


def start_service(stage, settings, *, workers=1):
    """Start ``phistream run``, as the demo does, but forked: see `tests.commands`."""
    log = (settings.state_dir.parent / f"{stage}.log").open("ab")
    process = Forked(
        *("run", stage, "--workers", workers),
        stdout=log.name,
        stderr=log.name,
        env=_environment(settings),
        is_service=True,
    )
    return Service(stage, process, log)


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
    if isinstance(service.process, Forked):
        return children
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

    try:
        wait_until_drained(settings, check, lambda _progress: None)
        # What intake has committed a moment ago may not have been counted.
        settle(settings, (NOTES, PATIENT_UPDATES), check)
        wait_until_drained(settings, check, lambda _progress: None)
        wait_for_group(settings, PATIENT_UPDATES.name, "scrub", check)
        settle(settings, (NOTES_HELD, NOTES_SCRUBBED, PHI_AUDIT), check)
    except BaseException:  # the end of a test's time is one too
        for service in services:
            print(f"{service.stage}:\n{service.tail(20)}")
        with suppress(RetriableError):
            print(_lags(settings))
        raise


def _lags(settings):
    """Return where each group stands: stable ends and committed offsets."""
    admin = admin_client(settings)
    return {
        topic.name: LagReader(
            settings, admin, topic.name, f"{settings.group}-{stage}"
        ).read()
        for topic, stage in (
            (HL7_RAW, "intake"),
            (NOTES, "scrub"),
            (PATIENT_UPDATES, "scrub"),
        )
    }


def produce(settings, topic, records):
    """Produce (key, value) pairs as a plain client would."""
    producer = Producer(settings.client(**PRODUCER))
    for key, value in records:
        producer.produce(topic, key=key, value=value)
    assert producer.flush(30) == 0


def produce_notes(settings, *notes):
    """Publish notes, sealed, as intake does."""
    producer = Producer(settings.client(**PRODUCER))
    seals = Seals(audit_key(settings.pseudonym_key()))
    message = Record(Partition(HL7_RAW.name, 0), 0, None, b"")
    for each in notes:
        made = encoded(NOTES, each.patient.key, each.to_json(), message)
        [sealed] = seals.sealed([made])
        headers = dict(sealed.headers)
        producer.produce(NOTES.name, sealed.value, sealed.key, headers=headers)
    assert producer.flush(30) == 0


def values(settings, topic):
    messages = read_topic(settings, topic)
    return [orjson.loads(value_of(each)) for each in messages]


def settle(settings, topics, check):
    """Wait until what was committed to the topics can be read."""
    for topic in topics:
        while not is_settled(settings, topic.name):
            check()
            time.sleep(0.02)


def is_settled(settings, topic):
    """Return whether a reader of committed records gets all; if not, ask again.

    A commit is confirmed a moment before its records can be read.
    """
    admin = admin_client(settings)
    try:
        partitions = range(partition_counts(admin)[topic])
        wanted = high_watermarks(admin, topic, partitions)
        return wanted == end_offsets(admin, topic, partitions)
    except RetriableError:
        return False


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


class Target:
    """A stage whose workers are killed (SIGKILL) at random moments of its progress.

    A kill waits for a random number of records to be committed, and then for a random
    part of the next batch.  Between two kills at least one record is committed, and up
    to three batches: the worker may still process suspects one by one, or no more.

    Args:
        settings: Of the service.
        service: The stage.
        rng: Decides when and whom.
        kills: How many.
        records: How many records the stage will commit from now on.
    """

    def __init__(self, settings, service, rng, *, kills, records):
        self._service, self._rng = service, rng
        topic = {"intake": HL7_RAW.name, "scrub": NOTES.name}[service.stage]
        group = f"{settings.group}-{service.stage}"
        self._offsets = GroupOffsets(settings, group, topic)
        self._partitions = range(settings.partitions)
        self._batch = settings.batch_records
        self._last = self._not_before = self._first = first = self._committed()
        self._end = first + records
        # After the last of them records enough are left for the new worker to be seen.
        moments = (first + rng.randrange(int(records * 0.6)) for _ in range(kills))
        self._moments = sorted(moments)
        self._changed_at, self._batch_seconds = time.monotonic(), 0.1
        self.kills = 0

    @property
    def is_done(self):
        return not self._moments

    @property
    def allowance(self):
        """How many records it may have before the next kill; else it is through."""
        if self.is_done:
            return self._end - self._first
        after = max(self._moments[0], self._not_before)
        return after - self._first + 5 * self._batch

    def turn(self, progress):
        """Look at the progress, and kill a worker if it is time."""
        self._service.check()
        now = self._committed()
        if now >= self._end:
            self._moments.clear()  # nothing is left to be hit
        elif now > max(self._not_before, self._moments[0]):
            self._kill(progress)
        elif now != self._last:
            changed_at = time.monotonic()
            self._batch_seconds = min(3.0, changed_at - self._changed_at)
            self._last, self._changed_at = now, changed_at

    def close(self):
        self._offsets.close()

    def _kill(self, progress):
        time.sleep(self._rng.uniform(0, self._batch_seconds))
        workers = worker_processes(self._service)
        if not workers:
            return  # it is being restarted
        self._rng.choice(workers).send_signal(signal.SIGKILL)
        self._moments.pop(0)
        self.kills += 1
        now = self._committed()
        pause = self._rng.randrange(3 * self._batch)
        self._not_before = now + min(pause, (self._end - now) // 4)
        if progress:
            progress(self._service.stage, self.kills, now)

    def _committed(self):
        # A killed worker's transaction hides its offsets until the next worker is up.
        deadline = time.monotonic() + 120
        while True:
            try:
                return sum(self._offsets.read(self._partitions).values())
            except RetriableError:
                assert time.monotonic() < deadline


def feed_and_drain_intake(settings, services, messages):
    """Publish on hl7.raw and wait until intake has routed all of it."""

    def check():
        for service in services:
            service.check()

    feed(settings, messages)
    wait_for_group(settings, HL7_RAW.name, "intake", check)


def wait_for_group(settings, topic, stage, check=lambda: None):
    """Wait until a stage has processed one of its topics."""
    reader = LagReader(
        settings, admin_client(settings), topic, f"{settings.group}-{stage}"
    )
    is_drained = False
    while not is_drained:
        check()
        time.sleep(0.2)
        with suppress(RetriableError):
            is_drained = reader.is_drained(reader.read())
    reader.close()
