"""How far a group is behind the last stable offset of its topic.

A transaction's marker takes an offset but is no record, so that the plain difference
stays at one or more for ever (KEDA issue 5675); `is_drained` looks past markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from .offsets import GroupOffsets, end_offsets, first_offsets
from .settings import Settings
from .topics import partition_counts


@dataclass(frozen=True, slots=True)
class Lag:
    """One partition: what is stable, and what the group has committed of it."""

    stable: int
    committed: int

    @property
    def offsets(self) -> int:
        """Offsets between the two, markers included."""
        return max(0, self.stable - self.committed)


class LagReader:
    """Reads the lag of one group on one topic, again and again."""

    def __init__(
        self, settings: Settings, admin: AdminClient, topic: str, group: str
    ) -> None:
        self._admin = admin
        self._topic = topic
        self._partitions = range(partition_counts(admin)[topic])
        self._group = GroupOffsets(settings, group, topic)

    def read(self) -> Mapping[int, Lag]:
        """Return the lag of each partition."""
        committed = self._group.read(self._partitions)
        ends = end_offsets(self._admin, self._topic, self._partitions)
        firsts = first_offsets(self._admin, self._topic, self._partitions)
        return {p: Lag(ends[p], max(firsts[p], committed[p])) for p in self._partitions}

    def is_drained(self, lags: Mapping[int, Lag]) -> bool:
        """Return whether nothing but transaction markers is left to process."""
        behind = {p: lag.committed for p, lag in lags.items() if lag.offsets}
        return not behind or not self._group.has_records_from(behind)

    def close(self) -> None:
        """Let go of the connection."""
        self._group.close()
