"""How far a group is behind the last stable offset of its topic.

A transaction's marker takes an offset but is no record, so that the plain difference
stays at one or more for ever (KEDA issue 5675); `is_drained` looks past markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from .kafka import committed_offsets, end_offsets, first_offsets
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
        self._group = group
        self._partitions = range(partition_counts(admin)[topic])
        self._consumer = Consumer(
            settings.client(
                **{
                    "group.id": group,
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                    "enable.partition.eof": True,
                }
            )
        )

    def read(self) -> Mapping[int, Lag]:
        """Return the lag of each partition."""
        committed = committed_offsets(
            self._admin, self._group, self._topic, self._partitions
        )
        ends = end_offsets(self._admin, self._topic, self._partitions)
        firsts = first_offsets(self._admin, self._topic, self._partitions)
        return {p: Lag(ends[p], max(firsts[p], committed[p])) for p in self._partitions}

    def is_drained(self, lags: Mapping[int, Lag]) -> bool:
        """Return whether nothing but transaction markers is left to process."""
        behind = {p: lag.committed for p, lag in lags.items() if lag.offsets}
        if not behind:
            return True
        self._consumer.assign(
            [TopicPartition(self._topic, p, offset) for p, offset in behind.items()]
        )
        left = set(behind)
        try:
            for _ in range(50):
                for message in self._consumer.consume(len(left), timeout=0.2):
                    if message.error() is None:
                        return False
                    left.discard(message.partition() or 0)
                if not left:
                    return True
            return False
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()
