"""Detects a hanging worker without the interpreter's lock.

A worker writes the time of its last heartbeat into shared memory.  The supervisor reads
it and kills a silent worker.  A Python thread inside the worker could not do that: a
backtracking pattern or a compiled kernel may hold the interpreter's lock forever.

`Backstop` covers the case that the supervisor itself is gone or stopped: a thread in C
(`faulthandler`) ends the process unless it is postponed in time.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from multiprocessing.context import BaseContext

from .claim import Life

PR_SET_PDEATHSIG = 1
ORPHAN_SECONDS = 5.0
"""How long a worker whose supervisor is gone may take to drain."""
REARM = 8
"""The backstop is postponed at most so often in its time: each call costs a thread."""
_BEAT, _PHASE, _LIFE, _IS_EXCUSED, _EXCUSED_SINCE = range(5)
_MAX_EXCUSED = 100
"""Processes of a slot before this one that are excused at most."""


class Phase(IntEnum):
    """The phase of a worker; each has its own limit of silence."""

    STARTING = 0
    RUNNING = 1


class Heartbeat:
    """Shared memory of a supervisor and the worker in one slot.

    It holds the time of the last heartbeat, the phase, the number of processes that
    were started in the slot, whether no record can be the cause if this one ends, and
    since which of the processes that has held.

    Args:
        context: Starts the process that receives this object.
    """

    def __init__(self, context: BaseContext) -> None:
        # Doubles are read and written atomically on every platform of Python.
        self._shared = context.RawArray(ctypes.c_double, 5)
        self._slot = secrets.token_hex(4)
        self.begin()

    def begin(self) -> None:
        """Reset the time, for a process that starts; the one before has ended."""
        # A process that was still starting had no partition: who had them before it
        # is excused, or not, as if it had not been.
        if not self.is_excused and self.phase is not Phase.STARTING:
            self._shared[_EXCUSED_SINCE] = self._shared[_LIFE] + 1
        self._shared[_LIFE] += 1
        self._shared[_IS_EXCUSED] = 0.0
        self._shared[_PHASE] = float(Phase.STARTING)
        self._shared[_BEAT] = time.monotonic()

    def beat(self) -> None:
        """Record that the loop is alive."""
        self._shared[_BEAT] = time.monotonic()

    def enter(self, phase: Phase) -> None:
        """Begin a phase."""
        self._shared[_BEAT] = time.monotonic()
        self._shared[_PHASE] = float(phase)

    def excuse(self, is_excused: bool) -> None:
        """Record whether no record can be the cause if the process ends now."""
        self._shared[_IS_EXCUSED] = float(is_excused)

    @property
    def is_excused(self) -> bool:
        """True if no record can be the cause of the process ending now."""
        return bool(self._shared[_IS_EXCUSED])

    @property
    def phase(self) -> Phase:
        """The worker's phase."""
        return Phase(int(self._shared[_PHASE]))

    @property
    def life(self) -> Life:
        """The process that runs now, by name, and those that no record has ended."""
        number = int(self._shared[_LIFE])
        since = max(int(self._shared[_EXCUSED_SINCE]), number - _MAX_EXCUSED)
        names = [f"{self._slot}-{ordinal}" for ordinal in range(since, number + 1)]
        return Life(names[-1], frozenset(names))

    def silent(self) -> float:
        """Return the seconds since the last heartbeat."""
        return time.monotonic() - self._shared[_BEAT]


class Backstop:
    """Ends this process from a thread in C, unless it is postponed in time.

    The exit status is 1; the stacks of all threads go to standard error as files and
    lines, without values.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._armed_at = self._seconds = 0.0
        self._is_final = False

    def postpone(self, seconds: float) -> None:
        """Let the process live for ``seconds`` from now, or a little less."""
        now = self._clock()
        is_due = now - self._armed_at >= seconds / REARM or seconds != self._seconds
        if is_due and not self._is_final:
            self._armed_at, self._seconds = now, seconds
            faulthandler.dump_traceback_later(seconds, exit=True)

    def end_within(self, seconds: float) -> None:
        """End the process after ``seconds``, even if it is postponed after this."""
        if not self._is_final:
            self._is_final = True
            faulthandler.dump_traceback_later(seconds, exit=True)

    def stop(self) -> None:
        """Cancel the end of the process, unless `end_within` has set it."""
        if not self._is_final:
            faulthandler.cancel_dump_traceback_later()


class Pulse:
    """The heartbeat and the backstop of a worker.

    Args:
        heartbeat: Read by the supervisor.
        limits: Seconds of silence after which the backstop ends the process, by phase.
    """

    def __init__(self, heartbeat: Heartbeat, limits: Callable[[Phase], float]) -> None:
        self._heartbeat = heartbeat
        self._limits = limits
        self._phase = Phase.STARTING
        self._is_accused = False
        self.backstop = Backstop()
        self.enter(Phase.STARTING)

    def enter(self, phase: Phase) -> None:
        """Begin a phase."""
        self._phase = phase
        self._heartbeat.enter(phase)
        self.backstop.postpone(self._limits(phase))

    def beat(self) -> None:
        """Record that the loop is alive."""
        self._heartbeat.beat()
        self.backstop.postpone(self._limits(self._phase))

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """End the process if the block takes longer: its call into C hangs.

        The block processes no record, which is therefore not the cause.
        """
        limit = self._limits(self._phase)
        self._heartbeat.beat()
        self.backstop.postpone(min(seconds, limit))
        was_excused = self._heartbeat.is_excused
        self.excuse()
        try:
            yield
        finally:
            self._heartbeat.excuse(was_excused)
            self.backstop.postpone(limit)

    def excuse(self) -> None:
        """Record that no record is the cause if the process ends from now on."""
        self._heartbeat.excuse(not self._is_accused)

    def accuse(self, is_accused: bool) -> None:
        """Record whether the records of the last batch may cause what comes next."""
        self._is_accused = is_accused

    @property
    def life(self) -> Life:
        """The process, by name, and those before it that no record has ended."""
        return self._heartbeat.life

    def silent(self) -> float:
        """Return the seconds since the last heartbeat."""
        return self._heartbeat.silent()

    def limit(self) -> float:
        """Return the seconds of silence after which the worker is taken for dead."""
        return self._limits(self._phase)


class Parent:
    """The process that started this one, which must not outlive it.

    Args:
        pid: Its id, as passed by itself: ``getppid`` may be called too late.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def bind(self, number: signal.Signals) -> None:
        """Have the kernel send a signal when the parent ends (Linux only)."""
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
        except (OSError, AttributeError):
            return  # `is_gone` is still checked at each turn

    @property
    def is_gone(self) -> bool:
        """True if it has ended."""
        return os.getppid() != self._pid
