"""The audit event of one input record: the value of phi.audit, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Literal, TypedDict

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.records import Output, Record
from streams.kafka.topics import PHI_AUDIT, RESCRUB, Topic

from .outputs import (
    OUTCOME,
    OUTPUTS,
    POLICY,
    encoded,
    sealed_letter,
    source_header,
    source_position,
)

if TYPE_CHECKING:
    from streams.engine.keys.office import OfficePublicKey
    from streams.model.held import Release

Join = Literal["found", "missing"]
AuditOutcome = Literal[
    "routed",
    "repeated",
    "scrubbed",
    "held",
    "discarded",
    "dead_letter",
    "replayed",
    "revealed",
    "erased",
    "begun",
    "left_out",
]

_IN_HEADERS = frozenset(
    ("repeated", "held", "discarded", "erased", "begun", "left_out")
)
"""Outcomes that readers of headers need."""
_FIRST_OF_NOTE = "note_id", "patient", "key_id", "preset", "policy", "join", "note_type"
_FIRST_OF_COMMAND = "outcome", "at_ms", "until", "begins_from", "into"


class Run(TypedDict, total=False):
    """The run of `phistream rescrub` that an event is of, and with what it scrubs."""

    into: str
    preset_version: str
    policy_version: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """The audit event of one input record; the schema says what each property means.

    The fields are the properties of phi.audit in their order, but for its source and
    digests, which are added when it is written.  None is left out.

    Args:
        annotations: Encoded, and checked, already.
        unknown_patient: Makes a header alone: the policy for unknown patients.
    """

    stage: str
    outputs: int = 0
    outcome: AuditOutcome
    routed: Mapping[str, int | Mapping[str, int]] | None = None
    code: str | None = None
    actor: str | None = None
    at_ms: int
    reason: str | None = None
    until: int | None = None
    begins_from: str | None = None
    note_id: str | None = None
    patient: str | None = None
    key_id: str | None = None
    preset: str | None = None
    policy: str | None = None
    version: str | None = None
    join: Join | None = None
    note_type: str | None = None
    format: str | None = None
    characters: int | None = None
    removed: Mapping[str, int] | None = None
    unreadable: Mapping[str, int] | None = None
    found: Mapping[str, int] | None = None
    into: str | None = None
    preset_version: str | None = None
    policy_version: str | None = None
    model: str | None = None
    other_language: str | None = None
    held: Release | None = None
    annotations: orjson.Fragment | None = None
    unknown_patient: str = "scrub"

    def output(self, record: Record, topic: Topic = PHI_AUDIT) -> Output:
        """Return the record of the event; its key is the patient, or the source.

        Args:
            record: The input record.
            topic: Another version of it, for what `phistream rescrub` does.
        """
        value = {
            "stage": self.stage,
            "source": source_position(record),
            "outputs": self.outputs,
        }
        for name in (*self._first(), *_names()):
            if (fact := getattr(self, name)) is not None:
                value[name] = fact
        headers = {OUTPUTS: str(self.outputs).encode()}
        if self.outcome in _IN_HEADERS:
            headers[OUTCOME] = self.outcome.encode()
        if self.unknown_patient != "scrub":
            headers[POLICY] = self.unknown_patient.encode()
        checked = {"annotations": self.annotations} if self.annotations else None
        key = self.patient.encode() if self.patient else source_header(record)
        return encoded(topic, key, value, record, headers, checked)

    def _first(self) -> tuple[str, ...]:
        """Return the properties that stand before the others."""
        if self.outcome == "scrubbed":
            return () if self.format else _FIRST_OF_NOTE
        is_of_command = self.stage == RESCRUB or self.outcome == "erased"
        return _FIRST_OF_COMMAND if is_of_command else ()


@cache
def _names() -> tuple[str, ...]:
    apart = {"annotations", "unknown_patient"}
    return tuple(each.name for each in fields(AuditEvent) if each.name not in apart)


def dead_letter(
    stage: str,
    record: Record,
    error: InvalidRecord,
    at_ms: int,
    office: OfficePublicKey,
) -> tuple[Output, Output]:
    """Return the dead letter of a record that can't be processed, and its audit event.

    The dead letter holds the record byte for byte, sealed for the privacy office.  Its
    key is its own, so that it can be erased alone; letters are in the order of their
    originals.  The record's own key may identify a patient.
    """
    letter = sealed_letter(stage, record, error, office)
    event = AuditEvent(
        stage=stage, outputs=1, outcome="dead_letter", code=error.code, at_ms=at_ms
    )
    return letter, event.output(record)
