"""Limits the CPU time of a call from inside the process.

The interval timer ITIMER_PROF counts the CPU time of the process, so neither a busy
host nor waiting for the broker counts against a record.  The handler of its signal
raises `Overrun` in the main thread.  `Overrun` is not an ``Exception``: a detector that
catches every exception does not catch it.

Python code can be interrupted, and so can patterns of ``re``, even while they
backtrack.  Compiled kernels (numba) and other calls into C that do not return cannot:
the supervisor ends those processes (`heartbeat`).  The state that an interrupted call
was changing is unusable; its owner replaces it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Protocol, TypeVar

T = TypeVar("T")


class Limited(Protocol):
    """Runs calls with a limit of CPU time."""

    def __call__(self, call: Callable[[], T], seconds: float) -> T:
        """Return what the call returns, or raise `Overrun`."""


AGAIN_SECONDS = 0.5
"""Interval of further exceptions, since one raised in a finalizer is swallowed."""


class Overrun(BaseException):
    """The call exceeded its limit of CPU time."""


def without_limit(call: Callable[[], T], seconds: float) -> T:
    """Run a call without a limit."""
    return call()


class Deadline:
    """Limits calls, one at a time, in the main thread; handles SIGPROF."""

    def __init__(self) -> None:
        self._is_armed = False
        signal.signal(signal.SIGPROF, self._raise)

    def __call__(self, call: Callable[[], T], seconds: float) -> T:
        """Return what a call returns.

        Raises:
            Overrun: It took more than ``seconds`` of the process's CPU time.
        """
        try:
            try:
                self._is_armed = True
                signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
                return call()
            finally:
                self._disarm()
        except Overrun:
            # It may have been raised just before the timer was disarmed above; the
            # next one would come AGAIN_SECONDS of work later, long after this.
            self._disarm()
            raise

    def _disarm(self) -> None:
        self._is_armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _raise(self, _signal: int, _frame: FrameType | None) -> None:
        if self._is_armed:
            raise Overrun
