"""Frames of the Minimal Lower Layer Protocol, read within limits of size and time.

A frame is a start block (VT), one message, and an end block (FS CR).

python-hl7's `MLLPStreamReader` is not used: it has one time limit for both an idle
connection and a half-sent frame; it takes garbage before a start block, and the message
behind it, as one invalid block, so that the message gets no answer; after a frame that
is too large it reads the rest of it as a new one; and 1,000 connections may each hold
twice the limit.  The tests use its client against this reader.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum

from streams.formats.hl7.framing import END_BLOCK, START_BLOCK

START = START_BLOCK.encode()
END = END_BLOCK.encode() + b"\r"
CHUNK_BYTES = 64 * 1024
SMALL_BYTES = 64 * 1024
"""A larger frame needs one of a few slots."""
MAX_GARBAGE_BYTES = 64 * 1024


class Closed(StrEnum):
    """Why a connection is closed: a closed set, also used as a metric's label."""

    BY_SENDER = "by_sender"
    BROKEN_OFF = "broken_off"  # within a frame
    IDLE = "idle"
    FRAME_TIME = "frame_time"
    GARBAGE = "garbage"
    HANDSHAKE = "handshake"  # TLS was not agreed, or not in time
    UNREAD = "unread"  # the sender does not read its answers
    STOPPED = "stopped"
    BUG = "bug"


FAULTS = frozenset(Closed) - {Closed.BY_SENDER, Closed.IDLE, Closed.STOPPED, Closed.BUG}
"""What the sender should be told of by a person."""


class ConnectionEnd(Exception):
    """No further frame comes from a connection.

    Args:
        reason: Why.
    """

    def __init__(self, reason: Closed) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of size and time of a connection.

    Args:
        max_bytes: Of a message.
        idle_seconds: Without a start block.
        frame_seconds: From the start block to the end block, without the time that a
            large frame waits for a slot.
    """

    max_bytes: int
    idle_seconds: float
    frame_seconds: float


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes between a start block and an end block.

    Args:
        content: A message; or the beginning of one that is too large.
        is_whole: Whether it was within the limit.
        slot: Frees the slot of a large frame; to be closed when it is answered.
    """

    content: bytes = field(repr=False)
    is_whole: bool
    slot: ExitStack = field(repr=False)


class FrameReader:
    """Reads the frames of a connection.

    Args:
        stream: Of the connection.
        limits: Of size and time.
        slots: Shared by all connections: so many frames may be large at a time.  Others
            wait, and their senders with them.
        clock: Monotonic seconds.
        noise: Called where bytes before a frame are dropped.
    """

    def __init__(
        self,
        stream: asyncio.StreamReader,
        limits: ConnectionLimits,
        slots: asyncio.Semaphore,
        clock: Callable[[], float],
        noise: Callable[[], None] = lambda: None,
    ) -> None:
        self._noise = noise
        self._stream = stream
        self._limits = limits
        self._slots = slots
        self._clock = clock
        self._buffer = bytearray()
        self._skips = False

    async def next(self) -> Frame:
        """Return the next frame.

        A frame that passes the limit is returned at once; its rest is skipped when the
        next one is read.

        Raises:
            ConnectionEnd: There is none.
        """
        if self._skips:
            await self._skip()
        await self._start()
        return await self._content()

    async def _start(self) -> None:
        """Drop everything up to the next start block."""
        deadline = self._clock() + self._limits.idle_seconds
        garbage = 0
        while (at := self._buffer.find(START)) < 0:
            # Line ends between frames are usual.
            dropped = len(self._buffer.strip(b"\r\n"))
            if dropped and not garbage:
                self._noise()
            garbage += dropped
            if garbage > MAX_GARBAGE_BYTES:
                raise ConnectionEnd(Closed.GARBAGE)
            self._buffer.clear()
            await self._read(deadline, Closed.IDLE, Closed.BY_SENDER)
        del self._buffer[: at + 1]

    async def _content(self) -> Frame:
        deadline = self._clock() + self._limits.frame_seconds
        searched = 0
        with ExitStack() as stack:
            is_large = False
            while (at := self._buffer.find(END, searched)) < 0:
                if len(self._buffer) > self._limits.max_bytes + 1:
                    break
                if not is_large and len(self._buffer) > SMALL_BYTES:
                    waits_since = self._clock()
                    await self._slots.acquire()
                    stack.callback(self._slots.release)
                    deadline += self._clock() - waits_since
                    is_large = True
                searched = max(0, len(self._buffer) - 1)
                await self._read(deadline, Closed.FRAME_TIME, Closed.BROKEN_OFF)
            if 0 <= at <= self._limits.max_bytes:
                content = bytes(memoryview(self._buffer)[:at])
                del self._buffer[: at + len(END)]
                return Frame(content, is_whole=True, slot=stack.pop_all())
            # The header is enough for an answer; the end may have arrived already.
            content = bytes(memoryview(self._buffer)[:SMALL_BYTES])
            del self._buffer[: max(0, at if at >= 0 else len(self._buffer) - 1)]
            self._skips = True
            return Frame(content, is_whole=False, slot=stack.pop_all())

    async def _skip(self) -> None:
        """Drop the rest of a frame that is too large, without keeping it."""
        deadline = self._clock() + self._limits.frame_seconds
        while (at := self._buffer.find(END)) < 0:
            del self._buffer[: max(0, len(self._buffer) - 1)]
            await self._read(deadline, Closed.FRAME_TIME, Closed.BROKEN_OFF)
        del self._buffer[: at + len(END)]
        self._skips = False

    async def _read(self, deadline: float, late: Closed, ended: Closed) -> None:
        try:
            async with asyncio.timeout(max(0, deadline - self._clock())):
                chunk = await self._stream.read(CHUNK_BYTES)
        except TimeoutError:
            raise ConnectionEnd(late) from None
        except OSError:
            raise ConnectionEnd(ended) from None
        if not chunk:
            raise ConnectionEnd(ended)
        self._buffer += chunk
