"""Turns a raw record into patient updates and notes; a pure function."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from schemas import SchemaError, json_text
from streams.engine.character_sets import UTF_8
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats import recognise
from streams.formats.documents import shown_in
from streams.formats.hl7.datatypes import birth_date_of
from streams.formats.hl7.framing import in_utf_8
from streams.formats.hl7.reader import Hl7Reader, IsNew, every
from streams.formats.json_map import JsonMap
from streams.formats.readers import HL7, READERS, require_plain
from streams.kafka.topics import HL7_RAW
from streams.model.notes import ClinicalNote
from streams.model.parts import Part, Reader
from streams.model.patients.demographics import PatientRecord

MAX_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Routed:
    """The content of one record.

    Args:
        updates: Patient records, one for each key.
        notes: Its narratives.
        skipped: Numbers of observations that are not narrative, by value type (OBX-2).
        parts: What its messages say of each patient, for messages that scrub rebuilds.
    """

    updates: tuple[PatientRecord, ...]
    notes: tuple[ClinicalNote, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()


def route(
    value: bytes | None,
    *,
    max_bytes: int = MAX_BYTES,
    reader: Hl7Reader = HL7,
    json_map: JsonMap | None = None,
    charset: str = UTF_8,
    is_new: IsNew = every,
) -> Routed:
    """Return the content of a record, which may be a batch of messages.

    Args:
        value: Of the record.
        max_bytes: A larger value is refused.
        reader: Of messages; tests pass one with the reference parser.
        json_map: How JSON of other forms becomes note events.
        charset: The codec of HL7 messages that name none, and are not UTF-8.
        is_new: HL7 messages of which it is false are left out, and not parsed.

    Raises:
        InvalidRecord: It can't be processed.  One invalid message refuses its whole
            batch, so that no part of a dead letter is published.
    """
    if value is None:
        raise InvalidRecord(
            ReasonCode.NULL_VALUE, "hl7.raw: a null value is not a message"
        )
    if len(value) > max_bytes:
        raise InvalidRecord(
            ReasonCode.TOO_LARGE,
            f"hl7.raw: over {max_bytes} bytes; raise max_message_bytes",
        )
    first = value.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    if first == b"{":
        json = value.removeprefix(codecs.BOM_UTF8)
        event = _parsed(json)
        if "resourceType" not in event:
            return _note_event(json, event, json_map)
        parts = READERS["fhir"].parts(value)
    elif first == b"<":
        parts = _reader_of_xml(value).parts(value)
    else:
        parts = reader.parts(in_utf_8(value, charset), is_new)
    skipped: Counter[str] = Counter()
    for each in parts:
        skipped.update(each.skipped)
        for note in each.notes:
            require_plain(note.text)
    return Routed(
        tuple(update for each in parts for update in each.updates),
        tuple(note for each in parts for note in each.notes),
        dict(skipped),
        tuple(parts),
    )


def _reader_of_xml(value: bytes) -> Reader:
    """Return the reader of an XML document.

    Raises:
        InvalidRecord: There is none; the reason names the format.
    """
    kind = recognise(value)
    if kind not in READERS:
        raise InvalidRecord(
            ReasonCode.UNSUPPORTED,
            f"hl7.raw: {kind} is no message; send its text in a note event",
        )
    return READERS[kind]


def _parsed(value: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "note event: the value is not JSON"
        ) from None
    return cast(dict[str, Any], event)  # it begins with a brace


def _note_event(
    json: bytes, event: Mapping[str, Any], json_map: JsonMap | None
) -> Routed:
    try:
        json_text.require_unique_names("note event", json, event)
        if json_map is None:
            HL7_RAW.schema.check(event)
        else:
            event = json_map.event_of(event)
    except SchemaError as error:
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None
    note = ClinicalNote.from_json(event)
    if (shown := shown_in(note.text)) != note.text:
        if not shown.strip():
            raise InvalidRecord(ReasonCode.SCHEMA, "note event: text: it shows nothing")
        note = replace(note, text=shown)
    require_plain(note.text)
    if note.demographics is None:
        return Routed((), (note,))
    for each in note.demographics.birth_dates:
        if birth_date_of(each) != each:
            reason = "note event: demographics.birth_dates: must be dates (YYYY-MM-DD)"
            raise InvalidRecord(ReasonCode.SCHEMA, reason)
    update = PatientRecord(note.patient, note.written_at, note.demographics)
    return Routed((update,), (note,))
