"""The cost of metrics: processor time of the main loop with and without them.

    python -m tests.benchmarks.metrics_cost --notes 500

The same notes go through the real engine and the real scrub processor over a broker in
memory, alternately with the null observer and with the counting one: once with
scrubbing, as in a worker, and once with precomputed outputs, so that the difference is
that of the observer alone.
"""

from __future__ import annotations

import time
from typing import Annotated

import orjson
import typer
from prometheus_client import CollectorRegistry, generate_latest
from rich.console import Console
from rich.table import Table as Grid

from deid_core import Deidentifier
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.observer import Observer
from streams.engine.records import Partition, Record
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import NOTES, Stage
from streams.model.notes import ClinicalNote
from streams.model.outputs import RECEIVED
from streams.model.patients.demographics import PatientId
from streams.operations.metrics.health import Health, Identity
from streams.operations.metrics.lag_gauges import LagGauges
from streams.operations.metrics.loop_metrics import LoopMetrics
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from tests.benchmarks.notes import FEW, MANY, notes_of
from tests.office import OFFICE
from tests.streams.kafka.local_broker import LocalBroker, start

MODEL = {"model": "english", "sha256": "80dce609e010"}


class NoTable:
    """A patients table without patients: the join is not measured."""

    def get(self, partition, key):
        return None

    def scan(self, partition, prefix, start=b""):
        return iter(())

    def ready(self):
        return [0]

    def open(self, partitions):
        pass

    def release(self, partitions):
        pass

    def settle(self, partitions):
        pass

    def settled(self):
        return [0]

    def progress(self):
        return []

    def copies(self):
        return []

    def held(self):
        return []


class Replay:
    """A processor that returns precomputed outputs."""

    def __init__(self, outputs):
        self._outputs = outputs

    def ready(self):
        return [0]

    def revoked(self, partitions):
        pass

    def settled(self, claimed):
        return claimed

    def due(self, claimed):
        return {}

    def process(self, records):
        return [self._outputs[record.offset] for record in records]

    def committed(self, written):
        pass


def records_of(documents):
    """Return notes as records of one partition, each of another patient."""
    for offset, document in enumerate(documents):
        patient = PatientId("N", str(offset))
        note = ClinicalNote(str(offset), patient, "", "", document.text)
        value = orjson.dumps(NOTES.schema.versioned(note.to_json()))
        now = {RECEIVED: b"%013d" % (time.time() * 1000)}
        yield Record(Partition("notes", 0), offset, patient.key, value, now)


def scrubbing(**options):
    return Scrub(
        Deidentifier.from_names,
        NoTable(),
        NoTable(),
        UnknownPatients(),
        ScrubOutputs(
            PseudonymKeys.of(b"k" * 32), preset="hybrid", policy="safe-harbor"
        ),
        1,
        office=OFFICE,
        max_bytes=1 << 20,
        **options,
    )


def counting():
    registry = CollectorRegistry()
    identity = Identity(Stage.SCRUB, 0, "0", "hybrid", "safe-harbor", MODEL)
    health = Health(identity, lambda: 0.0, lambda: 90)
    LagGauges(registry)
    return LoopMetrics(registry, health), registry


def seconds(records, processor, observer, batch):
    """Return the processor time of the loop until all records are committed."""
    processor.revoked([0])  # it has the partition since the last turn
    broker = LocalBroker(partitions=1)
    broker.logs[Partition("notes", 0)] = records
    runner = start(broker, processor, max_records=batch, observer=observer)
    table, done = NoTable(), 0
    started = time.process_time()
    while done < len(records):
        done += runner.run_once()
        observer.turned(frozenset(), table, 0)
    return time.process_time() - started


def microseconds(records, processor, batch, rounds):
    """Return the least time per note without and with metrics, run alternately."""
    plain, counted = [], []
    for _ in range(rounds):
        plain.append(seconds(records, processor, Observer(), batch))
        counted.append(seconds(records, processor, counting()[0], batch))
    return tuple(min(each) / len(records) * 1e6 for each in (plain, counted))


def scraped(records, outputs):
    """Return microseconds and bytes of one answer of /metrics."""
    observer, registry = counting()
    seconds(records, Replay(outputs), observer, 64)
    started = time.process_time()
    for _ in range(20):
        text = generate_latest(registry)
    return (time.process_time() - started) / 20 * 1e6, len(text)


def main(
    notes: Annotated[int, typer.Option(help="Notes of each density.")] = 500,
    rounds: Annotated[int, typer.Option(help="Runs with and without metrics.")] = 5,
    batch: Annotated[int, typer.Option(help="Records per transaction.")] = 100,
) -> None:
    """Print a table of times with and without metrics."""
    grid = Grid("identifiers a note", "work", "without", "with", "more", "share")
    processor = scrubbing()
    for identifiers in (FEW, MANY):
        documents = notes_of(identifiers, notes=notes, seed=3)
        records = list(records_of(documents))
        assert all(partition_of(each.key, 1) == 0 for each in records)
        outputs = list(processor.process(records))  # warm as well
        for name, work, turns in (
            ("scrub", processor, rounds),
            ("engine alone", Replay(outputs), rounds * 5),
        ):
            plain, counted = microseconds(records, work, batch, turns)
            more, share = counted - plain, (counted - plain) / plain
            grid.add_row(
                str(identifiers),
                name,
                f"{plain:,.1f} µs",
                f"{counted:,.1f} µs",
                f"{more:+.1f} µs",
                f"{share:+.1%}",
            )
    console = Console()
    console.print(grid, "processor time a note, least of all turns")
    taken, size = scraped(records, outputs)
    console.print(f"one answer of /metrics: {taken:,.0f} µs, {size:,} bytes")


if __name__ == "__main__":
    typer.run(main)
