"""Watch runs in a child process; its parent restarts it.

The parent holds no record and no page.  It reads a heartbeat and the current record
from shared memory, so that neither depends on the child's interpreter.  A record that
has ended the child `MAX_DEATHS` times is skipped from then on, and counted as
unreadable.
"""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from types import FrameType

from streams.engine.exit_status import EX_CONFIG, EX_UNAVAILABLE
from streams.engine.heartbeat import Heartbeat, Phase
from streams.operations.settings import Settings

log = logging.getLogger(__name__)

MAX_DEATHS = 3
HANGING_SECONDS = 45.0
"""A child whose event loop hangs for this long is killed."""
DRAIN_SECONDS = 60.0
MAX_BACK_OFF = 30.0
LONG_LIFE = 60.0
_NONE = -1


@dataclass(frozen=True, slots=True, order=True)
class RecordPosition:
    """The position of a record in Kafka."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class CurrentRecord:
    """The position of the record being processed, in shared memory.

    Args:
        context: Starts the child process.
        topics: The topics of the records.
    """

    def __init__(self, context: SpawnContext, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._shared = context.RawArray(ctypes.c_int64, 3)
        self.skipped: frozenset[RecordPosition] = frozenset()
        self.clear()

    @contextmanager
    def set(self, position: RecordPosition) -> Iterator[None]:
        """Name a record as the current one within the block."""
        self._shared[1] = position.partition
        self._shared[2] = position.offset
        self._shared[0] = self._topics.index(position.topic)
        yield
        # Not in a finally clause: an exception may end the process as well.
        self.clear()

    def clear(self) -> None:
        """Forget the current record."""
        self._shared[0] = _NONE

    def get(self) -> RecordPosition | None:
        """Return the current record's position."""
        topic, partition, offset = self._shared
        if topic == _NONE:
            return None
        return RecordPosition(self._topics[topic], partition, offset)


Target = Callable[[Heartbeat, CurrentRecord, int], None]


def max_silence(settings: Settings, phase: Phase) -> float:
    """Return the seconds without a heartbeat after which the child is killed."""
    limit = settings.silence(phase)
    return limit if phase is Phase.STARTING else min(HANGING_SECONDS, limit)


class ProcessGuard:
    """Keep one child process running.

    Args:
        target: Runs in the child, with the heartbeat, the current record and the
            parent's id.
        topics: The topics that the child reads.
        limits: Seconds without a heartbeat after which it is killed, by phase.
    """

    def __init__(
        self, target: Target, topics: tuple[str, ...], limits: Callable[[Phase], float]
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._target = target
        self._limits = limits
        self._heartbeat = Heartbeat(self._context)
        self._current = CurrentRecord(self._context, topics)
        self._deaths: Counter[RecordPosition] = Counter()
        self._is_stopping = False

    def run(self) -> int:
        """Run until SIGTERM or SIGINT; return the exit status."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        failures = 0
        while True:
            began = time.monotonic()
            status = self._run_child()
            if self._is_stopping or status in (0, EX_CONFIG, EX_UNAVAILABLE):
                return abs(status)
            self._count_death()
            is_long = time.monotonic() - began > LONG_LIFE
            failures = 1 if is_long else failures + 1
            delay = min(MAX_BACK_OFF, 0.5 * 2.0**failures)
            log.warning("watch ended (%d); restarting in %.0f s", status, delay)
            self._pause(delay)
            if self._is_stopping:
                return 0

    def _run_child(self) -> int:
        self._heartbeat.begin()
        self._current.clear()
        process = self._context.Process(
            target=self._target, args=(self._heartbeat, self._current, os.getpid())
        )
        process.start()
        while process.exitcode is None and not self._is_stopping:
            process.join(0.2)
            self._kill_if_silent(process)
        return self._drained(process)

    def _kill_if_silent(self, process: SpawnProcess) -> None:
        silent = self._heartbeat.silent()
        if process.exitcode is None and silent > self._limits(self._heartbeat.phase):
            log.critical("watch has sent no heartbeat for %.0f s: killed", silent)
            process.kill()
            process.join()

    def _drained(self, process: SpawnProcess) -> int:
        if process.exitcode is None:
            process.terminate()
            process.join(DRAIN_SECONDS)
        if process.exitcode is None:
            log.error("watch did not stop: killed")
            process.kill()
            process.join()
        return process.exitcode or 0

    def _count_death(self) -> None:
        position = self._current.get()
        if position is None:
            return
        self._deaths[position] += 1
        if self._deaths[position] >= MAX_DEATHS:
            log.error("%s ended watch %d times: skipped", position, MAX_DEATHS)
            self._current.skipped |= {position}

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._is_stopping and time.monotonic() < deadline:
            time.sleep(0.1)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_stopping = True
