"""The rows that wait for the next commit of one table, in the order of the log."""

from __future__ import annotations

from streams.engine.records import Record

from .progress import Progress
from .rows import PATIENT, ErasedPatient, Row, RowMaker, Unit
from .table import Commit, with_offsets


class TableBatch:
    """The rows, erasures and offsets read since the table's last commit.

    Args:
        rows: Makes the rows.
        unit: Of the table's partitions by day.
        topic_id: Which the cluster gave the topic.
        progress: How far the table has come.
    """

    def __init__(
        self, rows: RowMaker, unit: Unit, topic_id: str, progress: Progress
    ) -> None:
        self._maker, self._unit, self._topic_id = rows, unit, topic_id
        self._rows: list[Row] = []
        self._erased: set[str] = set()
        self._offsets: dict[int, int] = {}
        self.progress = progress
        self.size = 0
        self.since: float | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_empty(self) -> bool:
        """True if nothing was read, not even a marker."""
        return not self._offsets

    def add(self, record: Record, now: float) -> None:
        """Add a record; the null value of a patient removes the rows before it.

        Raises:
            RefusedRecord: It is not what the topic holds.
        """
        row = self._maker.of(record, self._unit)
        if isinstance(row, ErasedPatient):
            self._rows = [e for e in self._rows if e.get(PATIENT) != row.patient]
            self._erased.add(row.patient)
        else:
            self._rows.append(row)
        self._offsets[record.partition.index] = record.next_offset
        self.size += record.size
        self.since = now if self.since is None else self.since

    def reach(self, partition: int, offset: int) -> None:
        """Note that a partition has no record before an offset that was not read.

        Markers of transactions have offsets.  Once Kafka has deleted them, a table that
        stays before them would look as if it had missed records.
        """
        known = self._offsets.get(partition, self.progress.offsets.get(partition, 0))
        if offset > known:
            self._offsets[partition] = offset

    def commit(self) -> Commit:
        """Return what is to be written."""
        after = with_offsets(self.progress, self._topic_id, self._offsets)
        return Commit(tuple(self._rows), frozenset(self._erased), self.progress, after)

    def clear(self) -> None:
        """Begin the next batch; this one has been written."""
        self.progress = self.commit().after
        self._rows, self._erased, self._offsets = [], set(), {}
        self.size, self.since = 0, None
