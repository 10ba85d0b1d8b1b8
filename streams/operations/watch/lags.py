"""The lag of all groups, read again and again on a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from streams.cluster.lag import LagMonitor, LagState, PartitionLag
from streams.cluster.topics import HL7_RAW, NOTES
from streams.engine.errors import StreamError
from streams.engine.settings import Settings

from .app import READ, group_of
from .windows import HOUR

log = logging.getLogger(__name__)

PERIOD = 1.0
RATE_SECONDS = 10.0
ORDER = tuple(LagState)


STAGES: Mapping[str, str] = {HL7_RAW.name: "intake", NOTES.name: "scrub"}
"""Who reads the topics of the data path."""


def watched(settings: Settings) -> list[tuple[str, str]]:
    """Return each group and the topic it reads."""
    group = settings.group
    stages = [(f"{group}-{stage}", topic) for topic, stage in STAGES.items()]
    return stages + [(group_of(settings), topic) for topic in READ]


def is_own(lag: PartitionLag) -> bool:
    """Return whether it is watch's own lag, for which no note waits."""
    return lag.topic not in STAGES


class Trend:
    """The lag of each stage over the last hour: the most records of each minute."""

    def __init__(self) -> None:
        self._minutes: dict[int, Counter[str]] = {}

    def add(self, at: float, lags: Iterable[PartitionLag]) -> None:
        """Take in a reading."""
        records: Counter[str] = Counter()
        for lag in lags:
            if not is_own(lag):
                records[STAGES[lag.topic]] += lag.records
        start = HOUR.start_of(at)
        # The union of counters takes the larger of two counts.
        self._minutes[start] = self._minutes.get(start, Counter()) | records
        first = HOUR.first_start(at)
        self._minutes = {s: most for s, most in self._minutes.items() if s >= first}

    def json(self, at: float) -> dict[str, Any]:
        """Return a number a minute; None where nothing was read."""
        minutes = self._minutes  # another thread puts a new one in its place
        starts = range(HOUR.first_start(at), HOUR.start_of(at) + 1, HOUR.width)
        return {
            "starts": list(starts),
            "width": HOUR.width,
            "series": {
                stage: [
                    minutes[start][stage] if start in minutes else None
                    for start in starts
                ]
                for stage in STAGES.values()
            },
        }


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
        self._trend = Trend()

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
        """Return the last reading, when it was, the worst state of the data path, and
        its trend.
        """
        now = self._clock()
        if self._latest is None:
            trend = self._trend.json(now)
            return {"at": None, "worst": None, "partitions": [], "trend": trend}
        at, lags = self._latest
        states = (lag.state for lag in lags if not is_own(lag))
        return {
            "at": at,
            "worst": max(states, key=ORDER.index, default=LagState.OK).value,
            "partitions": [_row(lag) for lag in lags],
            "trend": self._trend.json(now),
        }

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
        self._trend.add(now, lags)
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
        "own": is_own(lag),
    }
