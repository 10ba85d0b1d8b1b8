"""The MLLP listener: messages a second, time to the answer, memory of idle connections.

    python -m tests.benchmarks.mllp --messages 10000

Senders wait for each answer before they send the next message.  First they send as fast
as they can; then on a fixed schedule, which does not wait for the listener: a latency
counts from the scheduled time.  Listener, senders and broker share the machine.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from contextlib import contextmanager
from itertools import chain, islice
from typing import Annotated

import numpy as np
import psutil
import typer
from rich.console import Console
from rich.table import Table

from streams.demo.ward import Ward
from streams.kafka.topics import HL7_RAW
from streams.products.mllp.frames import END, START
from tests.benchmarks.cluster import benchmark_settings
from tests.harness import count_records
from tests.mllp_service import listener

WARM_UP = 500
LARGE, LARGE_BYTES = 20, 50 * 2**20
HL7 = ("oru", "mdm")


def main(
    messages: Annotated[int, typer.Option(help="Messages of a phase.")] = 10_000,
    rate: Annotated[float, typer.Option(help="Messages a second, scheduled.")] = 500,
    idle: Annotated[int, typer.Option(help="Connections that send nothing.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 3,
) -> None:
    """Print a table of figures."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, idle + 1000), hard))
    ward = Ward(seed=seed, patients=200)
    notes = (each for each in ward.notes(3 * messages) if each.kind in HL7)
    values = [each.value for each in islice(notes, messages)]
    table = Table("senders", "messages/s", "CPU ms", "p50 ms", "p99 ms", "most ms")
    with benchmark_settings(partitions=6) as settings:
        with listener(settings, settings.state_dir.parent) as service:
            process = psutil.Process(service.process.pid)
            asyncio.run(send_all(service.port, values[:WARM_UP], 4))
            for senders in (1, 4, 16, 64):
                add_row(table, process, service.port, values, senders, None)
            add_row(table, process, service.port, values, 16, rate)
            asyncio.run(beside_idle(service, process, values, table, idle))
            asyncio.run(beside_large(service, process, values, table))
        stored = count_records(settings, HL7_RAW.name, "read_committed")
    console = Console(width=100)
    console.print(table)
    console.print(
        f"{len(values)} messages a phase, {np.mean([*map(len, values)]):.0f} bytes "
        f"each; {stored} records on {HL7_RAW.name}"
    )


def add_row(table, process, port, values, senders, rate):
    scheduled = f", {rate:.0f}/s scheduled" if rate else ""
    with figures(table, process, lambda: f"{senders}{scheduled}") as seconds:
        seconds += asyncio.run(send_all(port, values, senders, rate))


@contextmanager
def figures(table, process, name):
    """Add a row about what is sent in the block, whose seconds it collects.

    Args:
        table: Of the figures.
        process: The listener.
        name: Of the row; called when the block has ended.
    """
    cpu, started, seconds = cpu_of(process), time.perf_counter(), []
    yield seconds
    elapsed = time.perf_counter() - started
    p50, p99, most = np.percentile(seconds, [50, 99, 100]) * 1000
    table.add_row(
        name(),
        f"{len(seconds) / elapsed:.0f}",
        f"{(cpu_of(process) - cpu) / len(seconds) * 1000:.2f}",
        *(f"{each:.1f}" for each in (p50, p99, most)),
    )


async def beside_idle(service, process, values, table, idle):
    """Send beside idle connections."""
    before = process.memory_info().rss
    held = [
        await asyncio.open_connection("127.0.0.1", service.port) for _ in range(idle)
    ]
    while (
        f"phistream_mllp_connections {float(idle)}"
        not in (await asyncio.to_thread(service.get, "/metrics"))[1]
    ):
        await asyncio.sleep(0.1)
    grown = (process.memory_info().rss - before) / 2**20
    name = f"16; {idle} idle: {grown:+.0f} MB to {before / 2**20:.0f}"
    with figures(table, process, lambda: name) as seconds:
        seconds += await send_all(service.port, values, 16)
    for _, writer in held:
        writer.transport.abort()


async def beside_large(service, process, values, table):
    """Send beside frames that pass the limit, as fast as the listener takes them."""
    before = most = process.memory_info().rss

    async def send_large():
        nonlocal most
        _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(START + values[0])
        for _ in range(LARGE_BYTES // 2**16):
            writer.write(bytes(2**16))
            await writer.drain()
            most = max(most, process.memory_info().rss)
        writer.transport.abort()

    def name():
        return f"16; {LARGE} of 50 MB: {(most - before) / 2**20:+.0f} MB"

    with figures(table, process, name) as seconds:
        large = [asyncio.create_task(send_large()) for _ in range(LARGE)]
        seconds += await send_all(service.port, values, 16)
        await asyncio.gather(*large)


def cpu_of(process):
    times = process.cpu_times()
    return times.user + times.system


async def send_all(port, values, senders, rate=None):
    """Send the messages; return the seconds to each answer."""
    start = time.perf_counter() + 0.1
    shares = [range(n, len(values), senders) for n in range(senders)]
    found = await asyncio.gather(
        *(send(port, values, share, start, rate) for share in shares)
    )
    return [*chain.from_iterable(found)]


async def send(port, values, share, start, rate):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds = []
    for number in share:
        # Each connection is a sender of its own.
        name, marks, own, rest = values[number].split(b"|", 3)
        value = b"|".join((name, marks, own + b"-%d" % share.start, rest))
        due = time.perf_counter()
        if rate:
            due = start + number / rate
            await asyncio.sleep(max(0, due - time.perf_counter()))
        writer.write(START + value + END)
        answer = await reader.readuntil(END)
        # The ward asks for accept acknowledgements.
        assert b"\rMSA|CA|" in answer, "a message is refused"
        seconds.append(time.perf_counter() - due)
    writer.close()
    return seconds


if __name__ == "__main__":
    sys.exit(typer.run(main))
