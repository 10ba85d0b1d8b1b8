"""Whoever looks on while the loop works, e.g. to count for Prometheus."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from .errors import StreamError
from .records import Output, Record


class PartitionState(Protocol):
    """Whoever must know which partitions this worker owns."""

    def assigned(self, partitions: Sequence[int]) -> None:
        """Take up partitions; their records wait until they are ready."""
        ...

    def revoked(self, partitions: Sequence[int]) -> None:
        """Hand partitions over: let go of all that belongs to them."""
        ...


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far the table of one partition is.

    Args:
        partition: Of the topic.
        next_offset: The first offset that is not in the table yet.
        behind: Offsets to read before it has caught up, for the first time; then 0.
        seconds: How long that took; so far, while it does.
        rows: Patients in it.
    """

    partition: int
    next_offset: int
    behind: int
    seconds: float
    rows: int


class TableView(Protocol):
    """The part of a table that an observer needs."""

    def progress(self) -> Sequence[TableProgress]:
        """Return how far each opened partition is."""
        ...


class Observer:
    """Is told what happens, on the loop's thread; this one takes no notice."""

    def assigned(self, partitions: Sequence[int]) -> None:
        """Partitions are this worker's."""

    def revoked(self, partitions: Sequence[int]) -> None:
        """Partitions are this worker's no more."""

    def begun(self, records: Sequence[Record]) -> None:
        """A batch is at hand."""

    def staged(self, outputs: Sequence[Output]) -> None:
        """Outputs of the batch are in its transaction, which may yet be undone."""

    def committed(self) -> None:
        """The batch is visible."""

    def undone(self, error: StreamError) -> None:
        """The batch counts as never seen; of Fenced and UnknownOutcome a new producer
        takes over.
        """

    def overran(self, records: Sequence[Record]) -> None:
        """Processing these records took more CPU time than it may."""

    def died(self, partition: int) -> None:
        """The last owner of a partition has died holding it."""

    def turned(
        self, paused: Collection[int], table: TableView, quarantined: int
    ) -> None:
        """The loop has turned once.

        Args:
            paused: Partitions that wait for their table.
            table: How far it is.
            quarantined: How many partitions are processed one record at a time.
        """


class CompositeListener:
    """Two who must know the partitions, told in this order."""

    def __init__(self, first: PartitionState, second: PartitionState) -> None:
        self._told = (first, second)

    def assigned(self, partitions: Sequence[int]) -> None:
        """Tell both."""
        for each in self._told:
            each.assigned(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Tell both."""
        for each in self._told:
            each.revoked(partitions)
