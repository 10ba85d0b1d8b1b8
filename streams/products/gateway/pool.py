"""The workers, as the HTTP process sees them: each has one request at a time."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from streams.engine.exit_status import EX_SOFTWARE
from streams.engine.reasons import ReasonCode
from streams.operations.settings import Settings

from .settings import GatewaySettings
from .tasks import SIZES, Answer, Code, Refused, Task
from .worker import FORK, PID_BYTES, READY, overrun, tend

log = logging.getLogger(__name__)

FORK_SECONDS = 30.0
"""A fork that takes longer is given up."""
AGAIN_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Worker:
    """The connection to a worker.

    Args:
        reader: Of its answers.
        writer: Of its requests.
        process: A descriptor of its process, whose number may be another's later.
    """

    reader: asyncio.StreamReader = field(repr=False)
    writer: asyncio.StreamWriter = field(repr=False)
    process: int

    async def ask(self, task: Task) -> Answer:
        self.writer.write(task.encoded())
        await self.writer.drain()
        head, body = SIZES.unpack(await self.reader.readexactly(SIZES.size))
        return Answer.decoded(
            await self.reader.readexactly(head), await self.reader.readexactly(body)
        )

    def end(self) -> None:
        """Kill the process, if it is still there, and forget it."""
        try:
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        except ProcessLookupError:
            log.debug("a worker had ended")
        os.close(self.process)
        self.writer.close()


class Pool:
    """Starts, limits and replaces workers.

    Args:
        settings: Of the gateway.
        workers: How many there are.
        own_key: Of pseudonyms, where no key is set.
        replaced: Called whenever a worker is lost.
    """

    def __init__(
        self,
        settings: Settings,
        workers: int,
        own_key: bytes,
        replaced: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = GatewaySettings.of(settings)
        self._size = workers
        self._replaced = replaced
        self._free: asyncio.Queue[_Worker] = asyncio.Queue()
        self._all: set[_Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._nursery = multiprocessing.get_context("spawn").Process(
            target=tend,
            args=(settings, own_key, theirs, os.getpid()),
            name="gateway-nursery",
            daemon=True,
        )
        self._nursery.start()
        theirs.close()

    @property
    def is_ready(self) -> bool:
        """True if there is a worker."""
        return bool(self._all)

    async def run(self) -> int:
        """Start the workers, and watch their nursery; return its exit status.

        It ends before `stop` is called only if it can't go on.
        """
        loop = asyncio.get_running_loop()
        if await loop.sock_recv(self._control, 1) == READY:
            await asyncio.gather(*(self._start() for _ in range(self._size)))
            log.info("%d workers are ready", self._size)
            # The nursery sends nothing more: this waits for its end.
            await loop.sock_recv(self._control, 1)
        await asyncio.to_thread(self._nursery.join)
        return self._nursery.exitcode or EX_SOFTWARE

    async def answer(self, task: Task) -> Answer:
        """Return the answer of a worker, or why there is none.

        Raises:
            Refused: No worker became free in time.
        """
        worker = await self._take()
        try:
            async with asyncio.timeout(self._settings.request_seconds):
                answer = await worker.ask(task)
        except TimeoutError:
            self._replace(worker)
            return overrun()
        except (EOFError, ConnectionError):
            self._replace(worker)
            return Answer.of(Refused(ReasonCode.POISON))
        except BaseException:
            # E.g. cancelled: its answer would be that of the next request.
            self._replace(worker)
            raise
        if ReasonCode.DEADLINE in answer.counts.refused:
            self._replace(worker)
        else:
            self._free.put_nowait(worker)
        return answer

    def stop(self) -> None:
        """End all workers and the nursery."""
        self._is_stopping = True
        for each in self._tasks:
            each.cancel()
        for worker in self._all:
            worker.end()
        self._all.clear()
        self._control.close()
        # It may still be loading, and has nothing to finish.
        self._nursery.kill()
        self._nursery.join()

    async def _take(self) -> _Worker:
        try:
            async with asyncio.timeout(self._settings.wait_seconds):
                while True:
                    worker = await self._free.get()
                    if not worker.reader.at_eof():
                        return worker
                    self._replace(worker)
        except TimeoutError:
            raise Refused(
                Code.OVERLOADED, "no worker became free in time; try again"
            ) from None

    def _replace(self, worker: _Worker) -> None:
        if worker in self._all:
            self._all.discard(worker)
            worker.end()
        if self._is_stopping:
            return
        log.warning("a worker of the gateway was lost, and is replaced")
        self._replaced()
        task = asyncio.get_running_loop().create_task(self._start())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self) -> None:
        """Have a worker forked; try until there is one."""
        while not self._is_stopping:
            try:
                async with asyncio.timeout(FORK_SECONDS):
                    worker = await self._forked()
            except (OSError, EOFError, TimeoutError):
                log.exception("a worker can't be started")
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self._all.add(worker)
                self._free.put_nowait(worker)
                return

    async def _forked(self) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [FORK], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            number = int.from_bytes(await reader.readexactly(PID_BYTES), "big")
            return _Worker(reader, writer, os.pidfd_open(number))
        except BaseException:
            writer.close()
            raise
