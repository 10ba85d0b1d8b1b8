"""A TCP proxy on loopback that is slow, cuts connections, or loses answers."""

from __future__ import annotations

import asyncio
import struct
import threading
from contextlib import suppress

END_TXN = 26
"""Kafka's number of the request that commits or aborts a transaction."""
HEADER = struct.Struct(">hhi")


class Proxy:
    """Forwards connections to a broker, frame by frame.

    Args:
        port: To listen on.
        target: The broker's port.

    Attributes:
        delay: Seconds that each frame waits.
        is_cut: New connections are refused, and those that exist are closed.
        is_silent: Nothing is forwarded, and nothing is closed.
        to_lose: How many further answers to EndTxn are lost with their connection.
        lost: How many were.
        hit: How many connections and frames were cut, delayed or held.
    """

    def __init__(self, port, target):
        self.port, self._target = port, target
        self.delay = 0.0
        self.is_cut = self.is_silent = False
        self.to_lose = self.lost = self.hit = 0
        self._writers = set()
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)

    def cut(self):
        """Close all connections, and refuse new ones."""
        self.is_cut = True
        self._loop.call_soon_threadsafe(self._close_all)

    def silence(self):
        """Forward nothing more; connections stay open."""
        self.is_silent = True

    def mend(self):
        """Be a good network again; what was silenced in between is closed."""
        was_silent, self.is_cut, self.is_silent = self.is_silent, False, False
        self.delay = 0.0
        if was_silent:
            self._loop.call_soon_threadsafe(self._close_all)

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self, started):
        asyncio.set_event_loop(self._loop)
        serving = asyncio.start_server(self._serve, "127.0.0.1", self.port)
        server = self._loop.run_until_complete(serving)
        started.set()
        self._loop.run_forever()
        server.close()
        self._close_all()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    def _close_all(self):
        self.hit += len(self._writers)
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader, writer):
        if self.is_cut:
            writer.transport.abort()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection(
                "127.0.0.1", self._target
            )
        except OSError:
            writer.transport.abort()
            return
        both = {writer, up_writer}
        self._writers |= both
        doomed: set[int] = set()
        ways = [
            asyncio.create_task(self._requests(reader, up_writer, doomed)),
            asyncio.create_task(self._answers(up_reader, writer, doomed)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in ways:
            each.cancel()
        self._writers -= both
        for each in both:
            each.transport.abort()

    async def _requests(self, reader, writer, doomed):
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await self._frame(reader)
                key, _version, number = HEADER.unpack_from(frame, 4)
                if key == END_TXN and self.to_lose:
                    self.to_lose -= 1
                    doomed.add(number)
                await self._forward(frame, writer)

    async def _answers(self, reader, writer, doomed):
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await self._frame(reader)
                [number] = struct.unpack_from(">i", frame, 4)
                if number in doomed:
                    self.lost += 1
                    return
                await self._forward(frame, writer)

    async def _frame(self, reader):
        size = await reader.readexactly(4)
        return size + await reader.readexactly(int.from_bytes(size, "big"))

    async def _forward(self, frame, writer):
        self.hit += self.is_silent or bool(self.delay)
        if self.delay:
            await asyncio.sleep(self.delay)
        while self.is_silent:
            await asyncio.sleep(0.05)
        writer.write(frame)
        await writer.drain()
