"""Outputs: checked against their schema, and marked with where they come from."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Literal

import orjson

from schemas import SchemaError, strict_checker

from ..cluster.topics import DEAD_LETTERS, HL7_RAW, PHI_AUDIT, Topic
from ..engine.errors import FatalError, InvalidRecord
from ..engine.records import Output, Record

Stage = Literal["intake", "scrub"]

SOURCE = "source"
"""Header: topic/partition/offset of the input record; never PHI."""
SCHEMA = "schema"
"""Header: kind and version of the value."""
OUTPUTS = "outputs"
"""Header of an audit event: how many notes or dead letters the record gave."""
RECEIVED = "received"
"""Header: when the message came to hl7.raw, in milliseconds since 1970, 13 digits.

Never on a timeless topic: see `Topic.timeless`.
"""

SCHEMA_VERSION = 1


def encoded(
    topic: Topic,
    key: bytes | None,
    value: Mapping[str, Any],
    source: Record,
    headers: Mapping[str, bytes] | None = None,
) -> Output:
    """Return an output whose value keeps the topic's schema.

    Raises:
        FatalError: It does not: a bug of ours, so the offset must not advance.
    """
    body = {"schema_version": SCHEMA_VERSION, **value}
    try:
        strict_checker(topic.name, SCHEMA_VERSION)(body)
    except SchemaError as error:
        raise FatalError(f"our output breaks its schema: {error}; stop") from None
    marks = {
        SOURCE: source_header(source),
        SCHEMA: f"{topic.name}/{SCHEMA_VERSION}".encode(),
    }
    if not topic.timeless:
        marks[RECEIVED] = received_header(source)
    return Output(
        topic.name,
        key,
        orjson.dumps(body),
        marks | dict(headers or {}),
        timeless=topic.timeless,
    )


def source_header(record: Record) -> bytes:
    """Return the position of a record as a header's value."""
    partition = record.partition
    return f"{partition.topic}/{partition.index}/{record.offset}".encode()


def received_header(record: Record) -> bytes:
    """Return when the message behind a record came to hl7.raw, as a header's value.

    What a sender wrote into this header of `hl7.raw` is not believed, nor passed on.
    """
    told = record.headers.get(RECEIVED, b"")
    is_ours = record.partition.topic != HL7_RAW.name
    if is_ours and len(told) == 13 and told.isdigit():
        return told
    return b"%013d" % max(0, record.timestamp_ms)


def source_position(record: Record) -> dict[str, Any]:
    """Return the position of a record as the schemas have it."""
    return {
        "topic": record.partition.topic,
        "partition": record.partition.index,
        "offset": record.offset,
    }


def audit_event(
    stage: Stage,
    record: Record,
    key: bytes | None,
    outputs: int,
    facts: Mapping[str, Any],
) -> Output:
    """Return the audit event of one input record; ``facts`` as in phi.audit/v1."""
    value = {
        "stage": stage,
        "source": source_position(record),
        "outputs": outputs,
        **facts,
    }
    key = source_header(record) if key is None else key
    return encoded(PHI_AUDIT, key, value, record, {OUTPUTS: str(outputs).encode()})


def dead_letter(stage: Stage, record: Record, error: InvalidRecord) -> Output:
    """Return the record, whole, with the reason why it can't be processed."""
    value = {
        "stage": stage,
        "code": error.code,
        "reason": error.reason[:500],
        "source": source_position(record),
        "original": {
            "key": _base64(record.key),
            "value": _base64(record.value),
            "headers": {name: _base64(raw) for name, raw in record.headers.items()},
            "timestamp_ms": record.timestamp_ms,
        },
    }
    return encoded(DEAD_LETTERS, record.key, value, record)


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()
