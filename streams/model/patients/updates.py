"""Patient updates: what one message or system says about a patient, and what follows.

An update is a `PatientRecord` of its own; merged into the record of its patient it
changes what is known.  Between the identifiers of one patient (merged or linked) scrub
forwards updates, since the identifiers belong to different partitions:

* An update from outside goes on to all identifiers that are linked with its own.
* When a record gains a linked identifier, all of the record goes to all of them.  Each
  then knows the others, and forwards its own record in return.
* When an update from outside names an identifier that is linked already, all of the
  record goes there once more: it may have been erased since, and begun anew.

What was forwarded is not forwarded again, except by the second rule.  Links are never
removed, so this comes to an end: after any chain of merges every identifier has what
every other one knew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import orjson

from schemas import SchemaError, json_text
from schemas.decoding import Decoder
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.kafka.topics import PATIENT_UPDATES

from .demographics import (
    TYPES,
    Demographics,
    PatientId,
    PatientRecord,
    is_day,
    merge_records,
)

NOTHING = Demographics()


@dataclass(frozen=True, slots=True)
class HeldCommand:
    """An operator's decision about held notes of a patient.

    Args:
        release: Offsets in `notes` of notes to scrub although no name is known.
        discard: Offsets of notes to delete.
    """

    release: tuple[int, ...] = ()
    discard: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PatientUpdate:
    """The update of a patient from one message.

    Args:
        record: The patient's values as the message has them.
        is_forwarded: Whether scrub forwarded it from another identifier.
        command: A decision about held notes; it is not forwarded.
    """

    record: PatientRecord
    is_forwarded: bool = False
    command: HeldCommand | None = None

    @property
    def is_only_a_command(self) -> bool:
        """True if it says nothing about the patient."""
        record = self.record
        nothing = PatientRecord(record.patient, record.updated_at, Demographics())
        return self.command is not None and record == nothing

    def to_json(self) -> dict[str, Any]:
        """Return the value of `patient.updates`, but for its version."""
        record = self.record
        value: dict[str, Any] = {
            "patient": asdict(record.patient),
            "updated_at": record.updated_at,
            "demographics": record.current.to_json(),
        }
        if former := record.former.to_json():
            value["former"] = former
        if record.merged:
            value["merged"] = [asdict(patient) for patient in record.merged]
        if record.times:
            value["times"] = dict(record.times)
        if self.is_forwarded:
            value["forwarded"] = True
        if self.command is not None:
            value["held"] = asdict(self.command)
        return value


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of `patient.updates`, by property."""

    patient: PatientId
    updated_at: str = field(default="", repr=False)
    demographics: Demographics = NOTHING
    former: Demographics = NOTHING
    merged: tuple[PatientId, ...] = ()
    times: Mapping[str, str] = field(default_factory=dict, repr=False)
    forwarded: bool = False
    held: HeldCommand | None = None


@dataclass(frozen=True, slots=True)
class Folded:
    """The record after an update, and what its partition forwards.

    Args:
        record: All that is known of the patient now.
        forwards: Updates of other identifiers of the patient.
    """

    record: PatientRecord
    forwards: tuple[PatientUpdate, ...] = field(default=())


def fold(known: PatientRecord | None, update: PatientUpdate) -> Folded:
    """Return the record of a patient after an update, and what is forwarded.

    Args:
        known: The record before; None for a patient not seen before.
        update: Of the same patient.

    Raises:
        InvalidRecord: too_many: The patient would have more identifiers than are kept.
    """
    news = update.record
    if news.former != NOTHING or news.merged:
        # Merged with itself, a record holds no value as both current and former, nor
        # its own identifier among the merged ones.
        news = merge_records(news, news)
    record = news if known is None else merge_records(known, news)
    if set(record.merged) - set(known.merged if known else ()):
        whole = record.merged
    elif update.is_forwarded:
        return Folded(record)
    else:
        whole = news.merged
    return Folded(
        record,
        tuple(
            _forward(record if to in whole else news, to, record)
            for to in record.merged
            if to in whole or record != known
        ),
    )


def _forward(
    passed: PatientRecord, to: PatientId, record: PatientRecord
) -> PatientUpdate:
    linked = (record.patient, *(other for other in record.merged if other != to))
    return PatientUpdate(replace(passed, patient=to, merged=linked), is_forwarded=True)


def decode_update(value: bytes) -> PatientUpdate:
    """Return the update that a value of `patient.updates` holds.

    Raises:
        InvalidRecord: The value is not JSON, or breaks its schema.
    """
    try:
        update = _decoder().decode(value)
        kind = PATIENT_UPDATES.schema.kind
        json_text.require_unique_names(kind, value, orjson.loads(value))
    except orjson.JSONDecodeError:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "patient.updates: the value is not JSON"
        ) from None
    except SchemaError as error:
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None
    for part, name in (
        (update.demographics, "demographics"),
        (update.former, "former"),
    ):
        if not all(map(is_day, part.birth_dates)):
            raise InvalidRecord(
                ReasonCode.SCHEMA,
                f"patient.updates: {name}.birth_dates: must be dates (YYYY-MM-DD)",
            )
    record = PatientRecord(
        patient=update.patient,
        updated_at=update.updated_at,
        current=update.demographics,
        former=update.former,
        merged=update.merged,
        times=update.times,
    )
    return PatientUpdate(record, update.forwarded, update.held)


@cache
def _decoder() -> Decoder[_Value]:
    types = {**TYPES, "held": HeldCommand}
    return Decoder(PATIENT_UPDATES.schema, _Value, types)
