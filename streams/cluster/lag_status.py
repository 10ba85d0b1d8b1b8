"""How a partition fares, judged as LinkedIn's Burrow does: by its way, not a threshold.

Source: Burrow, "Consumer Lag Evaluation Rules", with two changes.  Burrow looks at the
commits themselves; what is seen here is the committed offset, again and again, and a
worker whose offsets ride in transactions never commits without moving on.  So a
partition that stands still has stopped when its whole group has, and is stalled when
the group commits elsewhere.  And the lag of an interval is the smallest seen in it:
batches make a saw of it, whose teeth are no sign.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

WINDOW = 60.0
"""Seconds over which a partition is judged; longer than any transaction may last."""
INTERVALS = 10
"""Parts of a window, as in Burrow."""


class LagState(StrEnum):
    """What the lag of a partition means, from good to bad."""

    OK = "OK"
    WARN = "WARN"
    """It moves on, but falls further behind."""
    STALL = "STALL"
    """It stands still with records to process, while its group commits elsewhere."""
    STOP = "STOP"
    """The group has committed nothing for a window, with records to process."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One interval: what was committed at its end, and the smallest lag within."""

    at: float
    committed: int
    records: int


class History:
    """The last window of observations of one partition."""

    def __init__(self, window: float = WINDOW) -> None:
        self._interval = window / INTERVALS
        # One more: ten intervals lie between eleven observations.
        self._observations: deque[Observation] = deque(maxlen=INTERVALS + 1)
        self._begun_at = 0.0

    def add(self, at: float, committed: int, records: int) -> None:
        """Take in an observation; those of one interval become one."""
        is_new = not self._observations or at - self._begun_at >= self._interval
        if is_new:
            self._begun_at = at
        else:
            records = min(records, self._observations.pop().records)
        self._observations.append(Observation(at, committed, records))

    def window(self) -> Sequence[Observation]:
        """Return the window's observations; nothing until one is full."""
        is_full = len(self._observations) == self._observations.maxlen
        return tuple(self._observations) if is_full else ()


def has_moved(window: Sequence[Observation]) -> bool:
    """Return whether anything was committed within the window, forward or back."""
    return len({each.committed for each in window}) > 1


def judge(window: Sequence[Observation], *, group_moves: bool) -> LagState:
    """Return the state of a partition.

    Args:
        window: Its observations, oldest first; none yet is OK.
        group_moves: Whether any partition of its group has moved within the window.
    """
    lags = [each.records for each in window]
    if not lags or min(lags) == 0:
        return LagState.OK
    if not has_moved(window):
        return LagState.STALL if group_moves else LagState.STOP
    never_shrinks = all(a <= b for a, b in pairwise(lags))
    return LagState.WARN if never_shrinks and lags[0] < lags[-1] else LagState.OK
