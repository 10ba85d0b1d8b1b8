"""The processor of `phistream rescrub`: join with the table as it is now, scrub, write.

It only reads the table: its rows are those of the changelog that scrub writes, read up
to its end before each batch, so that a patient who is erased meanwhile is left out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from streams.engine.errors import CorruptState, InvalidRecord
from streams.engine.keys.office import OfficePublicKey
from streams.engine.observer import HeldProgress, TableProgress
from streams.engine.records import Output, Partition, Record
from streams.engine.runner import Outcome
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topics import RESCRUB
from streams.model.audit import AuditEvent
from streams.model.outputs import sealed_letter
from streams.pipeline.scrub.decode import decode, require_key
from streams.pipeline.scrub.join import Joined, PatientJoin
from streams.pipeline.scrub.outputs import Destination
from streams.pipeline.scrub.scrubbing import NoteScrubber

from .erasures import Erasures

log = logging.getLogger(__name__)

LEFT_OUT = "left_out"


class Published(Protocol):
    """The offsets of the notes that the live feed has published."""

    def __getitem__(self, partition: int) -> Container[int]:
        """Return the offsets of a partition."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of size, in bytes.

    Args:
        note: A larger note is a dead letter.
        part: So is a larger part of a message.
    """

    note: int
    part: int


class Rescrub:
    """The processor of `notes` that the live feed has published.

    Args:
        scrubber: De-identifies.
        table: Rows of `patients`; opened and closed here, never written.
        erasures: Of patients, by the time of the last.
        published: The notes to scrub; others give nothing.
        to: Where outputs go.
        version: Of the topics that are written.
        partitions: The number of partitions of `notes` and `patients`.
        office: For which dead letters are sealed.
        bounds: Of notes and parts.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        scrubber: NoteScrubber,
        table: ChangelogTable,
        erasures: Erasures,
        published: Published,
        to: Destination,
        version: str,
        partitions: int,
        *,
        office: OfficePublicKey,
        bounds: Bounds,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._scrubber = scrubber
        self._table = table
        self._join = PatientJoin(table)
        self._erasures = erasures
        self._published = published
        self._to = to
        self._version = version
        self._partitions = partitions
        self._office = office
        self._bounds = bounds
        self._clock = clock

    def assigned(self, partitions: Sequence[int]) -> None:
        """Have the tables of new partitions opened by the next call of `ready`."""
        self._table.open(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Give up the tables."""
        self._join.forget()
        try:
            self._table.release(partitions)
        except CorruptState as error:
            log.warning("a table did not close: %s", error)

    def ready(self) -> Iterable[int]:
        """Return the partitions whose table has newly caught up.

        Tables that had caught up before are read to the end of their changelog.
        """
        self._table.reread()
        return self._table.ready()

    def settled(self, claimed: Iterable[int]) -> Iterable[int]:
        """Return the partitions whose table holds all that was committed by now."""
        self._table.settle(claimed)
        return self._table.settled()

    def due(self, claimed: Collection[int]) -> Mapping[int, Sequence[Output]]:
        """Return nothing: no note is held."""
        return {}

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return each scrubbed note with its audit event."""
        prepared = [self._prepared(record) for record in records]
        return self._scrubber.outcomes(prepared)

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the dead letter of a record, and its audit event."""
        letter = sealed_letter(RESCRUB, record, error, self._office, self._version)
        event = AuditEvent(
            stage=RESCRUB,
            outputs=1,
            outcome="dead_letter",
            at_ms=self._now(),
            into=self._version,
            code=error.code,
        )
        return letter, event.output(record, self._to.audit)

    def committed(self, written: Mapping[Partition, int]) -> None:
        """Do nothing: the table is another's."""

    def aborted(self) -> None:
        """Do nothing: no row was changed."""

    def reread(self) -> None:
        """Do nothing: no row was written."""

    def rebuild(self) -> None:
        """Replace the pipeline and the cache of patients."""
        self._join.forget()
        self._scrubber.rebuild()

    def drop_state(self) -> Iterable[int]:
        """Delete damaged tables; their records wait until they are restored."""
        return self._table.drop()

    def progress(self) -> Sequence[TableProgress]:
        """Return the progress of the table."""
        return self._table.progress()

    def held(self) -> Sequence[HeldProgress]:
        """Return nothing."""
        return ()

    def close(self) -> None:
        """Release the tables' files."""
        self._table.close()

    def _prepared(self, record: Record) -> Joined | Outcome:
        index = record.partition.index
        if record.offset not in self._published[index]:
            return ()
        try:
            note = decode(
                record,
                max_bytes=self._bounds.note,
                max_message_bytes=self._bounds.part,
            )
            key = note.patient.key
            require_key(record, key, self._partitions)
            # Without a row the patient was erased, or was never known: which of both
            # can't be seen any more.
            is_gone = self._table.get(index, key) is None
            if is_gone or self._erasures.cover(key, record.timestamp_ms):
                return (self._left_out(record),)
            return self._join.join(record, note)
        except InvalidRecord as error:
            return error

    def _left_out(self, record: Record) -> Output:
        event = AuditEvent(
            stage=RESCRUB, outcome="left_out", at_ms=self._now(), into=self._version
        )
        return event.output(record, self._to.audit)

    def _now(self) -> int:
        return int(self._clock() * 1000)
