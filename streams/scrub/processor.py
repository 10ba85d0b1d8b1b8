"""The processor of `notes` and `patient.updates`: fold, join, de-identify, write."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice

import orjson

from deid_core import Deidentifier, ScrubbedDocument
from schemas import Schema, SchemaError
from schemas.decoding import Decoder

from ..cluster.partitioner import partition_of
from ..cluster.topics import NOTES, PATIENT_UPDATES, PATIENTS, Stage
from ..cluster.wire_format import InputFormat
from ..engine.errors import (
    ConfigError,
    CorruptState,
    InvalidRecord,
    StreamError,
)
from ..engine.observer import HeldProgress, TableProgress
from ..engine.reasons import ReasonCode
from ..engine.records import Output, Partition, Record
from ..engine.runner import Outcome
from ..events.notes import ClinicalNote
from ..events.outputs import dead_letter, received_ms
from ..keys.office import OfficePublicKey
from ..patients.demographics import TYPES
from ..patients.updates import PatientUpdate, decode_update
from ..tables.table import ChangelogTable
from .held import HeldNotes, UnknownPatients
from .join import Joined, PatientJoin
from .outputs import ScrubOutputs
from .parts import Texts, rebuilt
from .tables import Tables
from .values import PatientValues

log = logging.getLogger(__name__)

SAMPLED_ROWS = 64
"""Of a partition, to see whether its keys belong there: with another number of
partitions hardly any of them would."""

# Intake writes the version first.
_VERSION_1 = b'{"schema_version":1,'


class Scrub:
    """The processor of `notes` and `patient.updates`.

    Args:
        make: Returns the pipeline of deid_core; called again after an interruption.
            Its key does not matter.
        table: The assigned partitions of `patients`; opened and closed here.
        held: Those of `notes.held`; likewise.
        unknown: What is done with notes of whose patient no name is known.
        outputs: Makes the outputs of scrubbed notes.
        partitions: The number of partitions of both topics, and of `patients`.
        office: For which dead letters are sealed.
        max_bytes: A larger note is a dead letter.
        max_message_bytes: So is a larger part of a message.
        wire_format: Of updates; by default they may not have a registry's.
        keep_copies: Called in each turn of the loop, for tables of other workers.
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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._make = make
        self._keys = outputs.keys
        self._systems = self._made()
        self._patients = table
        self._tables = Tables(table, held)
        self._join = PatientJoin(table)
        self._held = HeldNotes(held, unknown, outputs, self._join.is_named, self._now)
        self._outputs = outputs
        self._partitions = partitions
        self._office = office
        self._max_bytes = max_bytes
        self._max_message_bytes = max_message_bytes
        self._wire_format = wire_format or InputFormat()
        self._keep_copies = keep_copies
        self._clock = clock

    def assigned(self, partitions: Sequence[int]) -> None:
        """Have the tables of new partitions opened by the next call of `ready`."""
        self._tables.open(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Give up the tables; the next owner continues from its own."""
        self._join.abort()
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

    def due(self) -> Mapping[int, Sequence[Output]]:
        """Return what releases held notes by time, or by a name that is known now."""
        return self._held.due()

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return what each update writes, and each scrubbed note with its audit event.

        The updates of a partition come before its notes.
        """
        prepared = [self._prepared(record) for record in records]
        joined = [each for each in prepared if isinstance(each, Joined)]
        texts: dict[str, Texts] = {}
        for each in joined:
            key_id = self._key_id(each.record)
            if key_id not in texts:
                texts[key_id] = Texts(self._systems[key_id])
            texts[key_id].add(each.documents)
        for of_key in texts.values():
            of_key.scrub()
        return [
            self._outcome(each, texts[self._key_id(each.record)])
            if isinstance(each, Joined)
            else each
            for each in prepared
        ]

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the dead letter of a record, and its audit event."""
        letter = dead_letter(Stage.SCRUB, record, error, self._now(), self._office)
        return (*letter, *self._held.done(record))

    def committed(self, written: Mapping[Partition, int]) -> None:
        """Write the rows that the batch has changed to the tables."""
        self._join.commit(written)
        self._held.commit(written)

    def aborted(self) -> None:
        """Drop the rows that the batch has changed."""
        self._join.abort()
        self._held.abort()

    def reread(self) -> None:
        """Read what the last batch may have written to the changelogs."""
        self._tables.reread()
        self._held.forget()

    def rebuild(self) -> None:
        """Replace the pipeline, the cache of patients, and the index of held notes."""
        self._join.forget()
        self._held.forget()
        self._systems = self._made()

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
        try:
            if record.partition.topic == PATIENT_UPDATES.name:
                self._require_key(record, record.key or b"")
                return self._updated(record)
            note = decode(
                record,
                max_bytes=self._max_bytes,
                max_message_bytes=self._max_message_bytes,
            )
            self._require_key(record, note.patient.key)
            return self._held.admit(self._join.join(record, note))
        except InvalidRecord as error:
            return error

    def _updated(self, record: Record) -> Outcome:
        try:
            update = self._update(record.value)
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

    def _require_key(self, record: Record, key: bytes) -> None:
        topic = record.partition.topic
        if record.key != key:
            raise InvalidRecord(
                ReasonCode.WRONG_KEY, f"{topic}: the key is not that of the patient"
            )
        if partition_of(key, self._partitions) != record.partition.index:
            raise InvalidRecord(
                ReasonCode.WRONG_PARTITION,
                f"{topic}: the key belongs to another partition, where the join would "
                "miss; the producer needs partitioner=murmur2_random",
            )

    def _outcome(self, joined: Joined, texts: Texts) -> Outcome:
        try:
            scrubbed = texts.of(joined.documents)
            if joined.note.format:
                return self._rebuilt(joined, scrubbed)
        except InvalidRecord as error:
            return error
        return self._note(joined, *scrubbed)

    def _rebuilt(self, joined: Joined, scrubbed: Sequence[ScrubbedDocument]) -> Outcome:
        """Return a part of a message, rebuilt from its scrubbed texts."""
        part = rebuilt(
            self._system(joined.record),
            self._values(joined),
            joined.note,
            joined.document,
            scrubbed,
        )
        outputs = self._outputs.of_message(joined, part, scrubbed, self._now())
        return (*outputs, *self._held.done(joined.record))

    def _note(self, joined: Joined, result: ScrubbedDocument) -> Outcome:
        known, note_type = joined.document.known, joined.note.note_type
        if self._system(joined.record).leaked_in(known, [note_type]):
            return InvalidRecord(
                ReasonCode.RESIDUE,
                "notes: note_type holds a value of the patient's record",
            )
        try:
            written_at = self._values(joined).day(joined.note.written_at[:10])
        except Exception as error:
            # As in deid_core: a bug refuses the note, not the whole batch.
            return InvalidRecord(
                ReasonCode.DEID_ERROR, f"notes: written_at: {type(error).__name__}"
            )
        outputs = self._outputs.of(joined, result, written_at, self._now())
        return (*outputs, *self._held.done(joined.record))

    def _values(self, joined: Joined) -> PatientValues:
        record = joined.record
        return PatientValues(
            self._system(record), joined.document, self._outputs.pseudonyms(record)
        )

    def _made(self) -> dict[str, Deidentifier]:
        """Return the pipeline of each key; they share their detectors."""
        made = self._make()
        return {each.id: made.with_key(each.value) for each in self._keys}

    def _key_id(self, record: Record) -> str:
        return self._keys.at(received_ms(record)).id

    def _system(self, record: Record) -> Deidentifier:
        return self._systems[self._key_id(record)]

    def _now(self) -> int:
        return int(self._clock() * 1000)


def decode(
    record: Record, *, max_bytes: int, max_message_bytes: int = 0
) -> ClinicalNote:
    """Return the note, or part of a message, that a record of `notes` holds.

    Args:
        record: Of `notes`.
        max_bytes: A larger note is refused.
        max_message_bytes: A larger part of a message is refused, if this is more.

    Raises:
        InvalidRecord: Its value is null, too large, not JSON, or breaks its schema.
    """
    if record.value is None:
        raise InvalidRecord(ReasonCode.NULL_VALUE, "notes: a null value is not a note")
    size = len(record.value)
    if size > max(max_bytes, max_message_bytes):
        raise _too_large(max_bytes)
    try:
        note = _decoded(record.value)
    except orjson.JSONDecodeError:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "notes: the value is not JSON"
        ) from None
    except SchemaError as error:
        NOTES.require_known_version(record.value)
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None
    if size > max_bytes and not note.format:
        raise _too_large(max_bytes)
    return note


def _decoded(value: bytes) -> ClinicalNote:
    if not value.startswith(_VERSION_1):
        return _notes().decode(value)
    # Notes that the version before has written may be on the topic.
    parsed = orjson.loads(value)
    Schema(NOTES.name, 1).check(parsed)
    return ClinicalNote.from_json(parsed)


def _too_large(max_bytes: int) -> InvalidRecord:
    return InvalidRecord(
        ReasonCode.TOO_LARGE, f"notes: over {max_bytes} bytes; raise max_note_bytes"
    )


@cache
def _notes() -> Decoder[ClinicalNote]:
    return Decoder(NOTES.schema, ClinicalNote, TYPES)
