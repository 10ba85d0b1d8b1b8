"""The lag of all groups, read again and again on a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import StreamError
from ..lag import LagMonitor, LagState, PartitionLag
from ..settings import Settings
from ..topics import HL7_RAW, NOTES
from .app import READ, group_of

log = logging.getLogger(__name__)

PERIOD = 1.0
RATE_SECONDS = 10.0
ORDER = tuple(LagState)


def watched(settings: Settings) -> list[tuple[str, str]]:
    """Return each group and the topic it reads."""
    group = settings.group
    stages = [(f"{group}-intake", HL7_RAW.name), (f"{group}-scrub", NOTES.name)]
    return stages + [(group_of(settings), topic) for topic in READ]


class Lags:
    """The last readings; `start` begins, `stop` ends.

    Args:
        settings: Where the cluster is.
        observe: Told of every reading, e.g. to fill gauges.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        settings: Settings,
        observe: Callable[[list[PartitionLag]], None],
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._observe = observe
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lags", daemon=True)
        self._latest: tuple[float, list[PartitionLag]] | None = None
        self._ends: deque[tuple[float, int]] = deque(maxlen=30)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End; a question under way is waited for, within reason."""
        self._stopping.set()
        self._thread.join(5)

    def latest(self) -> Sequence[PartitionLag]:
        """Return the last reading; nothing before the first."""
        return self._latest[1] if self._latest else ()

    def json(self) -> dict[str, Any]:
        """Return the last reading, when it was, and the worst state."""
        if self._latest is None:
            return {"at": None, "worst": None, "partitions": []}
        at, lags = self._latest
        worst = max((lag.state for lag in lags), key=ORDER.index, default=LagState.OK)
        return {"at": at, "worst": worst.value, "partitions": [_row(x) for x in lags]}

    def arriving(self) -> float | None:
        """Return records a second that come into hl7.raw, over the last ten seconds."""
        ends = list(self._ends)
        if len(ends) < 2:
            return None
        last_at, last = ends[-1]
        recent = [(at, end) for at, end in ends if last_at - at <= RATE_SECONDS]
        first_at, first = recent[0]
        return None if first_at == last_at else (last - first) / (last_at - first_at)

    def has_stopped(self, group: str) -> bool:
        """Return whether a group commits nothing with records to process."""
        bad = (LagState.STOP, LagState.STALL)
        return any(lag.group == group and lag.state in bad for lag in self.latest())

    def _run(self) -> None:
        monitor: LagMonitor | None = None
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                monitor = monitor or LagMonitor(
                    self._settings, watched(self._settings), self._clock
                )
                self._take(monitor.read())
            except StreamError as error:
                log.warning("lag: %s", error)
            self._stopping.wait(max(0.1, PERIOD - (time.monotonic() - begun)))
        if monitor is not None:
            monitor.close()

    def _take(self, lags: list[PartitionLag]) -> None:
        now = self._clock()
        self._latest = (now, lags)
        ends = sum(lag.stable for lag in lags if lag.topic == HL7_RAW.name)
        self._ends.append((now, ends))
        self._observe(lags)


def _row(lag: PartitionLag) -> dict[str, Any]:
    return {
        "group": lag.group,
        "topic": lag.topic,
        "partition": lag.partition,
        "committed": lag.committed,
        "stable": lag.stable,
        "records": lag.records,
        "seconds": None if lag.seconds is None else round(lag.seconds, 1),
        "state": lag.state.value,
    }
