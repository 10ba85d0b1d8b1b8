"""Where the processor time of a scrub worker goes: deid_core, and all around it.

    python -m tests.benchmarks.around --notes 3000
    python -m tests.benchmarks.around --notes 3000 --rate 150

One worker runs in this process, on a real broker with the messages of `stages`.  Each
row is the processor time of the main thread in some functions, without that of the rows
inside.  The notes are all there before the worker sees the first, so that batches are
full; with a rate they are sent on a schedule, and the batches are as small as they are.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from deid_core import Deidentifier
from streams.engine.heartbeat import Heartbeat, Pulse
from streams.engine.runner import Runner
from streams.kafka.client import PRODUCER
from streams.kafka.consumer import KafkaConsumer
from streams.kafka.producer import KafkaProducer
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topics import HL7_RAW, Stage
from streams.pipeline.scrub import processor
from streams.pipeline.scrub.join import PatientJoin
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.service import worker
from tests.benchmarks.cluster import benchmark_settings, broker_processes
from tests.benchmarks.stages import WARM_UP, load_of, write_messages
from tests.harness import feed_and_drain_intake, running

SPAWN = multiprocessing.get_context("spawn")
DEID_CORE, NOTES = "deid_core", "encode notes and audit events"
ROWS = {
    "poll": [(KafkaConsumer, "poll")],
    "decode and check notes": [(processor, "decode")],
    "decode and check updates": [(processor, "decode_update")],
    "fold updates": [(PatientJoin, "update")],
    "join notes": [(PatientJoin, "join")],
    "tables, reads": [(ChangelogTable, "get")],
    "tables, writes": [(ChangelogTable, "write")],
    "processor, other": [(processor.Scrub, "process")],
    DEID_CORE: [(Deidentifier, "deidentify_batch")],
    "deid_core, type and day of notes": [
        (Deidentifier, "leaked_in"),
        (Deidentifier, "replaced_value"),
    ],
    NOTES: [(ScrubOutputs, "of")],
    "produce": [(KafkaProducer, "produce")],
    "commit": [(KafkaProducer, "send_offsets"), (KafkaProducer, "commit")],
    "loop, other": [(Runner, "run_once")],
}


def main(
    notes: Annotated[int, typer.Option(help="Notes that are measured.")] = 3000,
    words: Annotated[int, typer.Option(help="Words per note, about.")] = 85,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 3,
    rate: Annotated[
        float, typer.Option(help="Messages a second; 0: all at once, at first.")
    ] = 0,
) -> None:
    """Print a table of processor time a note."""
    console = Console(width=110)
    with tempfile.TemporaryDirectory(prefix="phistream-around-") as folder:
        file = Path(folder) / "messages.json"
        console.print(write_messages(file, notes=notes, words=words, seed=seed))
        with benchmark_settings() as settings:
            console.print(measure(settings, file, notes, rate))


class Clock:
    """Processor time of the main thread by row."""

    def __init__(self):
        self.used, self.calls = Counter(), Counter()
        self._inside, self._since = [], 0

    def watch(self, owner, name, row):
        """Replace a function by one that is timed."""
        call = getattr(owner, name)

        def timed(*args, **options):
            self._turn()
            self._inside.append(row)
            self.calls[row] += 1
            try:
                return call(*args, **options)
            finally:
                self._turn()
                self._inside.pop()

        setattr(owner, name, timed)

    def _turn(self):
        now = time.thread_time_ns()
        if self._inside:
            self.used[self._inside[-1]] += now - self._since
        self._since = now


class Measurement:
    """Counts the worker's notes: called in each turn of its loop, and ends it.

    Args:
        settings: Of the worker.
        send: A process that sends the notes that are measured.
        count: How many.
        waits: Whether the worker waits until all are sent.
    """

    def __init__(self, settings, send, count, *, waits):
        self._brokers = broker_processes(settings)
        self._send, self._count, self._waits = send, count, waits
        self.clock = Clock()
        for row, functions in ROWS.items():
            for owner, name in functions:
                self.clock.watch(owner, name, row)

    def __call__(self):
        scrubbed = self.clock.calls[NOTES]
        if self._send.pid is None:
            if scrubbed >= WARM_UP:
                self._begin()
            return False
        is_over = scrubbed >= self._count
        if is_over:
            self._after = self._now()
        return is_over

    def table(self):
        """Return the figures as a table."""
        process, main, broker = (
            (after - before) / self._count * 1e6
            for before, after in zip(self._before, self._after, strict=True)
        )
        used = {row: self.clock.used[row] / self._count / 1e3 for row in ROWS}
        inside = used.pop(DEID_CORE)
        used["worker's loop, other"] = main - inside - sum(used.values())
        used["client's threads"] = process - main
        grid = Table()
        for column in ("processor time", "µs a note", "calls a note"):
            grid.add_column(column, justify="left" if not grid.columns else "right")
        for row, each in used.items():
            calls = self.clock.calls[row] / self._count
            grid.add_row(row, f"{each:,.1f}", f"{calls:.2f}" if calls else "")
        grid.add_section()
        around = sum(used.values())
        for row, each in {
            "all around deid_core": around,
            DEID_CORE: inside,
            "the worker": process,
        }.items():
            grid.add_row(row, f"{each:,.1f}")
        grid.add_section()
        grid.add_row("deid_core, part of the worker", f"{inside / process:.3f}")
        main_ratio = inside / main
        grid.add_row("deid_core, part of its main thread", f"{main_ratio:.3f}")
        grid.add_row("the broker", f"{broker:,.1f}")
        return grid

    def _begin(self):
        self.clock.used.clear()
        self.clock.calls.clear()
        self._send.start()
        process, main, _ = self._now()
        if self._waits:
            self._send.join()
        self._before = process, main, self._now()[2]

    def _now(self):
        cpu = [each.cpu_times() for each in self._brokers]
        broker = sum(each.user + each.system for each in cpu)
        return time.process_time(), time.thread_time(), broker


def measure(settings, file, count, rate):
    """Return the table of a worker that scrubs the messages of a file."""
    with running(settings, "intake") as services:
        load = load_of(file)
        feed_and_drain_intake(settings, services, load["admissions"])
        feed_and_drain_intake(settings, services, load["warm_up"])
        send = SPAWN.Process(target=_send, args=(settings, file, rate))
        measurement = Measurement(settings, send, count, waits=not rate)
        pulse = Pulse(Heartbeat(SPAWN), settings.silence)
        worker.run(Stage.SCRUB, 0, settings, measurement, pulse)
        send.join()
    return measurement.table()


def _send(settings, file, rate):
    """Send the notes, all at once and routed, or so many a second."""
    notes = load_of(file)["notes"]
    if not rate:
        feed_and_drain_intake(settings, [], notes)
        return
    producer = Producer(settings.client(**PRODUCER))
    started = time.monotonic()
    for at, each in enumerate(notes):
        time.sleep(max(0.0, started + at / rate - time.monotonic()))
        producer.produce(HL7_RAW.name, value=each.value, key=each.key)
        producer.poll(0)
    producer.flush()


if __name__ == "__main__":
    typer.run(main)
