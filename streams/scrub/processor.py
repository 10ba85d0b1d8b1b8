"""Join each note with what is known of the patient, scrub it, and give an account."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import metadata
from typing import Any

import orjson

from deid_core import (
    Deidentifier,
    DeidError,
    DetectorFailed,
    Document,
    Label,
    ResidueFound,
    ScrubbedDocument,
    residue_in,
)
from schemas import SchemaError, checker

from ..cluster.partitioner import partition_of
from ..cluster.topics import NOTES_SCRUBBED
from ..engine.errors import CorruptState, InvalidRecord
from ..engine.reasons import ReasonCode
from ..engine.records import Output, Record
from ..engine.runner import Outcome
from ..events.notes import ClinicalNote
from ..events.outputs import audit_event, dead_letter, encoded, source_position
from ..events.pseudonyms import Pseudonyms
from ..patients.table import PatientsTable
from .join import KnownCache

log = logging.getLogger(__name__)

_DAY_OR_YEAR = re.compile(r"[0-9]{4}(?:-[0-9]{2}-[0-9]{2})?")
_STANDARD_TYPE = re.compile(r"[0-9]{1,6}-[0-9]|[A-Z]{3}_[A-Z][0-9]{2}")

_MAY_BE_A_DATE = re.compile(
    r"[0-9]{6}|[0-9]{4}[-./][0-9]|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2}"
)

Result = ScrubbedDocument | DeidError

WAIT_AGAIN = 10.0
"""Seconds after which an unknown patient's record in flight is waited for again."""
MOST_WAITED = 10_000


@dataclass(frozen=True, slots=True)
class Joined:
    """A note with all that is known about its patient."""

    record: Record
    note: ClinicalNote = field(repr=False)
    document: Document = field(repr=False)
    is_known: bool


class Scrub:
    """The processor of `notes`.

    Args:
        make: Returns the pipeline of deid_core; called again after an interruption.
        table: The assigned partitions of `patients`; opened and closed here.
        pseudonyms: For the keys and ids of the outputs.
        partitions: How many partitions `notes` and `patients` have.
        preset: The name under which detection was set up, for the outputs.
        policy: Likewise of replacement.
        max_bytes: A larger note is a dead letter.
        join_wait: Seconds to wait for an unknown patient's record in flight.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        make: Callable[[], Deidentifier],
        table: PatientsTable,
        pseudonyms: Pseudonyms,
        partitions: int,
        *,
        preset: str,
        policy: str,
        max_bytes: int,
        join_wait: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._make = make
        self._deidentifier = make()
        self._table = table
        self._pseudonyms = pseudonyms
        self._partitions = partitions
        self._preset, self._policy = preset, policy
        self._max_bytes = max_bytes
        self._join_wait = join_wait
        self._clock = clock
        self._known = KnownCache()
        self._to_open: set[int] = set()
        self._waited: dict[bytes | None, float] = {}
        self._version = metadata.version("phistream")

    def assigned(self, partitions: Sequence[int]) -> None:
        """Open the tables of new partitions with the next call of `ready`."""
        self._to_open.update(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Close the tables, so that the next owner starts where they are."""
        self._to_open.difference_update(partitions)
        try:
            self._table.close(partitions)
        except CorruptState as error:
            log.warning("a table did not close: %s", error)

    def ready(self) -> Iterable[int]:
        """Return the partitions whose table has newly caught up."""
        if self._to_open:
            self._table.open(sorted(self._to_open))
            self._to_open.clear()
        return self._table.ready()

    def prepare(self, records: Sequence[Record]) -> None:
        """Read what is known of the notes' patients until now."""
        self._table.catch_up({record.partition.index for record in records})
        self._wait_for({r.key: r for r in records if self._is_unknown(r)})

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return the scrubbed note and the audit event of each note."""
        joined = [self._join(record, self._decoded(record)) for record in records]
        documents = [each.document for each in joined if isinstance(each, Joined)]
        results = iter(_whole(self._deidentifier.deidentify_batch(documents)))
        return [
            self._outcome(each, next(results)) if isinstance(each, Joined) else each
            for each in joined
        ]

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the dead letter of a note, and its audit event."""
        facts = {"outcome": "dead_letter", "code": error.code, "at_ms": self._now()}
        return (
            dead_letter("scrub", record, error),
            audit_event("scrub", record, None, 1, facts),
        )

    def committed(self) -> None:
        """Nothing is held between batches."""

    def aborted(self) -> None:
        """Nothing is held between batches."""

    def rebuild(self) -> None:
        """Make the pipeline and the cache of patients anew."""
        self._known = KnownCache()
        self._deidentifier = self._make()

    def drop_state(self) -> Iterable[int]:
        """Delete the tables; their notes wait until they are restored."""
        return self._table.drop()

    def close(self) -> None:
        """Let go of the tables' files."""
        self._table.close()

    def _decoded(self, record: Record) -> ClinicalNote | InvalidRecord:
        try:
            note = decode(record, max_bytes=self._max_bytes)
        except InvalidRecord as error:
            return error
        if record.key != note.patient.key:
            return InvalidRecord(
                ReasonCode.WRONG_KEY, "notes: the key is not the note's patient"
            )
        if partition_of(note.patient.key, self._partitions) != record.partition.index:
            return InvalidRecord(
                ReasonCode.WRONG_PARTITION,
                "notes: the key belongs to another partition, where the join would "
                "miss; the producer needs partitioner=murmur2_random",
            )
        return note

    def _wait_for(self, unknown: Mapping[bytes | None, Record]) -> None:
        """Wait for what is in flight, for patients not waited for a moment ago."""
        now = self._clock()
        new = [key for key in unknown if now - self._waited.get(key, 0) > WAIT_AGAIN]
        if not new or not self._join_wait:
            return
        partitions = {unknown[key].partition.index for key in new}
        self._table.catch_up(partitions, in_flight=self._join_wait)
        if len(self._waited) > MOST_WAITED:
            self._waited.clear()
        self._waited.update(dict.fromkeys(new, now))

    def _is_unknown(self, record: Record) -> bool:
        if record.key is None:
            return False
        try:
            return self._table.get(record.partition.index, record.key) is None
        except InvalidRecord:
            return False

    def _join(
        self, record: Record, note: ClinicalNote | InvalidRecord
    ) -> Joined | InvalidRecord:
        if isinstance(note, InvalidRecord):
            return note
        try:
            row = self._row(record, note)
            known = self._known.identifiers(note.patient.key, row, note.demographics)
        except InvalidRecord as error:
            return error
        except (ValueError, KeyError, TypeError) as error:
            return InvalidRecord(
                ReasonCode.PATIENT_RECORD,
                f"patients: {type(error).__name__} in what is known of the patient",
            )
        patient = note.patient.key.decode()
        document = Document(note.note_id, note.text, known, patient, note.note_type)
        return Joined(record, note, document, row is not None)

    def _row(self, record: Record, note: ClinicalNote) -> bytes | None:
        return self._table.get(record.partition.index, note.patient.key)

    def _outcome(self, joined: Joined, result: Result) -> Outcome:
        if isinstance(result, DeidError):
            return InvalidRecord(_code(result), str(result))
        if residue_in(joined.document.known, [joined.note.note_type]):
            return InvalidRecord(
                ReasonCode.RESIDUE,
                "notes: note_type holds a value of the patient's record",
            )
        try:
            written_at = self._publishable_day(joined)
        except Exception as error:
            # As in deid_core: a bug of ours refuses the note, not the whole batch.
            return InvalidRecord(
                ReasonCode.DEID_ERROR, f"notes: written_at: {type(error).__name__}"
            )
        note, pseudonyms = joined.note, self._pseudonyms
        patient = pseudonyms.patient(note.patient.key)
        common = {
            "note_id": pseudonyms.note(note.patient.key, note.note_id),
            "patient": patient,
            "key_id": pseudonyms.key_id,
            "preset": self._preset,
            "policy": self._policy,
            "join": "found" if joined.is_known else "missing",
            "note_type": _publishable_type(joined),
        }
        scrubbed = common | {
            "text": result.text,
            "offsets": [list(row) for row in result.offset_map.rows],
            "source": source_position(joined.record),
        }
        audit = common | {
            "outcome": "scrubbed",
            "at_ms": self._now(),
            "version": self._version,
            "characters": len(note.text),
            "annotations": annotations_json(result),
        }
        if written_at:
            scrubbed["written_at"] = written_at
        key = patient.encode()
        return (
            encoded(NOTES_SCRUBBED, key, scrubbed, joined.record),
            audit_event("scrub", joined.record, key, 1, audit),
        )

    def _publishable_day(self, joined: Joined) -> str:
        """Return the day of the note as the policy writes dates; "" if not as a date.

        A tag or a pseudonym says nothing here, and a time of day is never published.
        """
        day = joined.note.written_at[:10]
        if not _is_day(day):
            return ""
        written = self._deidentifier.replaced_value(joined.document, Label.DATE, day)
        return written if _DAY_OR_YEAR.fullmatch(written) else ""

    def _now(self) -> int:
        return int(self._clock() * 1000)


def decode(record: Record, *, max_bytes: int) -> ClinicalNote:
    """Return the note that a record of `notes` holds.

    Raises:
        InvalidRecord: Its value is null, too large, not JSON, or breaks its schema.
    """
    if record.value is None:
        raise InvalidRecord(ReasonCode.NULL_VALUE, "notes: a null value is no note")
    if len(record.value) > max_bytes:
        raise InvalidRecord(
            ReasonCode.TOO_LARGE, f"notes: the value is over {max_bytes} bytes"
        )
    try:
        value = orjson.loads(record.value)
        checker("notes")(value)
    except orjson.JSONDecodeError:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "notes: the value is not JSON"
        ) from None
    except SchemaError as error:
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None
    return ClinicalNote.from_json(value)


def annotations_json(scrubbed: ScrubbedDocument) -> list[dict[str, Any]]:
    """Return what was found, where, and by which detector; no text."""
    return [
        {
            "start": each.span.start,
            "end": each.span.end,
            "label": each.label.value,
            "score": round(each.score, 4),
            "detector": each.source,
        }
        for each in scrubbed.annotations
    ]


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _whole(results: Sequence[Result]) -> Sequence[Result]:
    """Return the results, unless memory ran out: what fails next is chance then.

    Raises:
        MemoryError: It did.  The process is to end, and the record that takes all
            memory is found as any other that ends its worker.
    """
    for result in results:
        if isinstance(result, DetectorFailed) and str(result).endswith("MemoryError"):
            raise MemoryError
    return results


def _publishable_type(joined: Joined) -> str:
    """Return the note's type; of an unknown patient only LOINC codes and HL7 events.

    A sender's own code was looked at with the record; without one it may be a name.
    One that may hold a date is not published either: no policy would shift it.
    """
    code = joined.note.note_type
    if _STANDARD_TYPE.fullmatch(code):
        return code
    return code if joined.is_known and not _MAY_BE_A_DATE.search(code) else ""


def _code(error: DeidError) -> ReasonCode:
    if isinstance(error, DetectorFailed):
        return ReasonCode.DETECTOR_FAILED
    is_leak = isinstance(error, ResidueFound)
    return ReasonCode.RESIDUE if is_leak else ReasonCode.DEID_ERROR
