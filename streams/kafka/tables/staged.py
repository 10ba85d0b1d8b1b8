"""The rows that an open transaction changes, in front of their table.

They are written to the changelog in the transaction, and to the table after its commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, KeysView, Mapping
from typing import Protocol

from streams.engine.errors import FatalError
from streams.engine.records import Partition
from streams.kafka.topics import Topic


class Rows(Protocol):
    """The rows of a table as of the last commit."""

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def scan(
        self, partition: int, prefix: bytes, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows by prefix, from ``start`` on, in the order of bytes."""

    def write(
        self, partition: int, rows: Mapping[bytes, bytes | None], next_offset: int
    ) -> None:
        """Put or (None) delete rows, which its changelog holds below the offset."""


class MemoryRows:
    """Rows in memory alone, by partition and key."""

    def __init__(self) -> None:
        self.rows: defaultdict[int, dict[bytes, bytes]] = defaultdict(dict)

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        return self.rows[partition].get(key)

    def scan(
        self, partition: int, prefix: bytes, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows by prefix, from ``start`` on, in the order of bytes."""
        for key, value in sorted(self.rows[partition].items()):
            if key.startswith(prefix) and key >= start:
                yield key, value

    def write(
        self, partition: int, rows: Mapping[bytes, bytes | None], next_offset: int
    ) -> None:
        """Put or (None) delete rows."""
        kept = self.rows[partition]
        for key, value in rows.items():
            if value is None:
                kept.pop(key, None)
            else:
                kept[key] = value


class StagedTable:
    """A table, and the rows that the open transaction changes.

    Args:
        topic: The changelog.
        table: The rows as of the last commit.
    """

    def __init__(self, topic: Topic, table: Rows) -> None:
        self._topic = topic.name
        self._table = table
        self._changed: dict[int, dict[bytes, bytes | None]] = {}

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return the value of a key as the transaction leaves it, or None."""
        changed = self._changed.get(partition, {})
        return changed[key] if key in changed else self._table.get(partition, key)

    def committed(
        self, partition: int, prefix: bytes, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows as of the last commit; see `Rows.scan`."""
        return self._table.scan(partition, prefix, start)

    def changed(self, partition: int) -> KeysView[bytes]:
        """Return the keys of the rows that the transaction puts or deletes."""
        return self._changed.get(partition, {}).keys()

    def put(self, partition: int, key: bytes, value: bytes | None) -> None:
        """Put or (None) delete a row; the caller writes that to the changelog."""
        self._changed.setdefault(partition, {})[key] = value

    def commit(self, written: Mapping[Partition, int]) -> None:
        """Write the changed rows to the table: their transaction is committed.

        Args:
            written: The offset after the last record of each changelog's partition.

        Raises:
            FatalError: A row was changed, and not written to the changelog.
        """
        for partition in [*self._changed]:
            rows = self._changed.pop(partition)
            after = written.get(Partition(self._topic, partition))
            if after is None:
                raise FatalError(
                    f"{self._topic}: a changed row was not written; report it"
                )
            self._table.write(partition, rows, after)

    def abort(self) -> None:
        """Drop the changed rows."""
        self._changed.clear()
