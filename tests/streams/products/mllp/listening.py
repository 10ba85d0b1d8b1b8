"""A listener on a free port, a stub in place of Kafka, and senders."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import hl7
from hl7.mllp import open_hl7_connection
from prometheus_client import CollectorRegistry

from streams.products.mllp.frames import END, START
from streams.products.mllp.listener import Listener
from streams.products.mllp.metrics import ListenerMetrics
from streams.products.mllp.settings import MllpSettings

TEXT = "MSH|^~\\&|LAB|NORTH|PHI|STREAM|1||ORU^R01|{}|P|2.5.1\rPID|1||ZZMARKER\r{}"


def message(identifier="1", rest=""):
    return TEXT.format(identifier, rest).encode()


def framed(value):
    return START + value + END


class Stub:
    """Stores messages as Kafka would, when it is told to."""

    def __init__(self):
        self.stored = []
        self.refusal = None
        self.answers = True
        self.waiting = []

    async def __call__(self, key, value):
        self.stored.append((key, value))
        answer = asyncio.get_running_loop().create_future()
        if self.answers:
            answer.set_result(self.refusal)
        else:
            self.waiting.append(answer)
        return answer


@asynccontextmanager
async def listening(publish=None, tls=None, **settings):
    """Run a listener; yield its port, stub, and metrics by name."""
    registry = CollectorRegistry()
    publish = publish or Stub()
    listener = Listener(
        MllpSettings.model_validate({"port": 0, **settings}),
        publish,
        ListenerMetrics(registry),
        tls,
        lambda: datetime.now(UTC),
    )
    port = await listener.start()

    def count(name, **labels):
        return registry.get_sample_value(f"phistream_mllp_{name}", labels)

    try:
        yield SimpleNamespace(
            port=port, publish=publish, count=count, listener=listener
        )
    finally:
        await listener.stop()
        assert 0 == count("connections") == count("in_flight_messages")


@asynccontextmanager
async def connected(port, tls=None, **more):
    """Connect by asyncio's own streams."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls, limit=2**24, **more
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def send_by_hl7(port, value):
    """Send a message by python-hl7's own client; return the answer."""
    reader, writer = await open_hl7_connection(
        "127.0.0.1", port, encoding="utf-8", limit=2**20
    )
    writer.writeblock(value)
    answer = await asyncio.wait_for(reader.readmessage(), 10)
    writer.close()
    return answer


async def answers(reader, count=1):
    """Return the acknowledged codes and identifiers of the next answers."""
    found = []
    for _ in range(count):
        frame = await asyncio.wait_for(reader.readuntil(END), 20)
        assert frame.startswith(START)
        msa = hl7.parse(frame[1:-2].decode())["MSA"][0]
        found.append((str(msa[1]), str(msa[2])))
    return found


async def ended(reader):
    """Wait until the listener closes the connection; return what came before."""
    try:
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return b""


async def until(condition):
    """Wait for a condition."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)
