"""How a process shows from outside that it is alive, without the interpreter's lock.

A worker writes the moment of its last beat into shared memory.  Its supervisor reads
it and kills; a thread of Python inside the worker could not, because a pattern that
backtracks in C or a compiled kernel may hold the interpreter's lock for ever.

`Backstop` is for the time when the supervisor itself is gone or stopped: a thread in C
(`faulthandler`) that ends the process unless it is put off in time.
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
"""The backstop is put off at most this often in its time: each costs a thread."""


class Phase(IntEnum):
    """What a worker is at; each phase has its own limit of silence."""

    STARTING = 0
    RUNNING = 1


class Heartbeat:
    """The moment of the last beat and the phase, in memory that two processes share.

    Args:
        context: Starts the process that this is handed to.
    """

    def __init__(self, context: SpawnContext) -> None:
        # Doubles written and read as a whole on every platform that Python runs on.
        self._shared = context.RawArray(ctypes.c_double, 2)
        self.begin()

    def begin(self) -> None:
        """Count from now on, for a process that starts."""
        self._shared[1] = float(Phase.STARTING)
        self._shared[0] = time.monotonic()

    def beat(self) -> None:
        """Say that the loop is alive."""
        self._shared[0] = time.monotonic()

    def enter(self, phase: Phase) -> None:
        """Say what the worker is at from now on."""
        self._shared[0] = time.monotonic()
        self._shared[1] = float(phase)

    @property
    def phase(self) -> Phase:
        """What the worker is at."""
        return Phase(int(self._shared[1]))

    def silent(self) -> float:
        """Return the seconds since the last beat."""
        return time.monotonic() - self._shared[0]


class Backstop:
    """Ends this process from a thread in C, unless it is put off in time.

    The status is 1; the places where the threads stood go to standard error, which
    shows files and lines, and no values.

    Args:
        clock: Seconds that never jump.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._armed_at = self._seconds = 0.0
        self._is_final = False

    def put_off(self, seconds: float) -> None:
        """Let the process live for ``seconds`` more, or a little less."""
        now = self._clock()
        is_due = now - self._armed_at >= seconds / REARM or seconds != self._seconds
        if is_due and not self._is_final:
            self._armed_at, self._seconds = now, seconds
            faulthandler.dump_traceback_later(seconds, exit=True)

    def end_within(self, seconds: float) -> None:
        """End the process then, however often it is put off after this."""
        if not self._is_final:
            self._is_final = True
            faulthandler.dump_traceback_later(seconds, exit=True)

    def stop(self) -> None:
        """Let the process live, unless its end is settled."""
        if not self._is_final:
            faulthandler.cancel_dump_traceback_later()


class Pulse:
    """What a worker does to be seen alive: both of the above.

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
        self.backstop.put_off(self._limits(phase))

    def beat(self) -> None:
        """Say that the loop is alive."""
        self._heartbeat.beat()
        self.backstop.put_off(self._limits(self._phase))

    def silent(self) -> float:
        """Return the seconds since the last beat."""
        return self._heartbeat.silent()


class Parent:
    """The process that started this one, and must not be outlived.

    Args:
        pid: Its id, told by itself: whoever asks ``getppid`` may ask too late.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def bind(self, number: signal.Signals) -> None:
        """Have the kernel send a signal when the parent ends; where it can (Linux)."""
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
        except (OSError, AttributeError):
            return  # what is left is to ask at each turn

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return os.getppid() != self._pid
