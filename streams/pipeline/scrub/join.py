"""Join notes with what is known of their patients, and keep what is known up to date.

The rows are those of the table, and those that the open transaction changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING

import orjson

from deid_core import Document, KnownIdentifiers
from schemas import SchemaError
from schemas.decoding import Decoder
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Record
from streams.kafka.tables.staged import Rows, StagedTable
from streams.kafka.topics import PATIENT_UPDATES, PATIENTS, Topic
from streams.model.held import Release
from streams.model.notes import ClinicalNote
from streams.model.outputs import changelog, encoded
from streams.model.patients.demographics import TYPES, Demographics, PatientRecord
from streams.model.patients.known_identifiers import known_identifiers
from streams.model.patients.updates import PatientUpdate, fold

from .documents import NoteDocuments, documents_of

if TYPE_CHECKING:
    from streams.engine.settings import UnknownPatient

CACHED_ROWS = 4096
LISTS = tuple(kind.name for kind in fields(Demographics) if kind.name != "sex")


@dataclass(frozen=True, slots=True)
class Joined:
    """A note as a document with everything that is known of its patient.

    Args:
        record: The input record.
        note: Its note.
        documents: What is to be scrubbed, with the patient's identifiers.
        is_known: Whether the table holds a name of the patient.
        policy: What is done with the note if no name of the patient is known.
        released: Why it was released, if it was held.
    """

    record: Record
    note: ClinicalNote = field(repr=False)
    documents: NoteDocuments
    is_known: bool
    policy: UnknownPatient = "scrub"
    released: Release | None = None

    @property
    def document(self) -> Document:
        """The document that names the patient and the record."""
        return self.documents.document


class PatientJoin:
    """The records of the patients of the assigned partitions.

    Args:
        table: Their rows as of the last commit.
    """

    def __init__(self, table: Rows) -> None:
        self.rows = StagedTable(PATIENTS, table)
        self._parsed: OrderedDict[bytes, _Row] = OrderedDict()

    def update(self, record: Record, update: PatientUpdate | None) -> list[Output]:
        """Fold an update into its patient's record; return what is to be written.

        Args:
            record: The input record.
            update: Its value; None for a null value, which erases the patient.

        Raises:
            InvalidRecord: Its key is not its patient, or the patient would have too
                many identifiers, or too much text.
        """
        partition, key = record.partition.index, record.key or b""
        if update is None:
            return self._erase(record, key)
        if update.record.patient.key != key:
            raise InvalidRecord(
                ReasonCode.WRONG_KEY,
                "patient.updates: the key is not the update's patient",
            )
        if update.is_only_a_command:
            return []
        row = self._row(partition, key)
        known = None if row is None else row.record
        folded = fold(known, update)
        # What a repeated update forwards is on the topic already.  Behind the null
        # value of an identifier that was erased it would bring the patient back.
        forwards = () if record.is_repeated else folded.forwards
        outputs = [_forward(forwarded, record) for forwarded in forwards]
        if folded.record != known:
            outputs.append(self._put(record, key, folded.record))
        return outputs

    def join(self, record: Record, note: ClinicalNote) -> Joined:
        """Return the note with everything that is known of its patient.

        Raises:
            InvalidRecord: The patient record is unreadable.
        """
        key = note.patient.key
        row = self._row(record.partition.index, key)
        with _refused():
            known = _known(row, note.demographics)
        documents = documents_of(note, known)
        is_known = row is not None and bool(row.known.patient_names)
        return Joined(record, note, documents, is_known)

    def is_named(self, partition: int, key: bytes) -> bool:
        """Return whether the table holds a name of the patient."""
        try:
            row = self._row(partition, key)
        except InvalidRecord:
            return False
        return row is not None and bool(row.known.patient_names)

    def forget(self) -> None:
        """Drop the parsed rows, which an interrupted call may have been changing."""
        self._parsed.clear()

    def _put(self, source: Record, key: bytes, record: PatientRecord) -> Output:
        value = row_value(record)
        _require_size(PATIENTS, key, value)
        self.rows.put(source.partition.index, key, value)
        self._remember(key, _Row(value, record, self._parsed.get(key)))
        return changelog(PATIENTS, key, value, source)

    def _erase(self, source: Record, key: bytes) -> list[Output]:
        partition = source.partition.index
        self._parsed.pop(key, None)
        if self.rows.get(partition, key) is None:
            return []
        self.rows.put(partition, key, None)
        return [changelog(PATIENTS, key, None, source)]

    def _row(self, partition: int, key: bytes) -> _Row | None:
        value = self.rows.get(partition, key)
        if value is None:
            return None
        parsed = self._parsed.get(key)
        if parsed is None or parsed.value != value:
            with _refused():
                # Another program may have written it: a wrong row would be read as far
                # as it goes, and the note scrubbed with less than is known.
                parsed = _Row(value, _decoded(value), parsed)
        self._remember(key, parsed)
        return parsed

    def _remember(self, key: bytes, row: _Row) -> None:
        self._parsed[key] = row
        self._parsed.move_to_end(key)
        if len(self._parsed) > CACHED_ROWS:
            self._parsed.popitem(last=False)


class _Row:
    """A parsed row of the table; what only the join needs is made at its first use.

    Args:
        value: As in the table.
        record: Of the patient.
        before: The row before, if any.  Detectors prepare an object once: with the same
            values the objects are the same, also when a message only confirms them.
    """

    def __init__(
        self, value: bytes, record: PatientRecord, before: _Row | None
    ) -> None:
        self.value = value
        self.record = record
        self._known: KnownIdentifiers | None = None
        if before and _says_the_same(before, record):
            self._known = before._known  # noqa: SLF001  # of the same class

    @property
    def known(self) -> KnownIdentifiers:
        """All values, current and former, as deid_core matches them."""
        if self._known is None:
            self._known = known_identifiers(self.record)
        return self._known

    def holds(self, demographics: Demographics) -> bool:
        """Return whether the row holds every value of the demographics."""
        current, former = self.record.current, self.record.former
        return all(
            values == (now := getattr(current, name))
            or {*now, *getattr(former, name)}.issuperset(values)
            for name in LISTS
            if (values := getattr(demographics, name))
        )


@cache
def _patients() -> Decoder[PatientRecord]:
    return Decoder(PATIENTS.schema, PatientRecord, TYPES)


def _decoded(value: bytes) -> PatientRecord:
    try:
        return _patients().decode(value)
    except SchemaError:
        PATIENTS.require_known_version(value)
        raise


def row_value(record: PatientRecord) -> bytes:
    """Return a row's value: orjson writes dataclasses itself, empty values as well."""
    return orjson.dumps(
        {
            "schema_version": PATIENTS.schema.version,
            "patient": record.patient,
            "updated_at": record.updated_at,
            "current": record.current,
            "former": record.former,
            "merged": record.merged,
            "times": record.times,
        }
    )


def _says_the_same(row: _Row, other: PatientRecord) -> bool:
    record = row.record
    return (
        record.patient == other.patient
        and record.current == other.current
        and record.former == other.former
        and record.merged == other.merged
    )


def _known(row: _Row | None, own: Demographics | None) -> KnownIdentifiers:
    """Return all values of the row, and of the note's own demographics."""
    if row is None:
        return known_identifiers(own)
    if own is None or row.holds(own):
        return row.known
    return known_identifiers(row.record, own)


def _forward(update: PatientUpdate, source: Record) -> Output:
    patient = update.record.patient
    output = encoded(PATIENT_UPDATES, patient.key, update.to_json(), source)
    _require_size(PATIENT_UPDATES, patient.key, output.value or b"")
    return output


def _require_size(topic: Topic, key: bytes, value: bytes) -> None:
    """Refuse an update whose outputs the broker would refuse, again and again."""
    if len(key) + len(value) > topic.max_content_bytes:
        raise InvalidRecord(
            ReasonCode.TOO_LARGE,
            f"{topic.name}: the patient record would be larger than a record may be; "
            "check the values of its sender",
        )


@contextmanager
def _refused() -> Iterator[None]:
    """Refuse a record whose patient's row is unreadable."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(
            ReasonCode.PATIENT_RECORD,
            f"patients: {type(error).__name__} in the patient record; write a null "
            "value under its key to patient.updates, then send the patient and its "
            "merges again",
        ) from None
