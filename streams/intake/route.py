"""Turns a raw record into patient updates and notes; a pure function."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import orjson

from schemas import SchemaError

from ..cluster.topics import HL7_RAW
from ..engine.errors import InvalidRecord
from ..engine.reasons import ReasonCode
from ..events.notes import ClinicalNote
from ..events.parts import Part
from ..hl7 import fields, narrative
from ..hl7.datatypes import birth_date_of, time_of
from ..hl7.demographics import PatientGroup, patient_groups
from ..hl7.framing import messages_of
from ..hl7.message import Segment, Wanted, parse
from ..hl7.message_types import event_of
from ..hl7.narrative import narrative_of
from ..patients.demographics import PatientRecord

MAX_BYTES = 8 * 1024 * 1024
HEADER = {"MSH": frozenset((4, 7, 9, 10)), "EVN": frozenset((1, 2))}
WANTED = {
    name: tuple(
        sorted(table.get(name, frozenset()) | narrative.FIELDS.get(name, frozenset()))
    )
    for table in (HEADER | fields.wanted(),)
    for name in table.keys() | narrative.FIELDS.keys()
}
"""The segments and fields that are read."""

Parse = Callable[[str, Wanted], list[Segment]]


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
    value: bytes | None, *, max_bytes: int = MAX_BYTES, parse: Parse = parse
) -> Routed:
    """Return the content of a record, which may be a batch of messages.

    Args:
        value: Of the record.
        max_bytes: A larger value is refused.
        parse: Returns the segments of a message; tests pass the reference.

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
    if value.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{":
        return _note_event(value.removeprefix(codecs.BOM_UTF8))
    parts = [
        _message(parse(text, WANTED), n) for n, text in enumerate(messages_of(value))
    ]
    skipped: Counter[str] = Counter()
    for each in parts:
        skipped.update(each.skipped)
    return Routed(
        tuple(update for each in parts for update in each.updates),
        tuple(note for each in parts for note in each.notes),
        dict(skipped),
    )


def _note_event(value: bytes) -> Routed:
    try:
        event = orjson.loads(value)
        HL7_RAW.schema.check(event)
    except orjson.JSONDecodeError:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "note event: the value is not JSON"
        ) from None
    except SchemaError as error:
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None
    note = ClinicalNote.from_json(event)
    if note.demographics is None:
        return Routed((), (note,))
    for each in note.demographics.birth_dates:
        if birth_date_of(each) != each:
            reason = "note event: demographics.birth_dates: must be dates (YYYY-MM-DD)"
            raise InvalidRecord(ReasonCode.SCHEMA, reason)
    update = PatientRecord(note.patient, note.written_at, note.demographics)
    return Routed((update,), (note,))


def _message(parsed: list[Segment], ordinal: int) -> Routed:
    msh, *segments = parsed
    evn = next((each for each in segments if each.name == "EVN"), None)
    event = event_of(msh, evn)
    authority = msh.value(4) or msh.value(4, 2)
    groups = patient_groups(segments, authority, msh.value(4), event.trigger)
    sent_at = time_of(evn.value(2) if evn else "") or time_of(msh.value(7))
    updates = [update for group in groups for update in _updates(group, sent_at)]
    skipped: Counter[str] = Counter()
    notes: list[ClinicalNote] = []
    for number, group in enumerate(groups):
        # The ordinals make the ids of notes unique within the record.
        place = f"{ordinal}.{number}"
        found = narrative_of(group, event, msh.value(10), sent_at, place)
        notes += found.notes
        skipped.update(found.skipped)
    return Routed(tuple(updates), tuple(notes), skipped)


def _updates(group: PatientGroup, sent_at: str) -> list[PatientRecord]:
    """Return the patient record under every key that notes of this patient may have.

    After a merge (A40, chapter 3.3.40) these are the surviving and the prior key.  Each
    record names the other ones; after a link (A24) also those of the other PID.
    """
    return [
        PatientRecord(
            key,
            sent_at,
            group.demographics,
            merged=tuple(each for each in group.merged if each != key),
        )
        for key in group.keys
    ]
