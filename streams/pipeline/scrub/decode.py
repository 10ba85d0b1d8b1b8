"""Records of `notes` as notes, or parts of messages, that lie where they belong."""

from __future__ import annotations

from functools import cache

import orjson

from schemas import SchemaError, json_text
from schemas.decoding import Decoder
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Record
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import NOTES
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import TYPES


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
