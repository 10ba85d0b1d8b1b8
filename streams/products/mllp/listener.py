"""The listener: connections, their messages, and the answers.

The messages of a connection are published in their order, and answered in it; up to
`max_in_flight` of them wait for Kafka at a time.  Memory is bounded: a connection holds
little more than `SMALL_BYTES`, and few frames at a time may be larger.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, ip_address

from streams.engine.character_sets import UTF_8
from streams.engine.errors import ConfigError, InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.hl7.acknowledgement import (
    Header,
    Refusal,
    Sender,
    Verdict,
    acknowledgement,
    code_for,
)

from .frames import (
    CHUNK_BYTES,
    END,
    FAULTS,
    START,
    Closed,
    ConnectionEnd,
    ConnectionLimits,
    Frame,
    FrameReader,
)
from .metrics import ListenerMetrics, Unwelcome
from .publisher import Publish, Stored
from .settings import MllpSettings
from .troubles import Troubles

log = logging.getLogger(__name__)

LARGE_FRAMES_BYTES = 64 * 1024 * 1024
"""Memory for large frames that arrive or wait for Kafka."""
UNSENT_BYTES = 16 * 1024
"""Answers that a sender has not read, beyond which no more are written."""
HANDSHAKE_SECONDS = 10.0
CLOSE_SECONDS = 2.0
BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Pending:
    """A message that is not answered yet.

    Args:
        header: None if it can't be read.
        stored: Its outcome.
        since: When it was whole, by the loop's clock.
        ends: To be closed when it is answered, or its connection ends.
    """

    header: Header | None
    stored: Stored
    since: float
    ends: ExitStack


class Listener:
    """Accepts connections of the allowed senders.

    Args:
        settings: Of the listener.
        publish: Publishes a message.
        metrics: Counts.
        tls: The server's side of TLS; None for none.
        now: Returns the time for the answers.
        charset: The codec of messages that name none, and are not UTF-8.
    """

    def __init__(
        self,
        settings: MllpSettings,
        publish: Publish,
        metrics: ListenerMetrics,
        tls: ssl.SSLContext | None,
        now: Callable[[], datetime],
        charset: str = UTF_8,
    ) -> None:
        self.settings = settings
        self.charset = charset
        self.publish = publish
        self.metrics = metrics
        self.now = now
        self.senders = frozenset(map(_sender, settings.senders))
        self.slots = asyncio.Semaphore(max(1, LARGE_FRAMES_BYTES // settings.max_bytes))
        self.tls = tls
        self._server: asyncio.Server | None = None
        self._connections: dict[Connection, asyncio.Task[None]] = {}
        self.troubles = Troubles(time.monotonic)
        self._is_stopping = False

    async def start(self) -> int:
        """Listen; return the port.

        Raises:
            ConfigError: The address is not available.
        """
        host, port = self.settings.host, self.settings.port
        try:
            self._server = await asyncio.start_server(
                self._connected,
                host,
                port,
                limit=CHUNK_BYTES // 2,
                backlog=BACKLOG,
            )
        except OSError as error:
            raise ConfigError(
                f"mllp: can't listen on {host}:{port} ({error.strerror}); set "
                "mllp.host and mllp.port to a free address of this host"
            ) from None
        actual: int = self._server.sockets[0].getsockname()[1]
        log.info("MLLP%s on %s:%d", " with TLS" if self.tls else "", host, actual)
        return actual

    async def stop(self) -> None:
        """Accept nothing more, answer what is in flight, and close the connections."""
        self._is_stopping = True
        if self._server is not None:
            self._server.close()
        for connection in [*self._connections]:
            connection.stop()
        if tasks := [*self._connections.values()]:
            patience = self.settings.answer_seconds + CLOSE_SECONDS
            _, late = await asyncio.wait(tasks, timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        refusal = self._unwelcome(writer.get_extra_info("peername"))
        if refusal is not None:
            self.metrics.unwelcome(refusal)
            writer.transport.abort()
            return
        host = writer.get_extra_info("peername")[0]
        connection = Connection(self, host, reader, writer)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # for the type checker
        self._connections[connection] = task
        self.metrics.opened()
        reason = Closed.BUG
        try:
            reason = await connection.run()
        except asyncio.CancelledError:
            reason = Closed.STOPPED
        except Exception:
            # A bug ends its connection and no other; nothing of it is acknowledged.
            log.exception("a connection ended by a bug")
        finally:
            self.metrics.closed(reason)
            if reason in FAULTS:
                self.troubles.add(host, f"its connection is closed: {reason}")
            del self._connections[connection]

    def _unwelcome(self, peer: tuple[str, int] | None) -> Unwelcome | None:
        if self._is_stopping or peer is None:
            return Unwelcome.TOO_MANY
        if not self._is_allowed(peer[0]):
            self.troubles.add(peer[0], "not in mllp.allow; its connection is closed")
            return Unwelcome.ADDRESS
        if len(self._connections) >= self.settings.max_connections:
            self.troubles.add(
                peer[0], "mllp.max_connections is reached; its connection is closed"
            )
            return Unwelcome.TOO_MANY
        return None

    def _is_allowed(self, host: str) -> bool:
        address = ip_address(host.partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self.settings.allow)


class Connection:
    """One connection: a task takes messages, and another answers them.

    Args:
        listener: What all connections share.
        host: The address of the sender.
        reader: Of the connection.
        writer: Of the connection.
    """

    def __init__(
        self,
        listener: Listener,
        host: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        settings = listener.settings
        self._listener = listener
        self._host = host
        self._settings = settings
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        limits = ConnectionLimits(
            settings.max_bytes, settings.idle_seconds, settings.frame_seconds
        )
        self._frames = FrameReader(
            reader,
            limits,
            listener.slots,
            self._loop.time,
            lambda: self._trouble("bytes outside of a frame are dropped"),
        )
        self._places = asyncio.Semaphore(settings.max_in_flight)
        self._pending: asyncio.Queue[Pending | None] = asyncio.Queue()
        self._taking: asyncio.Task[Closed] | None = None
        self._is_stopping = self._is_reading = False

    async def run(self) -> Closed:
        """Take and answer messages; return why the connection has ended."""
        if (tls := self._listener.tls) is not None:
            # Here and not in the server, which has no limit of unfinished handshakes.
            below = self._writer.transport
            try:
                await self._writer.start_tls(
                    tls, ssl_handshake_timeout=HANDSHAKE_SECONDS
                )
            except OSError:
                self._writer.transport.abort()
                return Closed.HANDSHAKE
            # Data that comes before `start_tls` returns may pause the transport below;
            # from Python 3.14 on, the stream resumes only the one above.
            if isinstance(below, asyncio.ReadTransport):
                below.resume_reading()
        self._writer.transport.set_write_buffer_limits(high=UNSENT_BYTES)
        self._taking = asyncio.create_task(self._take_all())
        try:
            cut = await self._answer_all()
            if cut is None:
                return await self._taking
            self._writer.transport.abort()
            return cut
        finally:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
            self._abandon()
            await self._close()

    def stop(self) -> None:
        """Read no further message; those that were read are answered."""
        self._is_stopping = True
        if self._is_reading and self._taking is not None:
            self._taking.cancel()

    async def _take_all(self) -> Closed:
        """Publish the messages in their order, until no more come."""
        try:
            while True:
                await self._places.acquire()
                await self._take(await self._next_frame())
        except ConnectionEnd as end:
            return end.reason
        finally:
            self._pending.put_nowait(None)

    async def _next_frame(self) -> Frame:
        if self._is_stopping:
            raise ConnectionEnd(Closed.STOPPED)
        self._is_reading = True
        try:
            return await self._frames.next()
        except asyncio.CancelledError:
            if self._is_stopping:
                raise ConnectionEnd(Closed.STOPPED) from None
            raise
        finally:
            self._is_reading = False

    async def _take(self, frame: Frame) -> None:
        since = self._loop.time()
        self._listener.metrics.received()
        with ExitStack() as stack:
            stack.push(frame.slot)
            stack.callback(self._listener.metrics.left)
            header, refusal = self._judge(frame)
            if header is None or refusal is not None or header.is_acknowledgement:
                stored = self._settled(refusal)
            else:
                stored = await self._published(header.key, frame.content)
            self._pending.put_nowait(Pending(header, stored, since, stack.pop_all()))

    def _judge(self, frame: Frame) -> tuple[Header | None, Refusal | None]:
        """Return a message's header if it can be read, and why it is refused, if so."""
        try:
            header = Header.of(frame.content, self._listener.charset)
        except InvalidRecord as error:
            is_undecodable = error.code is ReasonCode.UNDECODABLE
            return None, Refusal.UNDECODABLE if is_undecodable else Refusal.BAD_MSH
        senders = self._listener.senders
        if senders and header.sender not in senders:
            return header, Refusal.UNKNOWN_SENDER
        if not frame.is_whole:
            return header, Refusal.TOO_LARGE
        # The sender broke a message off and sent another one.
        return header, Refusal.BAD_FRAME if START in frame.content else None

    async def _published(self, key: bytes, message: bytes) -> Stored:
        try:
            async with asyncio.timeout(self._settings.answer_seconds):
                return await self._listener.publish(key, message)
        except TimeoutError:
            return self._settled(Refusal.NOT_STORED)

    async def _answer_all(self) -> Closed | None:
        """Answer the messages in their order; return why not all of them, if so."""
        while (pending := await self._pending.get()) is not None:
            with pending.ends:
                refusal = await self._outcome(pending)
                verdict = refusal.verdict if refusal else Verdict.ACCEPTED
                code = code_for(pending.header, verdict)
                seconds = self._loop.time() - pending.since
                # First: whoever has the answer finds it counted.
                self._listener.metrics.answered(code, refusal, seconds)
                if refusal is not None:
                    self._trouble(f"message refused: {refusal}")
                if code is not None:
                    self._answer(pending.header, code, refusal)
            try:
                # Until the sender has read most of its answers.
                async with asyncio.timeout(self._settings.frame_seconds):
                    await self._writer.drain()
            except TimeoutError:
                return Closed.UNREAD
            except OSError:
                return Closed.BY_SENDER
            self._places.release()
        return None

    def _trouble(self, what: str) -> None:
        self._listener.troubles.add(self._host, what)

    async def _outcome(self, pending: Pending) -> Refusal | None:
        deadline = pending.since + self._settings.answer_seconds
        try:
            async with asyncio.timeout_at(deadline):
                return await pending.stored
        except TimeoutError:
            return Refusal.NOT_STORED

    def _answer(
        self, header: Header | None, code: str, refusal: Refusal | None
    ) -> None:
        answer = acknowledgement(header, code, refusal, self._listener.now())
        self._writer.write(START + answer + END)

    def _settled(self, refusal: Refusal | None) -> Stored:
        stored: Stored = self._loop.create_future()
        stored.set_result(refusal)
        return stored

    def _abandon(self) -> None:
        while not self._pending.empty():
            pending = self._pending.get_nowait()
            if pending is not None:
                pending.ends.close()

    async def _close(self) -> None:
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            self._writer.transport.abort()


def _sender(text: str) -> Sender:
    application, facility = ([*each.split("^"), ""][:2] for each in text.split("|", 1))
    return Sender((application[0], application[1]), (facility[0], facility[1]))
