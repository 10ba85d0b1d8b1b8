"""Rows of records: checked, and in the form that Arrow takes.

A record that breaks its schema, has an unknown field or an unknown version stops the
service: nothing of it is written, and its offset is not passed.  Messages name place
and field, never the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, Protocol

import orjson
from pyiceberg.schema import Schema as Columns
from pyiceberg.types import IcebergType, StringType

from schemas import Schema, SchemaError
from schemas.decoding import check_encoded
from schemas.json_text import loads
from streams.engine.errors import FatalError
from streams.engine.records import Record
from streams.formats.readers import CONTENT_TYPES
from streams.kafka.topics import HL7_SCRUBBED, NOTES_SCRUBBED, PHI_AUDIT, Topic
from streams.model.outputs import CONTENT_TYPE, FORMAT, KEY_ID, SOURCE

from .columns import (
    DAY,
    OFFSET,
    PARTITION,
    TOPIC,
    columns,
    converted,
    converters,
    properties_of,
)

PATIENT = "patient"
"""The column by which rows are erased."""
Unit = Literal["day", "month", "year"]
Row = dict[str, Any]

_PSEUDONYM = re.compile(rb"[0-9a-f]{32}")
_KEY_ID = re.compile(rb"[0-9a-f]{8}")
_POSITION = re.compile(rb"([a-z.]{1,64})/([0-9]{1,9})/([0-9]{1,18})")


class RefusedRecord(FatalError):
    """A record can't become a row; the service stops before it."""

    def __init__(self, record: Record, why: str) -> None:
        place = f"{record.partition.topic}/{record.partition.index}/{record.offset}"
        super().__init__(
            f"{place}: {why}; the lake stops before this record: run the version of "
            "phistream that wrote it, or see the runbook, The lake"
        )


@dataclass(frozen=True, slots=True)
class ErasedPatient:
    """All earlier rows of a patient go: the record had no value."""

    patient: str


class RowMaker(Protocol):
    """Makes the rows of one topic."""

    topic: Topic
    type_column: str
    """What tables are partitioned by, besides the day."""
    unindexed: tuple[str, ...]
    """Columns of whose values no bounds are kept."""

    def columns(self) -> Columns:
        """Return the columns of the table."""

    def of(self, record: Record, unit: Unit) -> Row | ErasedPatient:
        """Return the row of a record.

        Raises:
            RefusedRecord: It is not what the topic holds.
        """


class JsonRows:
    """Rows of JSON values.

    Args:
        topic: Whose values they are.
        schemas: All versions of the schema, oldest first.
        unindexed: Columns of whose values no bounds are kept.
    """

    type_column = "note_type"

    def __init__(
        self, topic: Topic, schemas: tuple[Schema, ...], unindexed: tuple[str, ...] = ()
    ) -> None:
        self.topic = topic
        self.unindexed = unindexed
        self._schemas = {each.version: each for each in schemas}
        self._properties = properties_of(each.definition() for each in schemas)
        self._converters = converters(self._properties)

    def columns(self) -> Columns:
        """Return the columns of the table."""
        return columns(self._properties)

    def of(self, record: Record, unit: Unit) -> Row | ErasedPatient:
        """Return the row of a record.

        Raises:
            RefusedRecord: It is not what the topic holds.
        """
        if record.value is None:
            return ErasedPatient(_patient(record))
        value = self._checked(record, record.value)
        patient = value.get(PATIENT)
        if patient is not None and patient.encode() != record.key:
            raise RefusedRecord(record, "key: is not the patient of the value")
        return {
            **_place(record),
            DAY: _truncated(_day_of(self.topic, value), unit),
            **converted(value, self._converters),
        }

    def _checked(self, record: Record, value: bytes) -> Mapping[str, Any]:
        try:
            parsed = loads(self.topic.name, value)
        except SchemaError as error:
            raise RefusedRecord(record, f"{error.path}: {error.expected}") from None
        except orjson.JSONDecodeError:
            raise RefusedRecord(record, "value: is not JSON") from None
        if not isinstance(parsed, dict):
            raise RefusedRecord(record, "value: must be of type object")
        version = parsed.get("schema_version")
        schema = self._schemas.get(version) if isinstance(version, int) else None
        if schema is None:
            known = ", ".join(map(str, self._schemas))
            raise RefusedRecord(record, f"schema_version: known are {known}")
        try:
            check_encoded(schema, value)
        except SchemaError as error:
            raise RefusedRecord(record, f"{error.path}: {error.expected}") from None
        return parsed


class MessageRows:
    """Rows of rebuilt messages: the message as it is, and what its headers say.

    They have no day: no header holds one, and a message has many.
    """

    topic = HL7_SCRUBBED
    type_column = FORMAT
    unindexed: tuple[str, ...] = ("content",)

    _properties: Mapping[str, IcebergType] = {
        PATIENT: StringType(),
        "key_id": StringType(),
        "format": StringType(),
        "content_type": StringType(),
        "content": StringType(),
        **properties_of(
            [
                {
                    "properties": {
                        "source": {
                            "type": "object",
                            "properties": {
                                "topic": {"type": "string"},
                                "partition": {"type": "integer"},
                                "offset": {"type": "integer"},
                            },
                        }
                    }
                }
            ]
        ),
    }

    def columns(self) -> Columns:
        """Return the columns of the table."""
        return columns(self._properties)

    def of(self, record: Record, unit: Unit) -> Row | ErasedPatient:
        """Return the row of a record.

        Raises:
            RefusedRecord: It is not what the topic holds.
        """
        patient = _patient(record)
        if record.value is None:
            return ErasedPatient(patient)
        form = _header(record, FORMAT, re.compile(b"[a-z0-9]{1,16}"))[0].decode()
        media = record.headers.get(CONTENT_TYPE, b"")
        if CONTENT_TYPES.get(form) != media:
            raise RefusedRecord(record, f"header {CONTENT_TYPE}: is not the format's")
        source = _header(record, SOURCE, _POSITION)
        try:
            content = record.value.decode()
        except UnicodeDecodeError:
            raise RefusedRecord(record, "value: is not UTF-8") from None
        return {
            **_place(record),
            DAY: None,
            PATIENT: patient,
            "key_id": _header(record, KEY_ID, _KEY_ID)[0].decode(),
            "format": form,
            "content_type": media.decode(),
            "content": content,
            "source": {
                "topic": source[1].decode(),
                "partition": int(source[2]),
                "offset": int(source[3]),
            },
        }


def versions_of(topic: Topic) -> tuple[Schema, ...]:
    """Return all versions of a topic's schema that this phistream knows."""
    newest = topic.schema
    return tuple(Schema(newest.kind, n) for n in range(1, newest.version + 1))


def rows_of(topic: str) -> RowMaker:
    """Return what makes the rows of a topic, by its name."""
    if topic == HL7_SCRUBBED.name:
        return MessageRows()
    [found] = [each for each in (NOTES_SCRUBBED, PHI_AUDIT) if each.name == topic]
    unindexed = ("text",) if found is NOTES_SCRUBBED else ()
    return JsonRows(found, versions_of(found), unindexed)


def _place(record: Record) -> Row:
    return {
        TOPIC: record.partition.topic,
        PARTITION: record.partition.index,
        OFFSET: record.offset,
    }


def _patient(record: Record) -> str:
    if record.key is None or not _PSEUDONYM.fullmatch(record.key):
        raise RefusedRecord(record, "key: is no pseudonym of a patient")
    return record.key.decode()


def _header(record: Record, name: str, form: re.Pattern[bytes]) -> re.Match[bytes]:
    found = form.fullmatch(record.headers.get(name, b""))
    if found is None:
        raise RefusedRecord(record, f"header {name}: is absent, or of another form")
    return found


def _day_of(topic: Topic, value: Mapping[str, Any]) -> date | None:
    """Return the day of a row.

    Of a timeless topic it is the note's own, as the policy writes it, and never that of
    arrival (decision 12).
    """
    if topic.timeless:
        try:
            return date.fromisoformat(value.get("written_at", ""))
        except ValueError:  # absent, or a year alone
            return None
    try:
        return datetime.fromtimestamp(value["at_ms"] / 1000, UTC).date()
    except (ValueError, OverflowError, OSError):  # after the year 9999
        return None


def _truncated(day: date | None, unit: Unit) -> date | None:
    if day is None or unit == "day":
        return day
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)
