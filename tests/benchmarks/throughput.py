"""Notes per second and latency of the service.

    python -m tests.benchmarks.throughput --notes 6000

With the same notes, broker and run: a transactional pass-through copy, deid_core alone
in one process, and the whole service with one and two scrub workers; then the latency
from hl7.raw to a `read_committed` reader of notes.scrubbed, at half load.
"""

from __future__ import annotations

import multiprocessing
import time
from typing import Annotated

import numpy as np
import typer
from confluent_kafka import Consumer, Producer, TopicPartition
from rich.console import Console
from rich.table import Table as Grid

from deid_core import Deidentifier
from streams.cluster.client import PRODUCER, admin_client, record_of
from streams.cluster.consumer import KafkaConsumer
from streams.cluster.offsets import GroupOffsets, end_offsets
from streams.cluster.producer import KafkaProducer
from streams.cluster.topics import HL7_RAW, NOTES, NOTES_SCRUBBED, PATIENTS, PHI_AUDIT
from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.engine import gc_tuning
from streams.engine.checkpoint import Checkpoint
from streams.engine.custody import Custody
from streams.engine.observer import CompositeListener
from streams.engine.records import Output
from streams.engine.runner import Limits, Runner
from streams.events.outputs import SOURCE, source_header
from streams.scrub.join import PatientJoin
from streams.scrub.processor import decode
from tests.benchmarks.cluster import benchmark_settings
from tests.harness import feed_and_drain, feed_and_drain_intake, raw, running

BATCH = 64


class Copy:
    """A processor that copies each note to two topics: the engine alone."""

    def __init__(self):
        self._ready = []

    def assigned(self, partitions):
        self._ready += partitions

    def revoked(self, partitions):
        pass

    def ready(self):
        done, self._ready = self._ready, []
        return done

    def prepare(self, records):
        pass

    def rebuild(self):
        pass

    def process(self, records):
        return [
            [
                Output(topic, record.key, record.value, {SOURCE: source_header(record)})
                for topic in (NOTES_SCRUBBED.name, PHI_AUDIT.name)
            ]
            for record in records
        ]

    def dead_letter(self, record, error):
        raise AssertionError

    def committed(self):
        pass

    def aborted(self):
        pass

    def drop_state(self):
        return []


def copy_for_ever(settings):
    copy = Copy()
    group = f"{settings.group}-scrub"
    checkpoint = Checkpoint(KafkaProducer(settings, f"{group}-0"))
    custody = Custody(NOTES.name, checkpoint, batch=settings.batch_records)
    listener = CompositeListener(custody, copy)
    consumer = KafkaConsumer(
        settings, NOTES.name, group=group, member=f"{group}-0", listener=listener
    )
    custody.follow(consumer)
    limits = Limits(settings.batch_records, settings.batch_seconds)
    runner = Runner(consumer, copy, checkpoint, custody, limits)
    while True:
        runner.run_once()


def rate_of_group(settings, notes):
    """Return notes/s of a group from its first commit to the end of `notes`."""
    admin = admin_client(settings)
    partitions = range(settings.partitions)
    group = GroupOffsets(settings, f"{settings.group}-scrub", NOTES.name)
    total = sum(end_offsets(admin, NOTES.name, partitions).values())

    def done():
        return sum(group.read(partitions).values())

    while (first := done()) == 0:
        time.sleep(0.02)
    started = time.monotonic()
    # The last transaction's marker in each partition is not a note.
    while (now := done()) < total - settings.partitions:
        time.sleep(0.02)
    return (now - first) * (notes / total) / (time.monotonic() - started)


def rate_of_copy(settings, notes):
    settings = settings.model_copy(update={"group": "bench-copy"})
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=copy_for_ever, args=(settings,))
    process.start()
    try:
        return rate_of_group(settings, notes)
    finally:
        process.kill()
        process.join()


def rate_of_scrub(settings, notes, workers):
    settings = settings.model_copy(update={"group": f"bench-{workers}"})
    with running(settings, "scrub", workers=workers):
        return rate_of_group(settings, notes)


def rate_of_deid_core(documents):
    """Return notes/s of the library alone, in the service's batches."""
    deidentifier = Deidentifier.from_names()
    deidentifier.deidentify_batch(documents[:BATCH])
    gc_tuning.settle()
    started = time.monotonic()
    for at in range(0, len(documents), BATCH):
        deidentifier.deidentify_batch(documents[at : at + BATCH])
    return len(documents) / (time.monotonic() - started)


class Rows:
    """The final records of all patients."""

    def __init__(self, rows):
        self._rows = rows

    def get(self, _partition, key):
        return self._rows.get(key)


def documents_of(settings):
    """Return the notes as documents, joined with the final patient records."""
    rows = {m.key(): m.value() for m in read_topic(settings, PATIENTS.name)}
    join = PatientJoin(Rows(rows), 0)
    records = [record_of(message) for message in read_topic(settings, NOTES.name)]
    notes = [decode(record, max_bytes=1 << 24) for record in records]
    joined = (join.join(*pair) for pair in zip(records, notes, strict=True))
    return [each.document for each in joined]


class Subscriber:
    """A read_committed reader that records when each scrubbed note arrived."""

    def __init__(self, settings):
        self.arrived = {}
        self._raw_of_note = {}
        self._consumer = Consumer(
            settings.client(
                **{
                    "group.id": "bench-latency",
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 10,
                }
            )
        )
        admin = admin_client(settings)
        positions = []
        for topic in (NOTES.name, NOTES_SCRUBBED.name):
            ends = end_offsets(admin, topic, range(settings.partitions))
            positions += [TopicPartition(topic, p, end) for p, end in ends.items()]
        self._consumer.assign(positions)

    def read(self, timeout):
        for message in self._consumer.consume(1000, timeout=timeout):
            now = time.monotonic()
            source = dict(message.headers() or []).get(SOURCE)
            if message.topic() == NOTES.name:
                own = f"{NOTES.name}/{message.partition()}/{message.offset()}".encode()
                self._raw_of_note[own] = source
            else:
                self.arrived[source] = now

    def seconds_since(self, sent):
        """Return seconds from `sent` (by source on hl7.raw) to arrival."""
        origins = {self._raw_of_note.get(s): at for s, at in self.arrived.items()}
        return np.array([at - sent[o] for o, at in origins.items() if o in sent])


def latencies(settings, ward, *, rate, seconds):
    """Return seconds from hl7.raw to a subscriber, and the number of notes sent."""
    sent = {}
    subscriber = Subscriber(settings)
    producer = Producer(settings.client(**PRODUCER, **{"linger.ms": 1}))

    def delivered(message, at):
        position = f"{HL7_RAW.name}/{message.partition()}/{message.offset()}".encode()
        sent[position] = at

    messages = list(ward.notes(int(rate * seconds)))
    started = time.monotonic()
    for number, message in enumerate(messages):
        at = started + number / rate
        while time.monotonic() < at:
            subscriber.read(0.002)
        producer.produce(
            HL7_RAW.name,
            value=message.value,
            key=raw(message).key,
            on_delivery=lambda _error, sent, at=at: delivered(sent, at),
        )
        producer.poll(0)
    producer.flush(10)
    deadline = time.monotonic() + 20
    while len(subscriber.arrived) < len(messages) and time.monotonic() < deadline:
        subscriber.read(0.05)
    return subscriber.seconds_since(sent), len(messages)


def main(
    notes: Annotated[int, typer.Option(help="Notes of 60 words and more.")] = 6000,
    words: Annotated[int, typer.Option(help="Words per note, about.")] = 150,
    seconds: Annotated[float, typer.Option(help="Length of the latency run.")] = 20,
    seed: Annotated[int, typer.Option()] = 3,
) -> None:
    """Print a table of throughput, and the latency."""
    console = Console()
    ward = Ward(seed=seed, patients=400, note_words=words)
    with benchmark_settings() as settings:
        with running(settings, "intake") as services:
            feed_and_drain_intake(settings, services, map(raw, ward.admissions()))
            # Written before, because the ward is not faster than intake.
            messages = [*map(raw, ward.notes(notes))]
            started = time.monotonic()
            feed_and_drain_intake(settings, services, messages)
            intake = notes / (time.monotonic() - started)
        rates = {"intake alone, one worker": intake}
        rates["pass-through copy, one worker"] = rate_of_copy(settings, notes)
        documents = documents_of(settings)
        alone = rate_of_deid_core(documents)
        rates["deid_core alone, one process"] = alone
        one = rate_of_scrub(settings, notes, 1)
        rates["full way, one scrub worker"] = one
        rates["full way, two scrub workers"] = rate_of_scrub(settings, notes, 2)
        grid = Grid("what", "notes/s", "of deid_core alone", title="Throughput")
        for name, rate in rates.items():
            grid.add_row(name, f"{rate:,.0f}", f"{rate / alone:.2f}")
        tokens = np.mean([len(d.text.split()) for d in documents])
        console.print(grid)
        console.print(
            f"{notes:,} notes of {tokens:.0f} words, one broker, same machine"
        )
        half = min(one, intake) / 2
        with running(settings, "intake", "scrub") as services:
            feed_and_drain(settings, services, map(raw, ward.notes(200)))
            found, count = latencies(settings, ward, rate=half, seconds=seconds)
        p50, p99 = np.quantile(found, [0.5, 0.99]) * 1000
        console.print(
            f"latency at half load ({half:,.0f} notes/s): p50 {p50:.0f} ms, "
            f"p99 {p99:.0f} ms, {len(found):,} of {count:,} notes measured"
        )


if __name__ == "__main__":
    typer.run(main)
