"""Output records: checked against their schema, with headers that name their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from schemas import SchemaError
from schemas.decoding import check_encoded
from streams.engine.errors import FatalError, InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Record
from streams.kafka.topics import DEAD_LETTERS, HL7_RAW, Topic
from streams.kafka.versions import live_name

if TYPE_CHECKING:
    from streams.engine.keys.office import OfficePublicKey

SOURCE = "source"
"""Header: topic/partition/offset of the input record; never PHI."""
SCHEMA = "schema"
"""Header: kind and version of the value."""
OUTPUTS = "outputs"
"""Header of an audit event: how many notes or dead letters the record gave."""
HELD = "held"
"""Header of a released note on `notes`: its first offset, a slash, and the reason.

Without a row of `notes.held` that says the same it is ignored.
"""
REPLAYED = "replayed"
"""Header of a record that was a dead letter: its position on `dead.letters`.

Added by `phistream dead-letters replay` to the headers that the record had.
"""
OUTCOME = "outcome"
"""Header of an audit event: its outcome, where readers of headers need it.

A null value on a published topic has it, too: `erased`.
"""
ERASED = b"erased"
POLICY = "unknown_patient"
"""Header of a note's audit event: the policy for unknown patients, unless scrub."""
FORMAT = "format"
"""Header of a rebuilt message: `hl7`, `fhir` or `ccda`."""
KEY_ID = "key_id"
"""Header of a rebuilt message: which key its pseudonyms depend on, as in an event."""
CONTENT_TYPE = "content-type"
"""Header of a rebuilt message: its media type."""
INTO = "into"
"""Header of what `phistream rescrub` writes to dead.letters: the version it writes."""
RECEIVED = "received"
"""Header: when the message came to hl7.raw, in milliseconds since 1970, 13 digits.

Never on a timeless topic: see `Topic.timeless`.
"""


def encoded(
    topic: Topic,
    key: bytes | None,
    value: Mapping[str, Any],
    source: Record,
    headers: Mapping[str, bytes] | None = None,
    checked: Mapping[str, orjson.Fragment] | None = None,
) -> Output:
    """Return an output whose value keeps the topic's schema.

    A value is checked once: here, unless its reader does.

    Args:
        topic: To write to.
        key: Of the record.
        value: The properties besides the version and those of ``checked``.
        source: The input record.
        headers: Further headers.
        checked: Optional properties that are encoded, and checked, already.

    Raises:
        FatalError: It does not, which is a bug: the offset must not advance.
    """
    schema = topic.schema
    versioned = schema.versioned(value)
    body = orjson.dumps(versioned)
    try:
        if not topic.checked_by_reader:
            check_encoded(schema, body)
    except SchemaError as error:
        raise FatalError(f"our output breaks its schema: {error}; stop") from None
    if checked:
        body = orjson.dumps(versioned | dict(checked))
    standard = {SOURCE: source_header(source), SCHEMA: schema_header(topic)}
    if not topic.timeless:
        standard[RECEIVED] = received_header(source)
    return Output(
        topic.name,
        key,
        body,
        standard | dict(headers or {}),
        timeless=topic.timeless,
        source=source,
    )


def changelog(topic: Topic, key: bytes, value: bytes | None, source: Record) -> Output:
    """Return a row of the table that is restored from a topic; None deletes it."""
    headers = {SOURCE: source_header(source), SCHEMA: schema_header(topic)}
    return Output(topic.name, key, value, headers, partition=source.partition.index)


def require_headers(record: Record) -> None:
    """Check that the headers of a record could be read.

    Raises:
        InvalidRecord: They could not: what they say is not known.
    """
    if record.has_bad_headers:
        raise InvalidRecord(
            ReasonCode.UNDECODABLE,
            f"{record.partition.topic}: the name of a header is not UTF-8; its writer "
            "must write it in UTF-8, or leave it out",
        )


def schema_header(topic: Topic) -> bytes:
    """Return kind and version of a topic's values as a header's value."""
    return f"{topic.schema.kind}/{topic.schema.version}".encode()


def source_header(record: Record) -> bytes:
    """Return the position of a record as a header's value."""
    partition = record.partition
    return f"{partition.topic}/{partition.index}/{record.offset}".encode()


def received_header(record: Record) -> bytes:
    """Return when the message behind a record came to hl7.raw, as a header's value.

    A sender's own value of this header on `hl7.raw` is neither used nor passed on.
    """
    given = record.headers.get(RECEIVED, b"")
    is_ours = record.partition.topic != HL7_RAW.name
    if is_ours and len(given) == 13 and given.isdigit():
        return given
    return b"%013d" % max(0, record.timestamp_ms)


def received_ms(record: Record) -> int:
    """Return when the message behind a record came to hl7.raw."""
    return int(received_header(record))


def source_position(record: Record) -> dict[str, Any]:
    """Return the position of a record as the schemas have it."""
    return {
        "topic": record.partition.topic,
        "partition": record.partition.index,
        "offset": record.offset,
    }


def sealed_letter(
    stage: str,
    record: Record,
    error: InvalidRecord,
    office: OfficePublicKey,
    into: str = "",
) -> Output:
    """Return the dead letter of a record alone.

    Args:
        stage: Which can't process the record.
        record: Sealed in it.
        error: Why it can't be processed.
        office: For whom it is sealed.
        into: The version that `phistream rescrub` writes; empty for the live feed.
    """
    # It needs cryptography, which scrubbing alone does not.
    from .letters import letter_value

    value = letter_value(stage, record, error, source_position(record), office, into)
    headers = {INTO: into.encode()} if into else {}
    made = encoded(DEAD_LETTERS, letter_key(record, into), value, record, headers)
    return replace(made, grouped_by=_letter_group(record))


def erased_letter(key: bytes, partition: int) -> Output:
    """Return what deletes a dead letter when the topic is compacted.

    Args:
        key: Of the letter.
        partition: Its own: that of its group is another one once partitions were added.
    """
    return Output(DEAD_LETTERS.name, key, None, partition=partition)


def erased_rows(topic: Topic, pseudonym: str) -> Output:
    """Return what erases the records of a pseudonym, for those who keep copies.

    Args:
        topic: A published one; it is not compacted, so its own records stay.
        pseudonym: Their key.
    """
    headers = {OUTCOME: ERASED}
    return Output(
        topic.name, pseudonym.encode(), None, headers, timeless=topic.timeless
    )


def letter_key(record: Record, into: str = "") -> bytes:
    """Return the key of the dead letter of a record: no other letter has it.

    A topic that was deleted and made again has other records at the same positions, but
    of another time.  A record may have a letter of each version (`phistream rescrub`).
    """
    key = b"%b/%d" % (source_header(record), record.timestamp_ms)
    return b"%b.%b" % (key, into.encode()) if into else key


def key_of_original(key: bytes) -> bytes:
    """Return the key of a letter without its version: that of its original."""
    return live_name(key.decode(errors="replace")).encode()


def _letter_group(record: Record) -> bytes:
    return f"{record.partition.topic}/{record.partition.index}".encode()
