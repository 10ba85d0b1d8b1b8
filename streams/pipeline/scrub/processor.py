"""The processor of `notes` and `patient.updates`: each step after the other."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from deid_core import Deidentifier
from streams.engine.errors import ConfigError, CorruptState, InvalidRecord, StreamError
from streams.engine.keys.office import OfficePublicKey
from streams.engine.observer import (
    Entered,
    HeldProgress,
    Step,
    TableProgress,
    unobserved,
)
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.engine.runner import Outcome
from streams.kafka.partitioner import partition_of
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topics import PATIENT_UPDATES, PATIENTS, Stage
from streams.kafka.wire_format import InputFormat
from streams.model.audit import dead_letter
from streams.model.outputs import require_headers
from streams.model.patients.updates import PatientUpdate, decode_update

from .decode import decode, require_key
from .held import HeldNotes, UnknownPatients
from .join import Joined, PatientJoin
from .outputs import ScrubOutputs
from .scrubbing import NoteScrubber
from .tables import Tables

log = logging.getLogger(__name__)

SAMPLED_ROWS = 64
"""Of a partition, to see whether its keys belong there: with another number of
partitions hardly any of them would."""


class Scrub:
    """The processor of `notes` and `patient.updates`.

    Args:
        make: Returns the pipeline of deid_core; called again after an interruption.
            Its key does not matter.
        table: The assigned partitions of `patients`; opened and closed here.
        held: The assigned partitions of `notes.held`; opened and closed here.
        unknown: What is done with notes of whose patient no name is known.
        outputs: Makes the outputs of scrubbed notes.
        partitions: The number of partitions of both topics, and of `patients`.
        office: For which dead letters are sealed.
        max_bytes: A larger note is a dead letter.
        max_message_bytes: So is a larger part of a message.
        wire_format: Of updates; by default they may not have a registry's.
        keep_copies: Called in each turn of the loop, for tables of other workers.
        entered: Called at each step.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        make: Callable[[], Deidentifier],
        table: ChangelogTable,
        held: ChangelogTable,
        unknown: UnknownPatients,
        outputs: ScrubOutputs,
        partitions: int,
        *,
        office: OfficePublicKey,
        max_bytes: int,
        max_message_bytes: int = 0,
        wire_format: InputFormat | None = None,
        keep_copies: Callable[[], None] = lambda: None,
        entered: Entered = unobserved,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._scrubber = NoteScrubber(make, outputs, clock, entered)
        self._patients = table
        self._tables = Tables(table, held)
        self._join = PatientJoin(table)
        self._held = HeldNotes(held, unknown, outputs, self._join.is_named, self._now)
        self._partitions = partitions
        self._office = office
        self._max_bytes = max_bytes
        self._max_message_bytes = max_message_bytes
        self._wire_format = wire_format or InputFormat()
        self._keep_copies = keep_copies
        self._entered = entered
        self._clock = clock

    def assigned(self, partitions: Sequence[int]) -> None:
        """Have the tables of new partitions opened by the next call of `ready`."""
        self._tables.open(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Give up the tables; the next owner continues from its own."""
        self._join.rows.abort()
        self._join.forget()
        self._held.abort()
        self._held.close(partitions)
        try:
            self._tables.release(partitions)
        except CorruptState as error:
            log.warning("a table did not close: %s", error)

    def ready(self) -> Iterable[int]:
        """Return the partitions whose table has newly caught up."""
        self._keep_copies()
        return self._tables.ready()

    def settled(self, claimed: Iterable[int]) -> Iterable[int]:
        """Return the partitions whose table holds all that previous owners wrote."""
        settled = self._tables.settled(claimed)
        self._require_partitions(settled)
        self._held.open(settled)
        return settled

    def due(self, claimed: Collection[int]) -> Mapping[int, Sequence[Output]]:
        """Return what releases held notes by time, or by a name that is known now."""
        return self._held.due(claimed)

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return what each update writes, and each scrubbed note with its audit event.

        The updates of a partition come before its notes.
        """
        prepared: list[Joined | Outcome] = [
            self._prepared(record) for record in records
        ]
        outcomes: list[Outcome] = self._scrubber.outcomes(prepared)
        return [
            (*outcome, *self._held.done(note.record))
            if isinstance(note, Joined) and not isinstance(outcome, InvalidRecord)
            else outcome
            for note, outcome in zip(prepared, outcomes, strict=True)
        ]

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the dead letter of a record, and its audit event."""
        letter = dead_letter(Stage.SCRUB, record, error, self._now(), self._office)
        return (*letter, *self._held.done(record))

    def committed(self, written: Mapping[Partition, int]) -> None:
        """Write the rows that the batch has changed to the tables."""
        self._join.rows.commit(written)
        self._held.commit(written)

    def aborted(self) -> None:
        """Drop the rows that the batch has changed."""
        self._join.rows.abort()
        self._held.abort()

    def reread(self) -> None:
        """Read what the last batch may have written to the changelogs."""
        self._tables.reread()
        self._held.forget()

    def rebuild(self) -> None:
        """Replace the pipeline, the cache of patients, and the index of held notes."""
        self._join.forget()
        self._held.forget()
        self._scrubber.rebuild()

    def drop_state(self) -> Iterable[int]:
        """Delete damaged tables; their records wait until they are restored."""
        dropped = self._tables.drop()
        self._held.close(dropped)
        return dropped

    def progress(self) -> Sequence[TableProgress]:
        """Return the progress of each table."""
        return self._tables.progress()

    def held(self) -> Sequence[HeldProgress]:
        """Return the notes that wait for demographics."""
        return self._held.progress()

    def close(self) -> None:
        """Release the tables' files."""
        self._tables.close()

    def _prepared(self, record: Record) -> Joined | Outcome:
        self._entered(Step.DECODE, (record,))
        try:
            require_headers(record)
            if record.partition.topic == PATIENT_UPDATES.name:
                require_key(record, record.key or b"", self._partitions)
                return self._updated(record)
            note = decode(
                record,
                max_bytes=self._max_bytes,
                max_message_bytes=self._max_message_bytes,
            )
            require_key(record, note.patient.key, self._partitions)
            self._entered(Step.JOIN, (record,))
            return self._held.admit(self._join.join(record, note))
        except InvalidRecord as error:
            return error

    def _updated(self, record: Record) -> Outcome:
        try:
            update = self._update(record.value)
            self._entered(Step.JOIN, (record,))
            outputs = self._join.update(record, update)
        except (InvalidRecord, StreamError):
            raise
        except Exception as error:
            log.exception("%s: a patient record can't be merged", record)
            raise InvalidRecord(
                ReasonCode.MERGE_FAILED,
                f"patient.updates: {type(error).__name__} while the patient record was "
                "merged; report it",
            ) from None
        self._held.updated(record.partition.index, record.key or b"")
        if update is not None and update.command is not None:
            outputs += self._held.obey(record, update.command)
        return outputs

    def _require_partitions(self, partitions: Iterable[int]) -> None:
        """Check that the rows of partitions lie where notes of their keys come.

        Raises:
            ConfigError: They do not, so that the join would miss them.
        """
        for partition in partitions:
            rows = islice(self._patients.scan(partition, b""), SAMPLED_ROWS)
            if any(partition_of(key, self._partitions) != partition for key, _ in rows):
                raise ConfigError(
                    f"{PATIENTS.name}[{partition}] holds patients of other partitions, "
                    "and notes would be joined with nothing: partitions were added "
                    "while records were there; see runbook, wrong_partition"
                )

    def _update(self, value: bytes | None) -> PatientUpdate | None:
        if value is None:
            return None
        return decode_update(self._wire_format.accepted(value, PATIENT_UPDATES.name))

    def _now(self) -> int:
        return int(self._clock() * 1000)
