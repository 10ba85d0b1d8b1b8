"""The lag that the page shows: the last reading, and its trend over the last hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from streams.kafka.lag import LagState, PartitionLag
from streams.kafka.topics import Stage
from streams.operations.counts.windows import HOUR
from streams.operations.lag_poller import STAGES, ArrivalRate, stage_groups
from streams.operations.settings import Settings

from .app import READ, group_of

SEVERITY = tuple(LagState)


def watched_groups(settings: Settings) -> list[tuple[str, str]]:
    """Return the groups of the stages and of watch, each with a topic that it reads."""
    return stage_groups(settings) + [(group_of(settings), topic) for topic in READ]


def is_own(lag: PartitionLag) -> bool:
    """Return whether it is watch's own lag, which delays no note."""
    return lag.topic not in STAGES


class LagTrend:
    """The largest lag of each stage in each minute of the last hour."""

    def __init__(self) -> None:
        self._minutes: dict[int, Counter[str]] = {}

    def add(self, at: float, lags: Iterable[PartitionLag]) -> None:
        """Add a reading."""
        records: Counter[str] = Counter()
        for lag in lags:
            if not is_own(lag):
                records[STAGES[lag.topic]] += lag.records
        start = HOUR.start_of(at)
        # The union of counters keeps the larger of two counts.
        self._minutes[start] = self._minutes.get(start, Counter()) | records
        first = HOUR.first_start(at)
        self._minutes = {s: most for s, most in self._minutes.items() if s >= first}

    def json(self, at: float) -> dict[str, Any]:
        """Return a number for each minute; None where there was no reading."""
        minutes = self._minutes  # another thread may replace it
        starts = range(HOUR.first_start(at), HOUR.start_of(at) + 1, HOUR.width)
        return {
            "starts": list(starts),
            "width": HOUR.width,
            "series": {
                stage.value: [
                    minutes[s][stage] if s in minutes else None for s in starts
                ]
                for stage in Stage
            },
        }


class LagHistory:
    """The last reading of the lag, the arrival rate and the trend.

    Args:
        clock: Seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._latest: tuple[float | None, Sequence[PartitionLag]] = (None, ())
        self._arrivals = ArrivalRate()
        self._trend = LagTrend()
        self._workers: Mapping[str, int] = {}

    def add(
        self, lags: Sequence[PartitionLag], workers: Mapping[str, int] | None = None
    ) -> None:
        """Add a reading.

        Args:
            lags: Of all partitions.
            workers: The number of members of each stage's group; None if not read.
        """
        now = self._clock()
        self._workers = self._workers if workers is None else workers
        self._latest = (now, lags)
        self._trend.add(now, lags)
        self._arrivals.add(now, lags)

    def latest(self) -> Sequence[PartitionLag]:
        """Return the last reading; nothing before the first."""
        return self._latest[1]

    def arriving(self) -> float | None:
        """Return records a second into hl7.raw."""
        return self._arrivals.rate()

    def has_stopped(self, group: str) -> bool:
        """Return whether a group commits nothing while records wait."""
        bad = (LagState.STOP, LagState.STALL)
        return any(lag.group == group and lag.state in bad for lag in self.latest())

    def json(self) -> dict[str, Any]:
        """Return the last reading, the data path's worst state, and the trend."""
        at, lags = self._latest
        states = (lag.state for lag in lags if not is_own(lag))
        worst = max(states, key=SEVERITY.index, default=LagState.OK).value
        return {
            "at": at,
            "worst": None if at is None else worst,
            "partitions": [_row(lag) for lag in lags],
            "workers": dict(self._workers),
            "trend": self._trend.json(self._clock()),
        }


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
