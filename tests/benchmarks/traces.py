"""The cost of traces: processor time of the main loop without, and by the ratio.

    python -m tests.benchmarks.traces --notes 500

The same notes go through the real engine and the real scrub processor over a broker in
memory, in turn without traces and with each ratio, in random order; with scrubbing, as
in a worker, and with precomputed outputs, so that the difference is that of traces
alone.  Spans are sent to a receiver in a process of its own; encoding and sending them
is part of the time.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from streams.engine.observer import Observer, Step
from streams.engine.records import Partition
from streams.model.seals import Seals
from streams.operations.settings import Settings, TraceSettings
from streams.operations.traces.tracing import Tracing, tracing
from tests.benchmarks.metrics_cost import NoTable, Replay, records_of, scrubbing
from tests.benchmarks.notes import FEW, notes_of
from tests.streams.kafka.local_broker import LocalBroker, start

RATIOS = (None, 0.0, 0.01, 1.0)
RECEIVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Steps:
    """Passes the steps of a processor on to the observer of the turn."""

    def __init__(self):
        self.observer = Observer()

    def __call__(self, step, records):
        self.observer.entered(step, records)


class Replayed(Replay):
    """Precomputed outputs, with the steps of scrub."""

    def __init__(self, outputs, steps):
        super().__init__(outputs)
        self._steps = steps

    def process(self, records):
        for each in records:
            self._steps(Step.DECODE, (each,))
            self._steps(Step.JOIN, (each,))
        self._steps(Step.DETECT, records)
        for each in records:
            self._steps(Step.ENCODE, (each,))
        return super().process(records)


@contextmanager
def receiver():
    """Yield the URL of a receiver in a process of its own."""
    command = [sys.executable, "-c", RECEIVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/traces"
        finally:
            process.terminate()


def traced(ratio, endpoint):
    """Return what a worker with this ratio uses; None: without traces."""
    if ratio is None:
        return nullcontext(Tracing(Observer(), lambda outputs: outputs))
    traces = TraceSettings(
        enabled=True, ratio=ratio, endpoint=endpoint, queue_spans=1_000_000
    )
    return tracing("benchmark", Settings(traces=traces), Observer())


def seconds(records, processor, steps, ratio, endpoint, batch):
    """Return the processor time of all threads until all is committed and sent."""
    processor.revoked([0])  # it has the partition since the last turn
    broker = LocalBroker(partitions=1)
    broker.logs[Partition("notes", 0)] = records
    seals, table, done = Seals(b"s" * 32), NoTable(), 0
    with traced(ratio, endpoint) as made:
        steps.observer = made.observer
        runner = start(
            broker,
            processor,
            max_records=batch,
            observer=made.observer,
            seal=lambda outputs: seals.sealed(made.with_headers(outputs)),
        )
        started = time.process_time()
        while done < len(records):
            done += runner.run_once()
            made.observer.turned(frozenset(), table, 0)
    return time.process_time() - started


def microseconds(records, processor, steps, endpoint, batch, rounds):
    """Return the least time per note of each ratio, run in turn."""
    found = {ratio: [] for ratio in RATIOS}
    for _ in range(rounds):
        for ratio in random.sample(RATIOS, len(RATIOS)):
            found[ratio].append(
                seconds(records, processor, steps, ratio, endpoint, batch)
            )
    return {ratio: min(all_) / len(records) * 1e6 for ratio, all_ in found.items()}


def main(
    notes: Annotated[int, typer.Option(help="Notes of a turn.")] = 500,
    rounds: Annotated[int, typer.Option(help="Turns of each ratio.")] = 7,
    batch: Annotated[int, typer.Option(help="Records per transaction.")] = 100,
) -> None:
    """Print a table of times without traces, and by the ratio."""
    steps = Steps()
    processor = scrubbing(entered=steps)
    records = list(records_of(notes_of(FEW, notes=notes, seed=3)))
    outputs = list(processor.process(records))  # warm as well
    grid = Grid("work", "traces", "µs a note", "more", "share")
    with receiver() as endpoint:
        for name, work, turns in (
            ("scrub", processor, rounds),
            ("engine alone", Replayed(outputs, steps), rounds * 3),
        ):
            found = microseconds(records, work, steps, endpoint, batch, turns)
            off = found[None]
            for ratio, taken in found.items():
                grid.add_row(
                    name,
                    "off" if ratio is None else f"ratio {ratio:g}",
                    f"{taken:,.1f}",
                    f"{taken - off:+.1f}",
                    f"{(taken - off) / off:+.1%}",
                )
    Console().print(grid, "processor time a note, least of all turns")


if __name__ == "__main__":
    typer.run(main)
