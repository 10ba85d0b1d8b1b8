"""The processor of `hl7.raw`: decode, route, merge patient records, write."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import orjson

from ..cluster.partitioner import partition_of
from ..cluster.topics import NOTES, PATIENTS, Stage
from ..engine.errors import InvalidRecord, StreamError
from ..engine.reasons import ReasonCode
from ..engine.records import Output, Record
from ..engine.runner import Outcome
from ..events.outputs import audit_event, dead_letter, encoded
from ..patients.demographics import PatientRecord, merge_records
from ..patients.table import PatientsTable
from .route import Routed, route

log = logging.getLogger(__name__)


class Intake:
    """The processor of `hl7.raw`.

    A patient record is merged with the known one before it is written, so that the
    topic keeps former values.  Known records are those of the table, and those that
    this worker has written and the table has not read back yet.

    Args:
        table: All partitions of `patients`; opened and closed here.
        partitions: The number of partitions of `patients`.
        max_bytes: A larger message is a dead letter.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        table: PatientsTable,
        partitions: int,
        *,
        max_bytes: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table = table
        self._partitions = range(partitions)
        self._max_bytes = max_bytes
        self._clock = clock
        self._waiting: set[int] = set()
        self._behind = set(self._partitions)
        self._is_open = False
        self._staged: dict[bytes, PatientRecord] = {}
        self._unread: dict[bytes, PatientRecord] = {}
        self._repaired: set[bytes] = set()

    def assigned(self, partitions: Sequence[int]) -> None:
        """Have new partitions wait until the whole table has caught up."""
        self._waiting.update(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Stop waiting; no state belongs to a partition of `hl7.raw`."""
        self._waiting.difference_update(partitions)

    def ready(self) -> Iterable[int]:
        """Return the waiting partitions once the table has caught up."""
        if not self._is_open:
            self._table.open(self._partitions)
            self._is_open = True
        if not self._waiting:
            return ()
        self._behind.difference_update(self._table.ready())
        if self._behind:
            return ()
        done, self._waiting = self._waiting, set()
        return done

    def prepare(self, records: Sequence[Record]) -> None:
        """Read the patient records that all workers have written so far."""
        self._table.catch_up(self._partitions)
        self._drop_read_back()

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return the notes, patient records and audit event of each message."""
        outcomes = [self._outcome(record) for record in records]
        return self._with_repairs(records, outcomes)

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the dead letter of a message, and its audit event."""
        return dead_letter(Stage.INTAKE, record, error, self._now())

    def committed(self) -> None:
        """Keep the written records until the table has read them back."""
        self._unread.update(self._staged)
        self._staged.clear()
        self._repaired.clear()

    def aborted(self) -> None:
        """Drop the records that the batch would have written."""
        self._staged.clear()
        self._table.incomplete.update(self._repaired)
        self._repaired.clear()

    def rebuild(self) -> None:
        """Do nothing: `aborted` drops everything that is changed in place."""

    def drop_state(self) -> Iterable[int]:
        """Restore the table; no partition waits, since `prepare` catches up first."""
        self._table.drop()
        return ()

    def close(self) -> None:
        """Release the table's files."""
        self._table.close()

    def _outcome(self, record: Record) -> Outcome:
        try:
            routed = self._routed(record)
            return self._outputs(record, self._merged(record, routed), routed)
        except InvalidRecord as error:
            return error

    def _routed(self, record: Record) -> Routed:
        try:
            return route(record.value, max_bytes=self._max_bytes)
        except InvalidRecord:
            raise
        except Exception as error:
            # A bug must not stop the messages behind this one.
            log.exception("%s: the decoder failed", record)
            raise InvalidRecord(
                ReasonCode.DECODER_FAILED, f"hl7.raw: {type(error).__name__}; report it"
            ) from None

    def _merged(self, record: Record, routed: Routed) -> Sequence[PatientRecord]:
        try:
            return self._changes(routed)
        except (InvalidRecord, StreamError):
            raise
        except Exception as error:
            log.exception("%s: a patient record can't be merged", record)
            raise InvalidRecord(
                ReasonCode.MERGE_FAILED,
                f"patients: {type(error).__name__} while the patient record was "
                "merged; report it",
            ) from None

    def _changes(self, routed: Routed) -> Sequence[PatientRecord]:
        """Return the patient records that the message changes, all or none."""
        known = {u.patient.key: self._history(u) for u in routed.updates}
        changed = []
        for update in routed.updates:
            key = update.patient.key
            before, history = known[key]
            merged = merge_records(history, update)
            if not _is_unchanged(before, merged):
                known[key] = (merged, merged)
                changed.append(merged)
        self._staged.update((each.patient.key, each) for each in changed)
        return changed

    def _outputs(
        self, record: Record, changed: Sequence[PatientRecord], routed: Routed
    ) -> Sequence[Output]:
        patients = [_patient(each, record) for each in changed]
        notes = [
            encoded(NOTES, note.patient.key, note.to_json(), record)
            for note in routed.notes
        ]
        counts = {
            "patients": len(patients),
            "notes": len(notes),
            "skipped": dict(routed.skipped),
        }
        facts = {"outcome": "routed", "routed": counts, "at_ms": self._now()}
        audit = audit_event(Stage.INTAKE, record, None, len(notes), facts)
        return (*patients, *notes, audit)

    def _history(
        self, update: PatientRecord
    ) -> tuple[PatientRecord | None, PatientRecord | None]:
        """Return the known record, without and with those of merged identifiers."""
        before = history = self._known(update.patient.key)
        for merged in update.merged:
            other = self._known(merged.key)
            if other is not None:
                history = merge_records(history, replace(other, patient=update.patient))
        return before, history

    def _known(self, key: bytes) -> PatientRecord | None:
        if key in self._staged:
            return self._staged[key]
        raw = self._table.get(partition_of(key, len(self._partitions)), key)
        record = None if raw is None else PatientRecord.from_json(orjson.loads(raw))
        unread = self._unread.get(key)
        return record if unread is None else merge_records(record, unread)

    def _drop_read_back(self) -> None:
        for key, unread in list(self._unread.items()):
            raw = self._table.get(partition_of(key, len(self._partitions)), key)
            if raw is None:
                continue
            record = PatientRecord.from_json(orjson.loads(raw))
            if merge_records(record, unread) == record:
                del self._unread[key]

    def _with_repairs(
        self, records: Sequence[Record], outcomes: list[Outcome]
    ) -> Sequence[Outcome]:
        """Add patient records that another worker's concurrent update was missing."""
        for at, (record, outcome) in enumerate(zip(records, outcomes, strict=True)):
            if not self._table.incomplete or isinstance(outcome, InvalidRecord):
                continue
            repairs = [
                _patient(known, record)
                for key in self._table.incomplete - self._staged.keys()
                if (known := self._known(key)) is not None
            ]
            outcomes[at] = (*outcome, *repairs)
            self._repaired |= self._table.incomplete
            self._table.incomplete.clear()
        return outcomes

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _patient(record: PatientRecord, source: Record) -> Output:
    return encoded(PATIENTS, record.patient.key, record.to_json(), source)


def _is_unchanged(known: PatientRecord | None, merged: PatientRecord) -> bool:
    return known is not None and replace(merged, updated_at=known.updated_at) == known
