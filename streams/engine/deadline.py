"""A limit of CPU time on a call, from inside the process: the first line of defence.

The interval timer ITIMER_PROF counts the CPU time of the process, so that neither a
busy host nor waiting for the broker is held against a record.  Its signal's handler
raises in the main thread.  `Overrun` is no ``Exception``: a detector that catches
everything does not catch it.

What can be interrupted is what lets Python look at signals: Python code, and patterns
of ``re``, also while they backtrack.  What cannot: a compiled kernel (numba) and any
other call into C that does not return.  Those the supervisor ends (`heartbeat`).
Nothing may rely on what an interrupted call was changing: its owner builds it anew.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Protocol, TypeVar

T = TypeVar("T")


class Limited(Protocol):
    """Calls with a limit of CPU time."""

    def __call__(self, call: Callable[[], T], seconds: float) -> T:
        """Return what the call returns, or raise `Overrun`."""
        ...


AGAIN_SECONDS = 0.5
"""Raised again after so much CPU time: an exception in a finalizer is swallowed."""


class Overrun(BaseException):
    """The call took more CPU time than it may."""


def without_limit(call: Callable[[], T], seconds: float) -> T:
    """Return what a call returns, however long it takes."""
    return call()


class Deadline:
    """Limits calls; one at a time, in the main thread of a process.

    Takes SIGPROF for itself.
    """

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
            # It may have been raised just before the lines above disarmed the timer;
            # the next comes AGAIN_SECONDS of work later, long after this.
            self._disarm()
            raise

    def _disarm(self) -> None:
        self._is_armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _raise(self, _signal: int, _frame: FrameType | None) -> None:
        if self._is_armed:
            raise Overrun
