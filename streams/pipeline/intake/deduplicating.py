"""Intake with a memory: what a sender sends again gives no second note."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from streams.engine.character_sets import UTF_8
from streams.engine.errors import CorruptState, InvalidRecord
from streams.engine.keys.office import OfficePublicKey
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.observer import Entered, TableProgress, unobserved
from streams.engine.records import Partition, Record
from streams.engine.runner import Outcome
from streams.formats.json_map import JsonMap
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.wire_format import InputFormat

from .processor import Intake, log
from .seen import Judged, SeenMessages


class DeduplicatingIntake(Intake):
    """The processor of `hl7.raw` with the table of `messages.seen`.

    Args:
        table: The assigned partitions of `messages.seen`; opened and closed here.
        keys: Of the digests that are its keys and contents.
        window_ms: Time between two records after which the second is no repetition.
        partitions: The number of partitions of both topics.
        max_bytes: A larger message is a dead letter.
        office: For which dead letters are sealed.
        rebuilds: Whether scrub is to write whole messages to hl7.scrubbed as well.
        json_map: How JSON of other forms becomes note events.
        charset: The codec of HL7 messages that name none, and are not UTF-8.
        wire_format: Of values; by default they may not have a registry's.
        entered: Called at each step.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        table: ChangelogTable,
        keys: PseudonymKeys,
        *,
        window_ms: int,
        partitions: int,
        max_bytes: int,
        office: OfficePublicKey,
        rebuilds: bool = False,
        json_map: JsonMap | None = None,
        charset: str = UTF_8,
        wire_format: InputFormat | None = None,
        entered: Entered = unobserved,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            max_bytes=max_bytes,
            office=office,
            rebuilds=rebuilds,
            json_map=json_map,
            charset=charset,
            wire_format=wire_format,
            entered=entered,
            clock=clock,
        )
        self._table = table
        self._seen = SeenMessages(
            table, keys, window_ms=window_ms, partitions=partitions
        )

    def assigned(self, partitions: Sequence[int]) -> None:
        """Have the table of new partitions opened by the next call of `ready`."""
        self._table.open(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Give up the table; the next owner continues from its own."""
        self._seen.rows.abort()
        try:
            self._table.release(partitions)
        except CorruptState as error:
            log.warning("a table did not close: %s", error)

    def ready(self) -> Iterable[int]:
        """Return the partitions whose table has newly caught up."""
        return self._table.ready()

    def settled(self, claimed: Iterable[int]) -> Iterable[int]:
        """Return the partitions whose table holds all that previous owners wrote."""
        self._table.settle(claimed)
        return self._table.settled()

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return the outputs of each message that is new, and of each record.

        The deletions of old rows are among the outputs of a partition's last record.
        """
        outcomes = [self._outcome(record) for record in records]
        given: dict[Partition, list[int]] = defaultdict(list)
        for at, (record, outcome) in enumerate(zip(records, outcomes, strict=True)):
            if not isinstance(outcome, InvalidRecord):
                given[record.partition].append(at)
        for places in given.values():
            deletions = self._seen.swept([records[at] for at in places])
            last = outcomes[places[-1]]
            if deletions and not isinstance(last, InvalidRecord):
                outcomes[places[-1]] = (*last, *deletions)
        return outcomes

    def committed(self, written: Mapping[Partition, int]) -> None:
        """Write the rows that the batch has changed to the table."""
        self._seen.rows.commit(written)

    def aborted(self) -> None:
        """Drop the rows that the batch has changed."""
        self._seen.rows.abort()

    def reread(self) -> None:
        """Read what the last batch may have written to the changelog."""
        self._table.reread()

    def drop_state(self) -> Iterable[int]:
        """Delete damaged tables; their records wait until they are restored."""
        return self._table.drop()

    def progress(self) -> Sequence[TableProgress]:
        """Return the progress of the table."""
        return self._table.progress()

    def close(self) -> None:
        """Release the table's files."""
        self._table.close()

    def _outcome(self, record: Record) -> Outcome:
        judged = Judged(record)
        try:
            routed = self._routed(record, partial(self._seen.is_new, judged))
            outputs = self._outputs(record, routed, judged)
        except InvalidRecord as error:
            return error
        # Only now: a message that became a dead letter may be sent again.
        return (*outputs, *self._seen.put(judged))
