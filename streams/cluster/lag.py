"""How far groups are behind the last stable offset of their topics, and what it means.

A transaction's marker takes an offset but is no record, so that the plain difference
stays at one or more for ever (KEDA issue 5675).  So whoever is behind is looked at:
which record is the first that is not committed?  None: only markers, and no lag.

Its timestamp says how old the lag is.  Not by interpolation of offsets seen over time:
that knows nothing of before the first look, and forgets all in a restart.  The price is
that seconds are as good as the producers' clocks; so no state is judged by them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from ..engine.errors import ConfigError
from ..engine.records import NO_TIMESTAMP
from ..engine.settings import Settings
from .lag_status import WINDOW, History, LagState, has_moved, judge
from .offsets import GroupOffsets, admin_client, end_offsets, first_offsets
from .topics import TO_HAVE_THEM, partition_counts

__all__ = ["Lag", "LagMonitor", "LagReader", "LagState", "PartitionLag"]


@dataclass(frozen=True, slots=True)
class Lag:
    """One partition: what is stable, and what the group has committed of it."""

    stable: int
    committed: int

    @property
    def offsets(self) -> int:
        """Offsets between the two, markers included."""
        return max(0, self.stable - self.committed)


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """How far a group is behind on one partition, and what that means.

    Args:
        group: The consumer group.
        topic: What it reads.
        partition: Of the topic.
        committed: The first offset not yet processed.
        stable: The last stable offset: where a `read_committed` reader ends.
        records: Offsets between the two; 0 when they are nothing but markers.  Markers
            among records are counted, since only reading all could tell them.
        seconds: The age of the oldest record not yet processed; 0 without lag, None
            when it could not be told.
        state: As Burrow judges; OK until a whole window has been seen.
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
    """Reads the lag of one group on one topic, again and again."""

    def __init__(
        self, settings: Settings, admin: AdminClient, topic: str, group: str
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
        """Return whether nothing but transaction markers is left to process."""
        behind = {p: lag.committed for p, lag in lags.items() if lag.offsets}
        return not behind or not self._offsets.has_records_from(behind)

    def oldest(self, lags: Mapping[int, Lag]) -> Mapping[int, int | None]:
        """Return when the first record not yet processed was written, in ms since 1970.

        None where there are only markers; a partition that did not tell is left out.
        """
        behind = {p: lag for p, lag in lags.items() if lag.offsets}
        unseen = {p: lag for p, lag in behind.items() if not self._is_seen(p, lag)}
        if unseen:
            wanted = {p: lag.committed for p, lag in unseen.items()}
            for partition, when in self._offsets.first_records(wanted).items():
                self._seen[partition] = (unseen[partition], when)
        return {p: self._seen[p][1] for p in behind if self._is_seen(p, behind[p])}

    def close(self) -> None:
        """Let go of the connection."""
        self._offsets.close()

    def _is_seen(self, partition: int, lag: Lag) -> bool:
        """Return whether it was looked at before, and still must be as it was then."""
        if partition not in self._seen:
            return False
        then, when = self._seen[partition]
        return then == lag or (when is not None and then.committed == lag.committed)


class LagMonitor:
    """Judges groups by what it sees, call by call; of one thread.

    Args:
        settings: Where the cluster is.
        watched: Groups, and the topic that each reads.
        clock: Seconds since 1970.
        window: Seconds over which a partition is judged.

    Raises:
        ConfigError: A topic is missing.
        RetriableError: The cluster did not answer.
    """

    def __init__(
        self,
        settings: Settings,
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
        """Return the lag of every partition of every group; call it every second or so.

        Raises:
            RetriableError: The cluster did not answer.
        """
        return [lag for reader in self._readers for lag in self._of(reader)]

    def close(self) -> None:
        """Let go of the connections."""
        for reader in self._readers:
            reader.close()

    def _of(self, reader: LagReader) -> list[PartitionLag]:
        lags = reader.read()
        oldest = reader.oldest(lags)
        now = self._clock()
        places = {p: (reader.group, reader.topic, p) for p in lags}
        records = {p: 0 if oldest.get(p, 0) is None else lags[p].offsets for p in lags}
        for partition, lag in lags.items():
            history = self._histories[places[partition]]
            history.add(now, lag.committed, records[partition])
        windows = {p: self._histories[place].window() for p, place in places.items()}
        group_moves = any(has_moved(window) for window in windows.values())
        return [
            PartitionLag(
                *places[p],
                committed=lag.committed,
                stable=lag.stable,
                records=records[p],
                seconds=_seconds(records[p], oldest.get(p), now),
                state=judge(windows[p], group_moves=group_moves),
            )
            for p, lag in lags.items()
        ]


def _seconds(records: int, oldest_ms: int | None, now: float) -> float | None:
    if not records:
        return 0.0
    # A producer's clock may be ahead of ours.
    if oldest_ms is None or oldest_ms == NO_TIMESTAMP:
        return None
    return max(0.0, now - oldest_ms / 1000)
