"""Read from a record what it says of its input, and check whether to believe it.

A mark is read from the record's value where the value has it, and from the headers of
topics that no sender may write to.  With the audit key its seal is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from confluent_kafka import Message
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from streams.engine.records import Record
from streams.kafka.client import header_pairs, record_of, value_of
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.kafka.versions import live_name
from streams.model.outputs import ERASED as ERASED_ROWS
from streams.model.outputs import HELD, OUTCOME, POLICY, SOURCE
from streams.model.seals import SEAL, Seal, Seals

from .verdict import Fault

INPUTS = (HL7_RAW.name, NOTES.name, PATIENT_UPDATES.name)
SOURCES: Mapping[str, tuple[str, ...]] = {
    NOTES.name: (HL7_RAW.name, NOTES.name),
    PATIENT_UPDATES.name: (HL7_RAW.name, PATIENT_UPDATES.name),
    NOTES_SCRUBBED.name: (NOTES.name,),
    HL7_SCRUBBED.name: (NOTES.name,),
    PHI_AUDIT.name: INPUTS,
    DEAD_LETTERS.name: INPUTS,
}
"""The topics whose records give records of a topic."""
OWING = (NOTES.name, NOTES_SCRUBBED.name, HL7_SCRUBBED.name, DEAD_LETTERS.name)
"""Topics on which audit events promise outputs; updates are counted apart."""
ERASED, REPLAYED = "erased", "replayed"
ACTS = frozenset({REPLAYED, "revealed", ERASED})
"""Outcomes of audit events of persons."""
HAS_SOURCE = {NOTES_SCRUBBED.name, DEAD_LETTERS.name, PHI_AUDIT.name}
"""The topics whose values say the source themselves."""

_POSITION = re.compile(rb"([a-z.0-9]{1,64})/([0-9]{1,9})/([0-9]{1,18})")
_Number = Annotated[int, Field(ge=0, lt=10**18)]
_Count = Annotated[int, Field(ge=0, lt=2**31)]
_KeyId = Annotated[str, Field(pattern="^[0-9a-f]{8}$")]
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class _StrictModel(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, cache_strings="none")


Model = TypeVar("Model", bound=_StrictModel)


class Position(_StrictModel):
    """Where an input record lies."""

    topic: str
    partition: _Number
    offset: _Number


class _Sourced(_StrictModel):
    """The part of a value that says its source."""

    source: Position


class EventDigests(_StrictModel):
    """The digests that an audit event holds."""

    key_id: _KeyId
    input: _Digest
    outputs: dict[str, list[_Digest]]


class MarkedEvent(_Sourced):
    """The part of an audit event that is needed here."""

    outcome: str
    outputs: _Count
    at_ms: _Number
    format: str = ""
    stage: str = ""
    code: str = ""
    digests: EventDigests | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        """Return on which topics the outputs are, but patient updates."""
        if self.outcome == "held":
            return (NOTES.name,)  # once the note is released
        if self.digests is not None:
            return tuple(topic for topic in OWING if topic in self.digests.outputs)
        if self.outcome == "scrubbed":
            return (HL7_SCRUBBED.name if self.format else NOTES_SCRUBBED.name,)
        named = {"routed": NOTES.name, "dead_letter": DEAD_LETTERS.name}
        return (named[self.outcome],) if self.outcome in named else ()


class Untrusted(Exception):
    """A record is no output, or not to be believed.

    Args:
        fault: Why.
        says: What is wrong, without a value.
    """

    def __init__(self, fault: Fault, says: str) -> None:
        super().__init__(fault, says)
        self.fault = fault
        self.says = says


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of an output: what it says of its input.

    Args:
        source: The input record.
        seal: Of the output; None if it has none.
        is_known_key: Whether the seal's key was given, or none was.
        is_release: Whether it is a note that was held.
        policy: For notes of unknown patients; empty for the usual one.
        event: The audit event, if it is one.
        at_ms: When it was written: as a sealed event says, else as the broker does.
    """

    source: Position
    seal: Seal | None
    is_known_key: bool
    is_release: bool
    policy: bytes
    event: MarkedEvent | None
    at_ms: int

    @property
    def is_sealed(self) -> bool:
        """True if it has a seal, of a key that was given if any was."""
        return self.seal is not None and self.is_known_key


class Marks:
    """Reads marks.

    Args:
        keys: The audit keys; without any, seals are not checked.
    """

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._seals = {each.key_id: each for each in map(Seals, keys)}

    @property
    def are_checked(self) -> bool:
        """True if seals are checked."""
        return bool(self._seals)

    @property
    def are_of_several_keys(self) -> bool:
        """True if more than one key was given."""
        return len(self._seals) > 1

    def of_input(self, record: Record, key_id: str) -> bytes | None:
        """Return the digest of an input record; None if the key was not given."""
        seals = self._seals.get(key_id)
        return None if seals is None else seals.of_input(record)

    def all_of_input(self, record: Record) -> dict[str, bytes]:
        """Return the digests of an input record by the ids of the given keys."""
        return {name: seals.of_input(record) for name, seals in self._seals.items()}

    def has_own_seal(self, message: Message) -> bool:
        """Return whether a stage of this service wrote a record."""
        try:
            seal = self._seal(message, record_of(message))
        except Untrusted:
            return False
        return seal is not None and seal.key_id in self._seals

    def read(self, message: Message) -> Mark:
        """Return the mark of an output.

        Raises:
            Untrusted: It is no output, or forged, or says nothing of its input.
        """
        record = record_of(message)
        topic = live_name(record.partition.topic)
        if record.value is None:
            raise Untrusted(Fault.NULL_VALUE, "an output has no content")
        seal = self._seal(message, record)
        event: MarkedEvent | None = None
        if topic == PHI_AUDIT.name:
            event = _read(MarkedEvent, record.value)
            source = event.source
        elif topic in HAS_SOURCE:
            source = _read(_Sourced, record.value).source
        else:
            source = _position(record.headers.get(SOURCE))
        is_release = HELD in record.headers
        if source.topic not in SOURCES[topic]:
            raise Untrusted(Fault.MALFORMED, "names no topic whose records give such")
        if topic == NOTES.name and is_release != (source.topic == NOTES.name):
            raise Untrusted(Fault.MALFORMED, "is no released note, but names one")
        return Mark(
            source,
            seal,
            seal is None or self.knows(seal),
            is_release,
            record.headers.get(POLICY, b""),
            event,
            record.timestamp_ms if event is None or seal is None else event.at_ms,
        )

    def of_erasure(self, message: Message) -> Seal:
        """Return the seal of a null value by which `phistream erase` erases rows.

        Raises:
            Untrusted: Another program wrote it, or changed it.
        """
        record = record_of(message)
        is_of_erasure = record.headers.get(OUTCOME) == ERASED_ROWS
        seal = self._seal(message, record) if is_of_erasure else None
        if seal is None:
            raise Untrusted(Fault.NULL_VALUE, "it is not that of a sealed erasure")
        return seal

    def knows(self, seal: Seal) -> bool:
        """Return whether the key of a seal was given, or none was."""
        return not self._seals or seal.key_id in self._seals

    def _seal(self, message: Message, record: Record) -> Seal | None:
        """Return the seal of a record; None if it has none.

        Raises:
            Untrusted: It does not fit the record.
        """
        raw = record.headers.get(SEAL)
        if raw is None:
            return None
        seal = Seal.read(raw)
        if seal is None:
            raise Untrusted(Fault.FORGED, "its seal is malformed")
        seals = self._seals.get(seal.key_id)
        if seals is None:
            return seal
        is_doubled = len(header_pairs(message)) != len(record.headers)
        made = seals.of_output(
            record.partition.topic,
            record.key,
            record.value,
            record.headers.items(),
            seal.input,
        )
        if made != seal or is_doubled:
            raise Untrusted(Fault.FORGED, "its seal is not that of its content")
        return seal


def act_of_a_person(message: Message) -> MarkedEvent | None:
    """Return the audit event of what somebody did, if it is one, and of no input.

    The source is a dead letter or a row of a table: nothing is counted by it.
    """
    try:
        event = _read(MarkedEvent, value_of(message) or b"")
    except Untrusted:
        return None
    is_act = event.source.topic not in INPUTS and event.outcome in ACTS
    return event if is_act else None


def source_of_replay(message: Message) -> Position | None:
    """Return where the original of a replayed letter was, as its mark says.

    None if the mark was deleted, or says nothing.
    """
    try:
        return _read(_Sourced, value_of(message) or b"").source
    except Untrusted:
        return None


def _read(model: type[Model], value: bytes) -> Model:
    try:
        return model.model_validate_json(value)
    except ValidationError:
        # The error shows the value.
        raise Untrusted(Fault.MALFORMED, "its value names no input record") from None


def _position(raw: bytes | None) -> Position:
    match = _POSITION.fullmatch(raw or b"")
    if match is None:
        raise Untrusted(Fault.MALFORMED, "its header source names no input record")
    topic, partition, offset = match.groups()
    return Position(topic=topic.decode(), partition=int(partition), offset=int(offset))
