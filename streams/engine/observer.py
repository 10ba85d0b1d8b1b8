"""Callbacks of the main loop, used for metrics and for changes of the assignment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from .errors import StreamError
from .records import Output, Record


class Step(StrEnum):
    """A step of processing."""

    DECODE = "decode"
    JOIN = "join"
    DETECT = "detect"
    ENCODE = "encode"


Entered = Callable[[Step, Sequence[Record]], None]
"""Called when records enter a step; the step before ends."""


def unobserved(_step: Step, _records: Sequence[Record]) -> None:
    """Do nothing: nobody wants to know of steps."""


class PartitionListener(Protocol):
    """Anything that depends on which partitions this worker owns."""

    def assigned(self, partitions: Sequence[int]) -> None:
        """Take over partitions; their records wait until they are ready."""

    def revoked(self, partitions: Sequence[int]) -> None:
        """Give up partitions, and release everything that belongs to them."""


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Progress of the table of one partition.

    Args:
        partition: Of the topic.
        next_offset: The first offset that is not in the table yet.
        behind: Offsets still to be read before the partition's records go on.
        seconds: Duration of the restore, so far or in total.
        rows: Number of keys in the table; may be an estimate.
    """

    partition: int
    next_offset: int
    behind: int
    seconds: float
    rows: int


@dataclass(frozen=True, slots=True)
class HeldProgress:
    """The notes of one partition that wait for demographics.

    Args:
        partition: Of the topic.
        notes: Number of notes that wait.
        since_ms: When the oldest was held, in milliseconds since 1970; 0 for none.
        until_ms: The earliest bound, in milliseconds since 1970; 0 for none.
    """

    partition: int
    notes: int
    since_ms: int
    until_ms: int


class TableView(Protocol):
    """The part of a processor's state that an observer needs."""

    def progress(self) -> Sequence[TableProgress]:
        """Return the progress of each opened partition."""

    def held(self) -> Sequence[HeldProgress]:
        """Return the held notes of each partition."""


class Observer:
    """Callbacks on the loop's thread; the methods of this base class do nothing."""

    def assigned(self, partitions: Sequence[int]) -> None:
        """Partitions were assigned to this worker."""

    def revoked(self, partitions: Sequence[int]) -> None:
        """Partitions were taken from this worker."""

    def begun(self, records: Sequence[Record]) -> None:
        """Processing of a batch begins."""

    def entered(self, step: Step, records: Sequence[Record]) -> None:
        """Records enter a step of processing; it may be interrupted at any point."""

    def staged(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Records and their outputs were added to the transaction; it may be aborted.

        Without records the outputs are those of `due`.
        """

    def committed(self) -> None:
        """The batch is visible."""

    def undone(self, error: StreamError) -> None:
        """The batch is discarded and will be read again.

        After Fenced and UnknownOutcome a new producer takes over.
        """

    def overran(self, records: Sequence[Record]) -> None:
        """Processing these records exceeded its limit of CPU time."""

    def died(self, partition: int) -> None:
        """The previous owner of a partition died without releasing it."""

    def damaged(self) -> None:
        """A table was dropped because its files are damaged; it is restored."""

    def turned(
        self, paused: Collection[int], table: TableView, quarantined: int
    ) -> None:
        """One turn of the loop is complete.

        Args:
            paused: Partitions that wait for their table.
            table: Its progress.
            quarantined: Number of partitions whose records are processed one by one.
        """


class CompositeObserver(Observer):
    """Pass every callback on to two observers, in order."""

    def __init__(self, first: Observer, second: Observer) -> None:
        self._first, self._second = first, second

    def assigned(self, partitions: Sequence[int]) -> None:
        """Call `assigned` of both."""
        self._first.assigned(partitions)
        self._second.assigned(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Call `revoked` of both."""
        self._first.revoked(partitions)
        self._second.revoked(partitions)

    def begun(self, records: Sequence[Record]) -> None:
        """Call `begun` of both."""
        self._first.begun(records)
        self._second.begun(records)

    def entered(self, step: Step, records: Sequence[Record]) -> None:
        """Call `entered` of both."""
        self._first.entered(step, records)
        self._second.entered(step, records)

    def staged(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Call `staged` of both."""
        self._first.staged(records, outputs)
        self._second.staged(records, outputs)

    def committed(self) -> None:
        """Call `committed` of both."""
        self._first.committed()
        self._second.committed()

    def undone(self, error: StreamError) -> None:
        """Call `undone` of both."""
        self._first.undone(error)
        self._second.undone(error)

    def overran(self, records: Sequence[Record]) -> None:
        """Call `overran` of both."""
        self._first.overran(records)
        self._second.overran(records)

    def died(self, partition: int) -> None:
        """Call `died` of both."""
        self._first.died(partition)
        self._second.died(partition)

    def damaged(self) -> None:
        """Call `damaged` of both."""
        self._first.damaged()
        self._second.damaged()

    def turned(
        self, paused: Collection[int], table: TableView, quarantined: int
    ) -> None:
        """Call `turned` of both."""
        self._first.turned(paused, table, quarantined)
        self._second.turned(paused, table, quarantined)


class CompositeListener:
    """Pass changes of the assignment on to several listeners, in order."""

    def __init__(self, *listeners: PartitionListener) -> None:
        self._listeners = listeners

    def assigned(self, partitions: Sequence[int]) -> None:
        """Call `assigned` of each listener."""
        for listener in self._listeners:
            listener.assigned(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Call `revoked` of each listener."""
        for listener in self._listeners:
            listener.revoked(partitions)
