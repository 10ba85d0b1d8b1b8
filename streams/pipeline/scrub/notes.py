"""Notes joined with their patients, de-identified: what each gives, or why it can't.

Nothing here knows where the outputs go, or who owns the patients' table: scrub and
`phistream rescrub` both use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

import orjson

from deid_core import Deidentifier, ScrubbedDocument
from schemas import SchemaError, json_text
from schemas.decoding import Decoder
from streams.engine.errors import InvalidRecord
from streams.engine.observer import Entered, Step, unobserved
from streams.engine.reasons import ReasonCode
from streams.engine.records import Record
from streams.engine.runner import Outcome
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import NOTES
from streams.model.notes import ClinicalNote
from streams.model.outputs import received_ms
from streams.model.patients.demographics import TYPES
from streams.pipeline.publish import PatientValues, published

from .join import Joined
from .outputs import ScrubOutputs
from .parts import Texts, rebuilt

_Other = TypeVar("_Other")


class NoteScrubber:
    """De-identifies joined notes, each with the key of its time.

    Args:
        make: Returns the pipeline of deid_core; called again by `rebuild`.
            Its key does not matter.
        outputs: Makes the outputs of scrubbed notes.
        clock: Seconds since 1970.
        entered: Called at each step.
    """

    def __init__(
        self,
        make: Callable[[], Deidentifier],
        outputs: ScrubOutputs,
        clock: Callable[[], float] = time.time,
        entered: Entered = unobserved,
    ) -> None:
        self._make = make
        self._keys = outputs.keys
        self._outputs = outputs
        self._clock = clock
        self._entered = entered
        self._systems = self._made()

    def outcomes(self, prepared: Sequence[Joined | _Other]) -> list[Outcome | _Other]:
        """Return what each joined note gives; what is none is returned as it is."""
        joined = [each for each in prepared if isinstance(each, Joined)]
        texts: dict[str, Texts] = {}
        for each in joined:
            key_id = self._key_id(each.record)
            if key_id not in texts:
                texts[key_id] = Texts(self._systems[key_id])
            texts[key_id].add(each.documents)
        if joined:
            self._entered(Step.DETECT, [each.record for each in joined])
        for of_key in texts.values():
            of_key.scrub()
        return [
            self._outcome(each, texts[self._key_id(each.record)])
            if isinstance(each, Joined)
            else each
            for each in prepared
        ]

    def rebuild(self) -> None:
        """Replace the pipeline, which an interrupted call may have been changing."""
        self._systems = self._made()

    def _outcome(self, joined: Joined, texts: Texts) -> Outcome:
        self._entered(Step.ENCODE, (joined.record,))
        try:
            scrubbed = texts.of(joined.documents)
            if joined.note.format:
                return self._rebuilt(joined, scrubbed)
            return self._note(joined, *scrubbed)
        except InvalidRecord as error:
            return error

    def _rebuilt(self, joined: Joined, scrubbed: Sequence[ScrubbedDocument]) -> Outcome:
        """Return a part of a message, rebuilt from its scrubbed texts."""
        part = rebuilt(
            self._system(joined.record),
            self._values(joined),
            joined.note,
            joined.document,
            scrubbed,
        )
        return self._outputs.of_message(joined, part, scrubbed, self._now())

    def _note(self, joined: Joined, result: ScrubbedDocument) -> Outcome:
        note = published(
            self._values(joined), joined.note.written_at, is_known=joined.is_known
        )
        return self._outputs.of(joined, result, note, self._now())

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


def require_key(record: Record, key: bytes, partitions: int) -> None:
    """Check that a record has the key of its patient, and lies where that belongs.

    Args:
        record: Of a topic that is keyed by patient.
        key: That of its patient.
        partitions: The number of partitions of the topic.

    Raises:
        InvalidRecord: It has another key, or lies in another partition.
    """
    topic = record.partition.topic
    if record.key != key:
        raise InvalidRecord(
            ReasonCode.WRONG_KEY, f"{topic}: the key is not that of the patient"
        )
    if partition_of(key, partitions) != record.partition.index:
        raise InvalidRecord(
            ReasonCode.WRONG_PARTITION,
            f"{topic}: the key belongs to another partition, where the join would "
            "miss; the producer needs partitioner=murmur2_random",
        )


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
    json_text.loads(NOTES.schema.kind, value)
    return _notes().decode(value)


def _too_large(max_bytes: int) -> InvalidRecord:
    return InvalidRecord(
        ReasonCode.TOO_LARGE, f"notes: over {max_bytes} bytes; raise max_note_bytes"
    )


@cache
def _notes() -> Decoder[ClinicalNote]:
    return Decoder(NOTES.schema, ClinicalNote, TYPES)
