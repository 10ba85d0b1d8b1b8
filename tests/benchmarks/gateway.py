"""Requests a second, latency, and processor time a note of the gateway.

    python -m tests.benchmarks.gateway
    python -m tests.benchmarks.gateway --workers 2 --clients 8 --notes 2000

Notes of the ward, each with its patient's record at its time, one a request.  The
clients run in this process and take part of the same cores.  "Alone" is deid_core on
the same notes in this process, one at a time, as a worker has them.
"""

from __future__ import annotations

import http.client
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Annotated

import orjson
import psutil
import typer
from rich.console import Console
from rich.table import Table

from deid_core import Deidentifier
from streams.demo.ward import Ward
from streams.model.patients.demographics import PatientRecord
from streams.pipeline.files.documents import FileNotes
from tests.benchmarks.notes import _fold
from tests.streams.products.gateway.serving import Gateway, serving


def main(
    notes: Annotated[int, typer.Option(help="Notes that are measured.")] = 1000,
    words: Annotated[int, typer.Option(help="Words per note, about.")] = 150,
    workers: Annotated[int, typer.Option(help="Processes that scrub.")] = 2,
    clients: Annotated[int, typer.Option(help="Connections at a time.")] = 4,
    warm_up: Annotated[int, typer.Option(help="Notes before those.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 3,
) -> None:
    """Measure the gateway, and the library alone."""
    events = events_of(notes + warm_up, words, seed)
    before, measured = events[:warm_up], events[warm_up:]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), "--workers", str(workers)) as gateway,
    ):
        _send(gateway, before, clients)
        used = _processor(gateway)
        began = time.monotonic()
        seconds = _send(gateway, measured, clients)
        took = time.monotonic() - began
        front, scrubbing = (
            1e6 * (now - then) / notes
            for now, then in zip(_processor(gateway), used, strict=True)
        )
    centiles = statistics.quantiles(seconds, n=100)
    alone = 1e6 * _alone(before, measured) / notes
    rows = {
        "requests a second": f"{notes / took:,.0f}",
        "p50, p99": f"{1000 * centiles[49]:.1f}, {1000 * centiles[98]:.1f} ms",
        "processor time a note: HTTP": f"{front:,.0f} us",
        "the same: workers": f"{scrubbing:,.0f} us",
        "the same: deid_core alone": f"{alone:,.0f} us",
    }
    table = Table("what", "figure")
    for row in rows.items():
        table.add_row(*row)
    Console().print(table)


def events_of(count: int, words: int, seed: int) -> list[bytes]:
    """Return note events with the demographics of their patients at their time."""
    ward = Ward(seed=seed, patients=400, note_words=words, split="dev")
    records: dict[bytes, PatientRecord] = {}
    for message in ward.admissions():
        _fold(message, records)
    noted = (
        note
        for message in ward.messages(1_000_000)
        if not message.code
        for note in _fold(message, records)
    )
    events = []
    for note in islice(noted, count):
        event = note.to_json()
        if record := records.get(note.patient.key):
            event["demographics"] = record.current.to_json()
        events.append(orjson.dumps(event))
    return events


def _send(gateway: Gateway, events: list[bytes], clients: int) -> list[float]:
    """Send events over so many connections; return the seconds of each."""
    with ThreadPoolExecutor(clients) as threads:
        shares = [events[n::clients] for n in range(clients)]
        return [
            each
            for share in threads.map(lambda share: _share(gateway, share), shares)
            for each in share
        ]


def _share(gateway: Gateway, events: list[bytes]) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=100)
    seconds = []
    for event in events:
        began = time.monotonic()
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/notes", event, headers)
        response = connection.getresponse()
        answer = response.read()
        seconds.append(time.monotonic() - began)
        if response.status not in (200, 422):
            raise SystemExit(f"status {response.status}: {answer.decode()}")
    connection.close()
    return seconds


def _processor(gateway: Gateway) -> tuple[float, float]:
    """Return the processor seconds of the HTTP process, and of all others."""
    process = psutil.Process(gateway.process.pid)
    others = [each.cpu_times() for each in process.children(recursive=True)]
    own = process.cpu_times()
    return own.user + own.system, sum(each.user + each.system for each in others)


def _alone(before: list[bytes], measured: list[bytes]) -> float:
    deidentifier = Deidentifier.from_names()
    first, rest = (
        [next(FileNotes().json_note(each)) for each in events]
        for events in (before, measured)
    )
    for document in first:
        deidentifier.deidentify_batch([document])
    began = time.process_time()
    for document in rest:
        deidentifier.deidentify_batch([document])
    return time.process_time() - began


if __name__ == "__main__":
    typer.run(main)
