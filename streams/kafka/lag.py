"""The lag of groups, and its state.

Lag is measured against the last stable offset.  A transaction's marker takes an offset
but is no record, so the plain difference of offsets never falls below one (KEDA issue
5675).  Therefore the first record that is not committed is looked up: if there is none,
only markers are left, and the lag is zero.

The timestamp of that record gives the age of the lag.  Interpolating offsets seen over
time would not cover the time before the first look, and would start again after each
restart.  The age is only as good as the producers' clocks, so no state depends on it.

The state follows LinkedIn's Burrow, "Consumer Lag Evaluation Rules": it depends on how
the lag develops, not on a threshold.  Two things differ.  Burrow sees the commits
themselves; here the committed offset is read repeatedly, and a worker whose
offsets ride in transactions never commits without progress.  So a partition without
progress is stopped if its whole group is, and stalled if the group commits elsewhere.
And the lag of an interval is the smallest one seen in it, because batches make the lag
a sawtooth.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from confluent_kafka.admin import AdminClient

from streams.engine.errors import ConfigError
from streams.engine.records import NO_TIMESTAMP

from .client import admin_client
from .offsets import GroupOffsets, end_offsets, first_offsets
from .settings import KafkaSettings
from .topic_admin import TO_HAVE_THEM, partition_counts

WINDOW = 60.0
"""Seconds that a state is based on; longer than any transaction may last."""
INTERVALS = 10
"""Intervals of a window, as in Burrow."""


class LagState(StrEnum):
    """The state of a partition, from good to bad."""

    OK = "OK"
    WARN = "WARN"
    """It makes progress, but falls further behind."""
    STALL = "STALL"
    """It makes no progress with records to process, but its group commits elsewhere."""
    STOP = "STOP"
    """The whole group has committed nothing for a window, with records to process."""


@dataclass(frozen=True, slots=True)
class LagInterval:
    """One interval: the committed offset at its end, and the smallest lag within."""

    at: float
    committed: int
    records: int


class History:
    """The observations of one partition within the last window."""

    def __init__(self, window: float = WINDOW) -> None:
        self._interval = window / INTERVALS
        # Ten intervals lie between eleven observations.
        self._intervals: deque[LagInterval] = deque(maxlen=INTERVALS + 1)
        self._begun_at = 0.0

    def add(self, at: float, committed: int, records: int) -> None:
        """Add an observation; those of one interval become one."""
        is_new = not self._intervals or at - self._begun_at >= self._interval
        if is_new:
            self._begun_at = at
        else:
            records = min(records, self._intervals.pop().records)
        self._intervals.append(LagInterval(at, committed, records))

    def window(self) -> Sequence[LagInterval]:
        """Return the observations of a full window; none before."""
        is_full = len(self._intervals) == self._intervals.maxlen
        return tuple(self._intervals) if is_full else ()


def has_moved(window: Sequence[LagInterval]) -> bool:
    """Return whether the committed offset changed within the window."""
    return len({each.committed for each in window}) > 1


def judge(window: Sequence[LagInterval], *, group_moves: bool) -> LagState:
    """Return the state of a partition.

    Args:
        window: Its observations, oldest first; without any it is OK.
        group_moves: Whether any partition of its group has moved within the window.
    """
    lags = [each.records for each in window]
    if not lags or min(lags) == 0:
        return LagState.OK
    if not has_moved(window):
        return LagState.STALL if group_moves else LagState.STOP
    never_shrinks = all(a <= b for a, b in pairwise(lags))
    return LagState.WARN if never_shrinks and lags[0] < lags[-1] else LagState.OK


@dataclass(frozen=True, slots=True)
class Lag:
    """The last stable and the committed offset of one partition."""

    stable: int
    committed: int

    @property
    def offsets(self) -> int:
        """The number of offsets between the two, including markers."""
        return max(0, self.stable - self.committed)


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The lag of a group on one partition, and its state.

    Args:
        group: The consumer group.
        topic: The topic that it reads.
        partition: Of the topic.
        committed: The first offset not yet processed.
        stable: The last stable offset: the end for a `read_committed` reader.
        records: Offsets between the two; 0 if there are only markers.  Markers among
            records are counted, since only reading everything could tell them apart.
        seconds: The age of the oldest unprocessed record; 0 without lag, None if it is
            unknown.
        state: By Burrow's rules; OK until a whole window has been observed.
    """

    group: str
    topic: str
    partition: int
    committed: int
    stable: int
    records: int
    seconds: float | None
    state: LagState


class LagReader:
    """Reads the lag of one group on one topic."""

    def __init__(
        self, settings: KafkaSettings, admin: AdminClient, topic: str, group: str
    ) -> None:
        counts = partition_counts(admin)
        if topic not in counts:
            raise ConfigError(f"{topic}: missing, or hidden; {TO_HAVE_THEM}")
        self.topic, self.group = topic, group
        self._admin = admin
        self._partitions = range(counts[topic])
        self._offsets = GroupOffsets(settings, group, topic)
        self._seen: dict[int, tuple[Lag, int | None]] = {}

    def read(self) -> Mapping[int, Lag]:
        """Return the lag of each partition."""
        committed = self._offsets.read(self._partitions)
        ends = end_offsets(self._admin, self.topic, self._partitions)
        firsts = first_offsets(self._admin, self.topic, self._partitions)
        return {p: Lag(ends[p], max(firsts[p], committed[p])) for p in self._partitions}

    def is_drained(self, lags: Mapping[int, Lag]) -> bool:
        """Return whether only transaction markers are left to process."""
        behind = {p: lag.committed for p, lag in lags.items() if lag.offsets}
        return not behind or not self._offsets.has_records_from(behind)

    def oldest(self, lags: Mapping[int, Lag]) -> Mapping[int, int | None]:
        """Return when the first unprocessed record was written, in ms since 1970.

        None where there are only markers; a partition that did not answer is left out.
        """
        behind = {p: lag for p, lag in lags.items() if lag.offsets}
        unseen = {p: lag for p, lag in behind.items() if not self._is_seen(p, lag)}
        if unseen:
            wanted = {p: lag.committed for p, lag in unseen.items()}
            for partition, when in self._offsets.first_records(wanted).items():
                self._seen[partition] = (unseen[partition], when)
        return {p: self._seen[p][1] for p in behind if self._is_seen(p, behind[p])}

    def close(self) -> None:
        """Close the connection."""
        self._offsets.close()

    def _is_seen(self, partition: int, lag: Lag) -> bool:
        """Return whether the time of its first record is known and still valid."""
        if partition not in self._seen:
            return False
        then, when = self._seen[partition]
        return then == lag or (when is not None and then.committed == lag.committed)


class LagMonitor:
    """Observes the lag of several groups; for use by one thread.

    Args:
        settings: Address of the cluster.
        watched: Groups, each with the topic that it reads.
        clock: Seconds since 1970.
        window: Seconds that a state is based on.

    Raises:
        ConfigError: A topic is missing.
        RetriableError: The cluster did not answer.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        watched: Sequence[tuple[str, str]],
        clock: Callable[[], float] = time.time,
        *,
        window: float = WINDOW,
    ) -> None:
        admin = admin_client(settings)
        self._clock = clock
        self._readers = [LagReader(settings, admin, t, group) for group, t in watched]
        self._histories: defaultdict[tuple[str, str, int], History] = defaultdict(
            lambda: History(window)
        )

    def read(self) -> list[PartitionLag]:
        """Return the lag of every partition of every group.

        To be called about every second.

        Raises:
            RetriableError: The cluster did not answer.
        """
        lags = [lag for reader in self._readers for lag in self._observed(reader)]
        windows = [self._history(lag).window() for lag in lags]
        pairs = list(zip(lags, windows, strict=True))
        moving = {lag.group for lag, window in pairs if has_moved(window)}
        return [
            replace(lag, state=judge(window, group_moves=lag.group in moving))
            for lag, window in pairs
        ]

    def close(self) -> None:
        """Close the connections."""
        for reader in self._readers:
            reader.close()

    def _observed(self, reader: LagReader) -> list[PartitionLag]:
        """Read the lag of one topic, and add it to the histories; no state yet."""
        lags = reader.read()
        oldest = reader.oldest(lags)
        now = self._clock()
        records = {p: 0 if oldest.get(p, 0) is None else lags[p].offsets for p in lags}
        observed = [
            PartitionLag(
                reader.group,
                reader.topic,
                p,
                committed=lag.committed,
                stable=lag.stable,
                records=records[p],
                seconds=_seconds(records[p], oldest.get(p), now),
                state=LagState.OK,
            )
            for p, lag in lags.items()
        ]
        for each in observed:
            self._history(each).add(now, each.committed, each.records)
        return observed

    def _history(self, lag: PartitionLag) -> History:
        return self._histories[lag.group, lag.topic, lag.partition]


def _seconds(records: int, oldest_ms: int | None, now: float) -> float | None:
    if not records:
        return 0.0
    # A producer's clock may be ahead of ours.
    if oldest_ms is None or oldest_ms == NO_TIMESTAMP:
        return None
    return max(0.0, now - oldest_ms / 1000)
