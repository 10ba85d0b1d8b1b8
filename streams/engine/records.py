"""Records, outputs and offsets.  Keys and values are PHI: they have no ``repr``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NO_TIMESTAMP = -1
"""Kafka's timestamp of a record without one."""
NO_EPOCH = -1
"""Kafka's leader epoch of an offset that was committed without one."""


class Partition(NamedTuple):
    """One partition of one topic."""

    topic: str
    index: int  # type: ignore[assignment]  # hides a method of tuples

    def __str__(self) -> str:
        return f"{self.topic}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Record:
    """A record read from a partition; ``value`` None is a null value (a tombstone)."""

    partition: Partition
    offset: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    timestamp_ms: int = 0
    """Milliseconds since 1970, or NO_TIMESTAMP."""
    is_repeated: bool = False
    """Whether it was processed before: a table that was lost is made again from it."""
    has_bad_headers: bool = False
    """Whether there are headers that can't be read, so that none are here."""
    leader_epoch: int = NO_EPOCH
    """The term of the leader that wrote it."""

    @property
    def next_offset(self) -> int:
        """The offset to commit: the first one *not* yet processed."""
        return self.offset + 1

    @property
    def to_commit(self) -> CommittedOffset:
        """The offset to commit when the record is processed, without metadata."""
        return CommittedOffset(self.next_offset, leader_epoch=self.leader_epoch)

    @property
    def size(self) -> int:
        """The bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")

    def __str__(self) -> str:
        return f"{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The committed offset of a group on a partition, with its metadata.

    The epoch is that of the record before.  If the partition has lost that record, its
    leader says so, even when other records have taken its place (KIP-320).
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_EPOCH
    is_absent: bool = False
    """Whether the group has none: then it is the partition's first offset."""


@dataclass(frozen=True, slots=True)
class Output:
    """A record to write; unless it is timeless, the producer adds the time.

    Args:
        topic: To write to.
        key: Decides the partition, unless another property does.
        value: None deletes the key's value in a compacted topic.
        headers: Without PHI.
        timeless: Whether the record has no timestamp.
        partition: Given for a changelog: that of the input, whose table it restores.
        source: The input record; None for a changelog.
        grouped_by: Decides the partition in place of the key.
    """

    topic: str
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    timeless: bool = False
    partition: int | None = None
    source: Record | None = field(default=None, repr=False, compare=False)
    grouped_by: bytes | None = None
