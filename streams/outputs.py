"""Outputs: checked against their schema, and marked with where they come from."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Literal

import orjson

from schemas import SchemaError, checker

from .errors import FatalError, InvalidRecord
from .records import Output, Record
from .topics import DEAD_LETTERS, PHI_AUDIT, Topic

Stage = Literal["intake", "scrub"]

SOURCE = "source"
"""Header: topic/partition/offset of the input record; never PHI."""
SCHEMA = "schema"
"""Header: kind and version of the value."""
OUTPUTS = "outputs"
"""Header of an audit event: how many notes or dead letters the record gave."""

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
        checker(topic.name, SCHEMA_VERSION)(body)
    except SchemaError as error:
        raise FatalError(f"our output breaks its schema: {error}; stop") from None
    marks = {
        SOURCE: source_header(source),
        SCHEMA: f"{topic.name}/{SCHEMA_VERSION}".encode(),
    }
    return Output(topic.name, key, orjson.dumps(body), marks | dict(headers or {}))


def source_header(record: Record) -> bytes:
    """Return the position of a record as a header's value."""
    partition = record.partition
    return f"{partition.topic}/{partition.index}/{record.offset}".encode()


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
