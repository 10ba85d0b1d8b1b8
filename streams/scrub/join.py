"""Join notes with what is known of their patients: the table and the note's message."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache

import orjson

from deid_core import Document, KnownIdentifiers

from ..engine.errors import InvalidRecord
from ..engine.reasons import ReasonCode
from ..engine.records import Record
from ..events.notes import ClinicalNote
from ..patients.demographics import Demographics, PatientRecord
from ..patients.known_identifiers import known_identifiers
from ..patients.table import PatientsTable

CACHED_ROWS = 4096
MAX_WAITED_FOR = 10_000
WAIT_AGAIN_SECONDS = 10.0
"""Time after which an unknown patient's record in flight is waited for again."""
LISTS = tuple(each.name for each in fields(Demographics) if each.name != "sex")


@dataclass(frozen=True, slots=True)
class Joined:
    """A note as a document with everything that is known of its patient.

    Args:
        record: The input record.
        note: Its note.
        document: The note's text and the patient's identifiers.
        is_known: Whether the table holds the patient.
    """

    record: Record
    note: ClinicalNote = field(repr=False)
    document: Document = field(repr=False)
    is_known: bool


class PatientJoin:
    """Joins notes with the rows of the patients table.

    Args:
        table: The assigned partitions of `patients`, opened by the processor.
        in_flight_seconds: How long to wait for an unknown patient's record in flight.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        table: PatientsTable,
        in_flight_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table = table
        self._in_flight_seconds = in_flight_seconds
        self._clock = clock
        self._rows: dict[tuple[int, bytes], bytes | None] = {}
        self._waited_at: dict[bytes, float] = {}
        self.forget()

    def prepare(self, records: Sequence[Record]) -> None:
        """Read the table to its end, and the rows of these records' patients.

        The table does not change until the next call: neither do the rows.
        """
        self._rows.clear()
        self._table.catch_up({record.partition.index for record in records})
        self._wait_for([record for record in records if self._is_unknown(record)])

    def join(self, record: Record, note: ClinicalNote) -> Joined:
        """Return the note with everything that is known of its patient.

        Raises:
            InvalidRecord: The patient record is unreadable.
        """
        key = note.patient.key
        row = self._row(record.partition.index, key)
        try:
            known = self._identifiers(row, note.demographics)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidRecord(
                ReasonCode.PATIENT_RECORD,
                f"patients: {type(error).__name__} in the patient record; write a "
                "tombstone under its key, then send the patient again",
            ) from None
        document = Document(
            note.note_id, note.text, known, key.decode(), note.note_type
        )
        return Joined(record, note, document, row is not None)

    def forget(self) -> None:
        """Drop the parsed rows, which an interrupted call may have been changing."""
        # The detectors prepare an object once: the same row gives the same object.
        self._parsed = lru_cache(CACHED_ROWS)(_parse)

    def _identifiers(
        self, row: bytes | None, own: Demographics | None
    ) -> KnownIdentifiers:
        """Return all values of the row, and of the note's own demographics."""
        if row is None:
            return known_identifiers(own)
        parsed = self._parsed(row)
        if own is None or parsed.holds(own):
            return parsed.known
        return known_identifiers(parsed.record, own)

    def _row(self, partition: int, key: bytes) -> bytes | None:
        if (partition, key) not in self._rows:
            self._rows[partition, key] = self._table.get(partition, key)
        return self._rows[partition, key]

    def _is_unknown(self, record: Record) -> bool:
        try:
            key = record.key
            return key is not None and self._row(record.partition.index, key) is None
        except InvalidRecord:
            return False

    def _wait_for(self, records: Sequence[Record]) -> None:
        """Wait for records in flight of patients that were not waited for recently."""
        now = self._clock()
        new = {
            record.key: record.partition.index
            for record in records
            if record.key is not None
            and now - self._waited_at.get(record.key, 0) > WAIT_AGAIN_SECONDS
        }
        if not new or not self._in_flight_seconds:
            return
        self._table.wait_for_open_transactions({*new.values()}, self._in_flight_seconds)
        self._rows.clear()
        if len(self._waited_at) > MAX_WAITED_FOR:
            self._waited_at.clear()
        self._waited_at.update(dict.fromkeys(new, now))


@dataclass(frozen=True, slots=True)
class _Row:
    """A parsed row of the table."""

    record: PatientRecord
    values: dict[str, frozenset[object]] = field(repr=False)
    known: KnownIdentifiers

    def holds(self, demographics: Demographics) -> bool:
        """Return whether the row holds every value of the demographics."""
        return all(
            self.values[name].issuperset(getattr(demographics, name)) for name in LISTS
        )


def _parse(row: bytes) -> _Row:
    record = PatientRecord.from_json(orjson.loads(row))
    values = {
        name: frozenset(getattr(record.current, name) + getattr(record.former, name))
        for name in LISTS
    }
    return _Row(record, values, known_identifiers(record))
