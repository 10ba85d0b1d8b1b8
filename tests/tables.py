"""A table without a topic or files; the real one is tested on Kafka."""

from __future__ import annotations

from streams.engine.observer import TableProgress
from streams.kafka.tables.staged import MemoryRows


class MemoryTable(MemoryRows):
    """Rows that are complete as soon as a partition is settled."""

    is_damaged = False

    def __init__(self):
        super().__init__()
        self.next_offset = 0
        self.scanned = []
        self.trouble = None
        self._new = []

    def get(self, partition, key):
        if self.trouble is not None:
            raise self.trouble
        return super().get(partition, key)

    def scan(self, partition, prefix, start=b""):
        for row in super().scan(partition, prefix, start):
            self.scanned.append(row[0])
            yield row

    def write(self, partition, rows, next_offset):
        super().write(partition, rows, next_offset)
        self.next_offset = next_offset

    def open(self, partitions):
        """Do nothing."""

    def settle(self, partitions):
        self._new = list(partitions)

    def settled(self):
        done, self._new = self._new, []
        return done

    def reread(self):
        """Do nothing: the rows are as the test left them."""

    def release(self, partitions):
        """Do nothing."""

    def drop(self):
        return [*self.rows]

    def progress(self):
        return [TableProgress(0, 5, 3, 1.0, 10)]
