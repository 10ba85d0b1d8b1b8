"""Processor time, notes a second and latency, by stage and by process.

    python -m tests.benchmarks.stages --notes 3000
    python -m tests.benchmarks.stages --notes 3000 --other FOLDER

One run sends the same HL7 messages through intake alone, scrub alone, and the whole
with one and with two scrub workers, each of them warm; then one by one on a fixed
schedule, at half of the throughput of the whole.  Processor time (user and system, all
threads) does not depend on the number of cores, notes a second do.

FOLDER is a checkout of another version, which is measured in turn with this one: the
same messages, a broker of its own, and the packages of this environment.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import orjson
import psutil
import typer
from rich.console import Console

from deid_core import (
    Deidentifier,
    Document,
    KnownIdentifiers,
    PersonName,
    ScrubbedDocument,
)
from streams.demo.flow import read_topic
from streams.demo.services import start_watch
from streams.demo.ward import Ward
from streams.engine import gc_tuning
from streams.kafka.client import admin_client
from streams.kafka.lag import LagReader
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.topics import NOTES, NOTES_SCRUBBED, PATIENTS, PHI_AUDIT
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import PatientRecord
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.files.feed import RawMessage, feed
from tests.benchmarks.arrivals import Reader, Timed
from tests.benchmarks.checkouts import Figures, figures_of, versions
from tests.benchmarks.cluster import benchmark_settings, broker_processes
from tests.harness import drain, feed_and_drain_intake, running

BATCH = 64
WARM_UP = 600
WARM_UP_SECONDS = 3
HL7 = ("oru", "mdm")


def main(
    notes: Annotated[int, typer.Option(help="Messages of a phase.")] = 3000,
    words: Annotated[int, typer.Option(help="Words per note, about.")] = 85,
    seconds: Annotated[float, typer.Option(help="Length of the latency run.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 3,
    rounds: Annotated[int, typer.Option(help="Runs of each version, in turn.")] = 1,
    other: Annotated[
        Path | None, typer.Option(help="Checkout of another version.", exists=True)
    ] = None,
) -> None:
    """Print a table of figures, with those of another version beside them."""
    console = Console(width=110)
    checkouts = versions(other)
    figures = Figures(checkouts)
    with tempfile.TemporaryDirectory(prefix="phistream-stages-") as folder:
        file = Path(folder) / "messages.json"
        console.print(write_messages(file, notes=notes, words=words, seed=seed))
        for _ in range(rounds):
            for name, checkout in checkouts.items():
                found = figures_of(checkout, "tests.benchmarks.stages", file, seconds)
                figures.add(name, found)
    console.print(figures.grid())


def write_messages(file: Path, *, notes: int, words: int, seed: int) -> str:
    """Write the messages to a file; return how large they are."""
    ward = Ward(seed=seed, patients=400, note_words=words)
    hl7 = (each for each in ward.notes(3 * (notes + WARM_UP)) if each.kind in HL7)
    chosen = [each for each, _ in zip(hl7, range(notes + WARM_UP), strict=False)]
    assert len(chosen) == notes + WARM_UP
    parts = {
        "admissions": ward.admissions(),
        "warm_up": chosen[:WARM_UP],
        "notes": chosen[WARM_UP:],
    }
    rows = {
        name: [(each.patient, each.value.decode("latin-1")) for each in part]
        for name, part in parts.items()
    }
    file.write_bytes(orjson.dumps(rows))
    size = np.mean([len(each.value) for each in chosen[WARM_UP:]])
    length = np.mean([len(each.text) for each in chosen[WARM_UP:]])
    return (
        f"{notes:,} HL7 messages of {size:,.0f} bytes, with notes of {length:,.0f} "
        f"characters, of 400 patients"
    )


# What follows runs in a process of the version that is measured.


@dataclass(frozen=True, slots=True)
class Phase:
    """The figures of one phase.

    Args:
        rate: Notes a second.
        cpu: Microseconds a note, by process.
    """

    rate: float
    cpu: dict[str, float]


class Meter:
    """Measures the processes of services while records arrive on a topic."""

    def __init__(self, settings, services, topic):
        self._settings = settings
        self._services = services
        self.reader = Reader(settings, topic)

    def check(self):
        for service in self._services:
            service.check()

    def begin(self):
        """Start to measure, at the arrival of a batch or before any was sent."""
        self._cpu, self._began = self._seconds(), time.monotonic()
        self._first = self.reader.count

    def end(self, count):
        """Return the figures at the arrival of so many records in all."""
        self.reader.wait_for(count, self.check)
        seconds = time.monotonic() - self._began
        used = self._seconds()
        if "watch" in used:
            _drain_watch(self._settings, self.check)
            used["watch"] = self._seconds()["watch"]
        notes = count - self._first
        self.reader.close()
        return Phase(
            notes / seconds,
            {name: (used[name] - self._cpu[name]) / notes * 1e6 for name in used},
        )

    def _seconds(self):
        trees = {
            each.stage: [root := psutil.Process(each.process.pid), *_below(root)]
            for each in self._services
        }
        trees["broker"] = broker_processes(self._settings)
        return {name: sum(map(_cpu, tree)) for name, tree in trees.items()}


def measure(settings, load, seconds):
    """Return all figures of this version by name."""
    figures = {}
    notes, count = load["notes"], len(load["notes"])

    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, load["admissions"])
        feed_and_drain_intake(settings, services, load["warm_up"])
        meter = Meter(settings, services, NOTES.name)
        meter.begin()
        feed(settings, notes)
        alone = meter.end(count)
    figures |= _named("intake alone", alone)

    with running(settings, "scrub") as services:
        meter = Meter(settings, services, NOTES_SCRUBBED.name)
        meter.reader.wait_for(len(load["warm_up"]), meter.check)
        meter.begin()
        scrub_alone = meter.end(len(load["warm_up"]) + count)
    figures |= _named("scrub alone", scrub_alone)

    for workers in (1, 2):
        name = f"whole, 2 intake, {workers} scrub"
        with whole(settings, scrub=workers) as services:
            _wait_for_members(settings, {"intake": 2, "scrub": workers}, services)
            feed(settings, load["warm_up"])
            drain(settings, services)
            meter = Meter(settings, services, NOTES_SCRUBBED.name)
            meter.begin()
            feed(settings, notes)
            phase = meter.end(count)
            figures |= _named(name, phase)
            if workers == 1:
                latency = latencies(settings, notes, phase.rate / 2, seconds, services)
    figures |= latency

    seconds_alone = cpu_of_deid_core(documents_of(settings, count))
    inside = seconds_alone / count * 1e6
    figures["deid_core alone, µs a note"] = inside
    around = scrub_alone.cpu["scrub"] - inside
    figures["scrub alone around deid_core, µs a note"] = around
    return figures


@contextmanager
def whole(settings, *, scrub):
    """Run both stages and watch."""
    with (
        running(settings, "intake", workers=2) as intake,
        running(settings, "scrub", workers=scrub) as scrubbing,
    ):
        watch = start_watch(settings, port=free_ports(1)[0])
        try:
            yield [*intake, *scrubbing, watch]
        finally:
            watch.stop()


def latencies(settings, notes, rate, seconds, services):
    """Return the quantiles of latency at a rate."""

    def check():
        for service in services:
            service.check()

    timed = Timed(settings)
    wanted = int(rate * (seconds + WARM_UP_SECONDS))
    timed.run((notes[n % len(notes)] for n in range(wanted)), rate, check)
    timed.close()
    found = timed.latencies(skip=WARM_UP_SECONDS) * 1000
    return {
        "latency at half load: notes/s": rate,
        "latency at half load: notes measured": len(found),
        "latency at half load: p50, ms": float(np.quantile(found, 0.5)),
        "latency at half load: p99, ms": float(np.quantile(found, 0.99)),
        "latency at half load: sent late, ms at most": timed.late * 1000,
    }


def documents_of(settings, count):
    """Return the first notes after the warm-up, joined with their patients."""
    rows = {m.key(): m.value() for m in read_topic(settings, PATIENTS.name)}
    # The detectors prepare an object once: as in scrub, one for each patient.
    known = {
        key: known_identifiers(PatientRecord.from_json(orjson.loads(row)))
        for key, row in rows.items()
        if row is not None
    }
    values = [orjson.loads(m.value()) for m in read_topic(settings, NOTES.name)]
    return [
        Document(note.note_id, note.text, known[note.patient.key], str(note.patient))
        for note in map(ClinicalNote.from_json, values[WARM_UP : WARM_UP + count])
    ]


def cpu_of_deid_core(documents):
    """Return the processor time of the library alone, in the service's batches."""
    deidentifier = Deidentifier.from_names()
    deidentifier.deidentify_batch(documents[: 4 * BATCH])
    gc_tuning.settle()
    started = time.process_time()
    for at in range(0, len(documents), BATCH):
        for each in deidentifier.deidentify_batch(documents[at : at + BATCH]):
            assert isinstance(each, ScrubbedDocument), type(each)
    return time.process_time() - started


def _named(name, phase):
    cpu = phase.cpu | {"all": sum(phase.cpu.values())}
    return {f"{name}: notes/s": phase.rate} | {
        f"{name}: {process}, µs a note": used for process, used in cpu.items()
    }


def _wait_for_members(settings, workers, services):
    """Wait until each worker has partitions: the warm-up is for all of them."""
    admin = admin_client(settings)
    groups = {f"{settings.group}-{stage}": n for stage, n in workers.items()}
    while True:
        for service in services:
            service.check()
        described = admin.describe_consumer_groups(list(groups))
        members = {group: each.result().members for group, each in described.items()}
        if all(
            len([m for m in members[group] if m.assignment.topic_partitions]) == count
            for group, count in groups.items()
        ):
            return
        time.sleep(0.2)


def _drain_watch(settings, check):
    group = f"{settings.group}-watch"
    reader = LagReader(settings, admin_client(settings), PHI_AUDIT.name, group)
    while not reader.is_drained(reader.read()):
        check()
        time.sleep(0.2)
    reader.close()


def _below(root):
    return root.children(recursive=True)


def _cpu(process):
    used = process.cpu_times()
    return used.user + used.system


def load_of(file):
    """Return the messages that `write_messages` has written, by part."""
    return {
        name: [
            RawMessage(value.encode("latin-1"), b"%d" % patient)
            for patient, value in rows
        ]
        for name, rows in orjson.loads(file.read_bytes()).items()
    }


def _measure(result: str, file: str, seconds: str) -> None:
    load = load_of(Path(file))
    _compile([each.value.decode("latin-1") for each in load["warm_up"][:BATCH]])
    with benchmark_settings() as settings:
        figures = measure(settings, load, float(seconds))
    Path(result).write_text(json.dumps(figures))


def _compile(texts):
    """Have the kernels compiled, which a checkout does once."""
    known = KnownIdentifiers(patient_names=(PersonName("Quellwright", "Mabelle"),))
    documents = [Document("d", each, known, "p") for each in texts]
    Deidentifier.from_names().deidentify_batch(documents)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        _measure(*sys.argv[2:])
    else:
        typer.run(main)
