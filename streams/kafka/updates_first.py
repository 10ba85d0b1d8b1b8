"""The guarantee of what a note sees, and the order of delivery that keeps it.

Scrub reads two topics that are partitioned alike: `notes`, and `patient.updates`.  Each
note is processed after

* every update of its patient that was committed to `patient.updates` before the note
  was committed to `notes`, and
* what its own message says, which the note carries along.

A note that was delivered is committed.  All updates that were committed before it lie
below the high watermark of the updates' partition, if that is asked for after the note
arrived.  So a note is held until all committed updates below that watermark have been
delivered.  The last stable offset would not do: it stops at the first open transaction,
while a later one may have committed already.

Updates are folded in the order of their event time (`patients.demographics`), those of
one time in the order of their offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from streams.engine.errors import RetriableError
from streams.engine.records import Record


class UpdatesFirst:
    """Holds notes until the updates that were there before them are delivered.

    Args:
        topic: Of the updates; records of any other topic are notes.
        ends: Returns the high watermarks of partitions of the updates.
    """

    def __init__(
        self, topic: str, ends: Callable[[Sequence[int]], Mapping[int, int]]
    ) -> None:
        self._topic = topic
        self._ends = ends
        self._updates: list[Record] = []
        self._held: dict[int, list[Record]] = {}
        self._arrived: dict[int, list[Record]] = {}
        self._needed: dict[int, int] = {}
        self._reached: dict[int, int] = {}

    def add(self, records: Iterable[Record]) -> None:
        """Take records that the consumer has received, in their order."""
        for each in records:
            if each.partition.topic == self._topic:
                self._updates.append(each)
                self.reach(each.partition.index, each.next_offset)
            else:
                self._arrived.setdefault(each.partition.index, []).append(each)

    def reach(self, partition: int, offset: int) -> None:
        """Note that no committed update below the offset is still to come."""
        self._reached[partition] = max(offset, self._reached.get(partition, 0))

    def ask(self) -> None:
        """Find out which updates were there before the notes that have arrived.

        Raises:
            RetriableError: A partition ends before what was read of it, so that it is
                unknown what it holds now; `forget` it, and read it again.
        """
        new = sorted(self._arrived.keys() - self._held.keys())
        if not new:
            return
        ends = self._ends(new)
        if any(end < self._reached.get(p, 0) for p, end in ends.items()):
            raise RetriableError(
                f"{self._topic}: ends before what was read, as if it was made anew"
            )
        self._needed |= ends
        for partition in new:
            self._held[partition] = self._arrived.pop(partition)

    @property
    def lacking(self) -> frozenset[int]:
        """The partitions whose notes wait for updates."""
        return frozenset(
            p for p, end in self._needed.items() if self._reached.get(p, 0) < end
        )

    @property
    def updates(self) -> Sequence[Record]:
        """The updates to be delivered next."""
        return self._updates

    @property
    def waiting(self) -> Sequence[Record]:
        """The notes that arrived while others were held."""
        return [each for notes in self._arrived.values() for each in notes]

    @property
    def is_empty(self) -> bool:
        """True if no record is here."""
        return not (self._updates or self._held or self._arrived)

    def take(self) -> list[Record]:
        """Return all updates, then the notes that may see them."""
        taken, self._updates = self._updates, []
        for partition in self._needed.keys() - self.lacking:
            taken += self._held.pop(partition)
            del self._needed[partition]
        return taken

    def forget(self, partitions: Iterable[int]) -> None:
        """Drop the records of partitions that are read again, or not owned any more."""
        gone = set(partitions)
        self._updates = [r for r in self._updates if r.partition.index not in gone]
        for partition in gone:
            for each in (self._held, self._arrived):
                each.pop(partition, None)
            self._needed.pop(partition, None)
            self._reached.pop(partition, None)
