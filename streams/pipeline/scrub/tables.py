"""The tables of scrub, taken over and given up together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from streams.engine.observer import TableProgress
from streams.kafka.tables.table import ChangelogTable


@dataclass(slots=True, eq=False)
class _Table:
    """A table, and how far each partition is in it."""

    table: ChangelogTable
    ready: set[int] = field(default_factory=set)
    to_settle: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)

    def forget(self, partitions: Iterable[int]) -> None:
        for each in (self.ready, self.to_settle, self.settled):
            each.difference_update(partitions)


class Tables:
    """Tables with the same partitions, as one: the slowest decides.

    Args:
        tables: Opened and closed here.
    """

    def __init__(self, *tables: ChangelogTable) -> None:
        self._tables = [_Table(each) for each in tables]
        self._ready: set[int] = set()
        self._settled: set[int] = set()

    def open(self, partitions: Iterable[int]) -> None:
        """Have partitions taken over, by this and the next calls of `ready`."""
        wanted = list(partitions)
        for each in self._tables:
            each.table.open(wanted)

    def ready(self) -> list[int]:
        """Continue reading; return the partitions that have newly caught up."""
        for each in self._tables:
            each.ready.update(each.table.ready())
        return _new(self._ready, [each.ready for each in self._tables])

    def settled(self, claimed: Iterable[int]) -> list[int]:
        """Continue reading; return the partitions that are newly complete.

        Args:
            claimed: Newly; see `ChangelogTable.settle`.
        """
        wanted = set(claimed)
        # One that is claimed once more is returned once more.
        self._settled -= wanted
        for each in self._tables:
            each.to_settle |= wanted - each.settled
        for each in self._tables:
            if each.to_settle:
                each.table.settle(sorted(each.to_settle))
                each.to_settle.clear()
            each.settled.update(each.table.settled())
        return _new(self._settled, [each.settled for each in self._tables])

    def reread(self) -> None:
        """Read what a transaction of unknown outcome may have written."""
        for each in self._tables:
            each.table.reread()

    def release(self, partitions: Iterable[int]) -> None:
        """Give partitions up; their files are kept."""
        gone = set(partitions)
        self._forget(gone)
        # If one fails, the others are released all the same.
        with ExitStack() as stack:
            for each in self._tables:
                each.forget(gone)
                stack.callback(each.table.release, gone)

    def drop(self) -> list[int]:
        """Delete the damaged stores, or all if none is known to be.

        Returns:
            All partitions: rows of the last commit may also be missing from the other
            tables.  They wait until `ready` names them, and are settled again.
        """
        damaged = [each for each in self._tables if each.table.is_damaged]
        dropped: set[int] = set()
        for each in damaged or self._tables:
            dropped.update(each.table.drop())
        for each in self._tables:
            if damaged and each not in damaged:
                each.table.release(dropped)
                each.table.open(dropped)
            each.forget(dropped)
        self._forget(dropped)
        return sorted(dropped)

    def progress(self) -> Sequence[TableProgress]:
        """Return the progress of each partition; the rows are those of the first."""
        first, *others = [
            {each.partition: each for each in table.table.progress()}
            for table in self._tables
        ]
        return [
            _slowest(each, [t[partition] for t in others if partition in t])
            for partition, each in first.items()
        ]

    def close(self) -> None:
        """Close all partitions; their files are kept."""
        with ExitStack() as stack:
            for each in self._tables:
                stack.callback(each.table.close)

    def _forget(self, partitions: Iterable[int]) -> None:
        self._ready.difference_update(partitions)
        self._settled.difference_update(partitions)


def _slowest(one: TableProgress, others: Sequence[TableProgress]) -> TableProgress:
    behind = sum(each.behind for each in (one, *others))
    return replace(
        one, behind=behind, seconds=max(each.seconds for each in (one, *others))
    )


def _new(told: set[int], tables: Sequence[set[int]]) -> list[int]:
    """Return what all tables have and was not returned before."""
    found = set.intersection(*tables) - told
    told |= found
    return sorted(found)
