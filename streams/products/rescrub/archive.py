"""Notes of an archive, scrubbed as the stream would: rows in, rows out, no Kafka.

A note becomes the record that scrub would read, its patient's updates are folded as
scrub folds them, and the same code scrubs both: under the same key they have the same
pseudonyms, surrogates and shifted dates.  deploy/examples/spark_rescrub.py runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.kafka.partitioner import partition_of
from streams.kafka.tables.staged import MemoryRows
from streams.kafka.topics import NOTES
from streams.model.outputs import RECEIVED
from streams.model.patients.demographics import PatientId, PatientRecord
from streams.model.patients.updates import decode_update, fold
from streams.operations.settings import Settings
from streams.pipeline.scrub.decode import decode, require_key
from streams.pipeline.scrub.join import Joined, PatientJoin, row_value
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.scrubbing import NoteScrubber
from streams.service.scrub import deidentifier_of

from .request import Means

ONE = 1
"""Partitions: an archive has none."""
AT_ONCE = 64
"""Notes scrubbed in one call, as in the service."""
UNKNOWN_PATIENT = "unknown_patient"
"""Code of a note of whose patient nothing is known: erased, or never known."""
MEANS = (
    "preset",
    "policy",
    "terms",
    "pseudonym_key_file",
    "pseudonym_keys",
    "max_note_bytes",
)
"""The settings that decide what is written; each process reads its keys itself."""

VERSIONS = "versions"
"""In `means_of`: of what the settings name."""


@dataclass(frozen=True, slots=True)
class ArchivedNote:
    """A row of the table of notes, with its patient's updates.

    Args:
        row: Its number in its file.
        note: The properties of a note event (schemas/note_event).
        received_ms: When its message came to hl7.raw, which decides the key; 0 for the
            first key.
        updates: JSON of the patient's updates (schemas/patient.updates); None or empty
            if there are none.
    """

    row: int
    note: Mapping[str, Any] = field(repr=False)
    received_ms: int
    updates: Sequence[str] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoteResult:
    """The result for a note: a published note, or a code.

    Args:
        row: Of the note in its file.
        published: The value of `notes.scrubbed`; None if it is rejected.
        code: Why it is rejected; empty if it is not.
    """

    row: int
    published: Mapping[str, Any] | None = field(repr=False, default=None)
    code: str = ""


class Archive:
    """Scrubs notes of an archive.

    Args:
        settings: Preset, policy, terms and keys of the stream.

    Raises:
        ConfigError: One of them is wrong.
    """

    def __init__(self, settings: Settings) -> None:
        keys = settings.key_ring()
        self._max_bytes = settings.max_note_bytes
        self._rows = MemoryRows()
        self._join = PatientJoin(self._rows)
        self._scrubber = NoteScrubber(
            lambda: deidentifier_of(settings, keys),
            ScrubOutputs(
                keys,
                preset=Path(settings.preset).stem,
                policy=Path(settings.policy).stem,
            ),
        )

    def scrub(self, notes: Iterable[ArchivedNote]) -> Iterator[NoteResult]:
        """Yield what each note gives, in order."""
        batch: list[ArchivedNote] = []
        for each in notes:
            batch.append(each)
            if len(batch) == AT_ONCE:
                yield from self._scrub(batch)
                batch = []
        yield from self._scrub(batch)

    def _scrub(self, batch: Sequence[ArchivedNote]) -> Iterator[NoteResult]:
        self._rows.rows.clear()
        prepared = [self._prepared(each) for each in batch]
        outcomes = self._scrubber.outcomes(prepared)
        for note, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, str):
                yield NoteResult(note.row, code=outcome)
            elif isinstance(outcome, InvalidRecord):
                yield NoteResult(note.row, code=str(outcome.code))
            else:
                yield NoteResult(note.row, _published(outcome[0]))

    def _prepared(self, archived: ArchivedNote) -> Joined | str:
        value = orjson.dumps(NOTES.schema.versioned(archived.note))
        try:
            bare = Record(Partition(NOTES.name, 0), archived.row, b"", value)
            note = decode(bare, max_bytes=self._max_bytes)
            if note.format:
                return str(ReasonCode.UNSUPPORTED)
            key = note.patient.key
            if not archived.updates:
                return UNKNOWN_PATIENT
            row = row_value(_folded(note.patient, archived.updates))
            self._rows.write(0, {key: row}, archived.row)
            headers = {RECEIVED: b"%013d" % max(0, archived.received_ms)}
            record = Record(
                Partition(NOTES.name, partition_of(key, ONE)),
                archived.row,
                key,
                value,
                headers,
            )
            require_key(record, key, ONE)
            return self._join.join(record, note)
        except InvalidRecord as error:
            return str(error.code)


def _folded(patient: PatientId, updates: Iterable[str]) -> PatientRecord:
    """Return a patient's record, made of updates in any order.

    Raises:
        InvalidRecord: One is none, or is of another patient.
    """
    record: PatientRecord | None = None
    for each in sorted(updates):
        update = decode_update(each.encode())
        if update.record.patient != patient or update.command is not None:
            raise InvalidRecord(
                ReasonCode.PATIENT_RECORD, "an update is not of the note's patient"
            )
        record = fold(record, update).record
    if record is None:
        raise InvalidRecord(ReasonCode.PATIENT_RECORD, "a patient without updates")
    return record


def _published(output: Output) -> Mapping[str, Any]:
    value: Mapping[str, Any] = orjson.loads(output.value or b"{}")
    return value


def means_of(settings: Settings) -> str:
    """Return the settings that decide what is written, as JSON for other processes.

    It holds where keys are, never a key.  What files say and the versions are in it as
    well, so that an edited policy, another model or another phistream is another text.
    """
    said = settings.model_dump(mode="json", by_alias=True, include=set(MEANS))
    versions = {"phistream": metadata.version("phistream")}
    said[VERSIONS] = versions | asdict(Means.of(settings))
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()


@lru_cache(maxsize=1)
def archive_of(means: str) -> Archive:
    """Return the archive of `means_of`: made once in a process, with its model."""
    said = orjson.loads(means)
    del said[VERSIONS]
    return Archive(Settings.model_validate(said))
