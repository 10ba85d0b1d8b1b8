"""Reads files of patient updates: JSON lines, each checked before it is published.

A line is a value of `patient.updates` (schemas/patient.updates/v1).  The topic's null
value, which erases a patient, is ``{"patient": {...}, "erase": true}`` in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from schemas import SchemaError, json_text
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.kafka.topics import PATIENT_UPDATES
from streams.model.patients.demographics import PatientId, is_time
from streams.model.patients.updates import PatientUpdate, decode_update

from .feed import RawMessage
from .sources import SourceRecord

ERASURE = frozenset(("schema_version", "patient", "erase"))


def update_messages(
    lines: Iterable[SourceRecord], refused: Callable[[str], None]
) -> Iterator[RawMessage]:
    """Yield the records of lines for `patient.updates`; the key is the patient's.

    Args:
        lines: JSON lines, as `sources.lines_in` yields them.
        refused: Called with file, line and reason of each line that is not published.
    """
    for each in lines:
        try:
            yield _message(each.value)
        except InvalidRecord as error:
            refused(f"{each.origin} line {each.ordinal + 1}: {error.reason}")


def _message(line: bytes) -> RawMessage:
    try:
        given = json_text.loads(PATIENT_UPDATES.name, line)
    except orjson.JSONDecodeError:
        raise _refusal(ReasonCode.BAD_JSON, "the line is not JSON") from None
    except SchemaError as error:
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None
    if isinstance(given, dict) and "erase" in given:
        return RawMessage(None, _erased(given).key)
    update = decode_update(line)
    _check_sender(update)
    value = PATIENT_UPDATES.schema.versioned(update.to_json())
    return RawMessage(orjson.dumps(value), update.record.patient.key)


def _erased(given: dict[str, Any]) -> PatientId:
    """Return the patient whom a line erases."""
    if given["erase"] is not True:
        raise _refusal(ReasonCode.SCHEMA, "erase: must be true")
    if not given.keys() <= ERASURE:
        raise _refusal(ReasonCode.SCHEMA, "erase: goes with patient alone")
    value = {name: each for name, each in given.items() if name != "erase"}
    return decode_update(orjson.dumps(value)).record.patient


def _check_sender(update: PatientUpdate) -> None:
    """Refuse what the schema allows, but no sender outside of phistream means."""
    if update.is_forwarded:
        raise _refusal(ReasonCode.SCHEMA, "forwarded: set by scrub; leave it out")
    if update.command is not None:
        raise _refusal(ReasonCode.SCHEMA, "held: run phistream held; leave it out")
    record = update.record
    times = {"updated_at": record.updated_at}
    times |= {f"times.{name}": each for name, each in record.times.items()}
    for name, time in times.items():
        if time and not is_time(time):
            reason = f"{name}: must be ISO 8601, e.g. 2024-03-01T09:30:00+01:00"
            raise _refusal(ReasonCode.SCHEMA, reason)


def _refusal(code: ReasonCode, reason: str) -> InvalidRecord:
    return InvalidRecord(code, f"{PATIENT_UPDATES.name}: {reason}")
