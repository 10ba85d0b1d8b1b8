"""Watch in a process of its own, and above it one that starts it again.

The upper process holds no record and no page: it looks at a heartbeat and at the
position in hand, both in shared memory, so that neither needs the lower's interpreter.
A record that has ended the lower process `MOST_DEATHS` times is skipped from then on,
and counted as one that can't be read.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from types import FrameType

from streams.engine.exit_status import EX_CONFIG, EX_UNAVAILABLE
from streams.engine.heartbeat import Heartbeat, Phase
from streams.engine.settings import Settings

from .hand import Hand, Position

log = logging.getLogger(__name__)

MOST_DEATHS = 3
HANGING_SECONDS = 45.0
"""A loop that does not turn for as long, or does not stop, is killed."""
DRAIN_SECONDS = 60.0
MOST_BACK_OFF = 30.0
LONG_LIFE = 60.0

Target = Callable[[Heartbeat, Hand, int], None]


def silence(settings: Settings, phase: Phase) -> float:
    """Return the seconds after which a watch that shows no life is ended."""
    limit = settings.silence(phase)
    return limit if phase is Phase.STARTING else min(HANGING_SECONDS, limit)


class Guard:
    """Keeps one process running.

    Args:
        target: Runs in it, with the heartbeat, the hand and this process's id.
        topics: Those that records in hand may come from.
        limits: Seconds of silence after which it is killed, by phase.
    """

    def __init__(
        self,
        target: Target,
        topics: tuple[str, ...],
        limits: Callable[[Phase], float],
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._target = target
        self._limits = limits
        self._heartbeat = Heartbeat(self._context)
        self._hand = Hand(self._context, topics)
        self._deaths: Counter[Position] = Counter()
        self._is_stopping = False

    def run(self) -> int:
        """Run until SIGTERM or SIGINT; return the exit status."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        failures = 0
        while True:
            begun = time.monotonic()
            status = self._one_life()
            if self._is_stopping or status in (0, EX_CONFIG, EX_UNAVAILABLE):
                return abs(status)
            self._blame()
            is_long = time.monotonic() - begun > LONG_LIFE
            failures = 1 if is_long else failures + 1
            delay = min(MOST_BACK_OFF, 0.5 * 2.0**failures)
            log.warning("watch ended (%d); it begins again in %.0f s", status, delay)
            self._pause(delay)
            if self._is_stopping:
                return 0

    def _one_life(self) -> int:
        self._heartbeat.begin()
        self._hand.empty()
        process = self._context.Process(
            target=self._target, args=(self._heartbeat, self._hand, os.getpid())
        )
        process.start()
        while process.exitcode is None and not self._is_stopping:
            process.join(0.2)
            self._end_if_silent(process)
        return self._drained(process)

    def _end_if_silent(self, process: SpawnProcess) -> None:
        silent = self._heartbeat.silent()
        if process.exitcode is None and silent > self._limits(self._heartbeat.phase):
            log.critical("watch has shown no life for %.0f s: killed", silent)
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

    def _blame(self) -> None:
        held = self._hand.held()
        if held is None:
            return
        self._deaths[held] += 1
        if self._deaths[held] >= MOST_DEATHS:
            log.error("%s ended watch %d times: skipped", held, MOST_DEATHS)
            self._hand.skipped |= {held}

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._is_stopping and time.monotonic() < deadline:
            time.sleep(0.1)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_stopping = True
