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
import signal
import time
from collections.abc import Callable
from enum import IntEnum
from multiprocessing.context import SpawnContext

PR_SET_PDEATHSIG = 1
ORPHAN_SECONDS = 5.0
"""How long a worker whose supervisor is gone may take to drain."""
REARM = 8
"""The backstop is postponed at most so often in its time: each call costs a thread."""


class Phase(IntEnum):
    """The phase of a worker; each has its own limit of silence."""

    STARTING = 0
    RUNNING = 1


class Heartbeat:
    """The time of the last heartbeat and the phase, in shared memory.

    Args:
        context: Starts the process that receives this object.
    """

    def __init__(self, context: SpawnContext) -> None:
        # Doubles are read and written atomically on every platform of Python.
        self._shared = context.RawArray(ctypes.c_double, 2)
        self.begin()

    def begin(self) -> None:
        """Reset the time, for a process that starts."""
        self._shared[1] = float(Phase.STARTING)
        self._shared[0] = time.monotonic()

    def beat(self) -> None:
        """Record that the loop is alive."""
        self._shared[0] = time.monotonic()

    def enter(self, phase: Phase) -> None:
        """Begin a phase."""
        self._shared[0] = time.monotonic()
        self._shared[1] = float(phase)

    @property
    def phase(self) -> Phase:
        """The worker's phase."""
        return Phase(int(self._shared[1]))

    def silent(self) -> float:
        """Return the seconds since the last heartbeat."""
        return time.monotonic() - self._shared[0]


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
        """Whether it has ended."""
        return os.getppid() != self._pid
