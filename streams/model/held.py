"""Rows of `notes.held`: notes that wait for the demographics of their patient."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import orjson

from schemas import SchemaError
from streams.kafka.topics import NOTES_HELD

_LENGTH = struct.Struct(">I")
_OFFSET = struct.Struct(">Q")


HeldPolicy = Literal["wait", "hold"]
"""The policies for unknown patients that hold a note."""


class Release(StrEnum):
    """Why a held note was released."""

    DEMOGRAPHICS = "demographics"
    TIME = "time"
    OPERATOR = "operator"


def prefix_of(patient: bytes) -> bytes:
    """Return what the keys of a patient's rows begin with, and no other's."""
    return _LENGTH.pack(len(patient)) + patient


def row_key(prefix: bytes, offset: int) -> bytes:
    """Return the key of a note's row: rows of a patient sort by offset."""
    return prefix + _OFFSET.pack(offset)


def read_key(key: bytes) -> tuple[bytes, int]:
    """Return the prefix and the note's offset in `notes`."""
    return key[: -_OFFSET.size], int(_OFFSET.unpack(key[-_OFFSET.size :])[0])


def patient_of(prefix: bytes) -> bytes:
    """Return the patient's key."""
    return prefix[_LENGTH.size :]


@dataclass(frozen=True, slots=True)
class HeldNote:
    """A note that waits, or that was released and is not processed yet.

    Args:
        policy: Why it was held.
        note_type: Of the note.
        since_ms: When it was held, in milliseconds since 1970.
        until_ms: When it is released at the latest; 0 for no bound.
        received: The header `received` of its record; empty once it is released.
        note: The value of its record on `notes`; empty once it is released.
        released: Why it was released; None while it waits.
    """

    policy: HeldPolicy
    note_type: str = field(repr=False)
    since_ms: int
    until_ms: int = 0
    received: str = ""
    note: str = field(default="", repr=False)
    released: Release | None = None

    def encode(self) -> bytes:
        """Return the row's value."""
        value: dict[str, Any] = {
            "policy": self.policy,
            "note_type": self.note_type,
            "since_ms": self.since_ms,
        }
        if self.until_ms:
            value["until_ms"] = self.until_ms
        if self.released is None:
            value |= {"received": self.received, "note": self.note}
        else:
            value["released"] = self.released
        body = NOTES_HELD.schema.versioned(value)
        NOTES_HELD.schema.check_strictly(body)
        return orjson.dumps(body)

    @classmethod
    def decode(cls, value: bytes) -> HeldNote:
        """Return the note of a row's value.

        Raises:
            ValueError: The value is not JSON, or breaks its schema.
            ConfigError: It is of a later version of its schema.
        """
        found: Mapping[str, Any] = orjson.loads(value)
        try:
            NOTES_HELD.schema.check(found)
        except SchemaError:
            NOTES_HELD.require_known_version(value)
            raise
        released = found.get("released")
        return cls(
            policy=found["policy"],
            note_type=found["note_type"],
            since_ms=found["since_ms"],
            until_ms=found.get("until_ms", 0),
            received=found.get("received", ""),
            note=found.get("note", ""),
            released=None if released is None else Release(released),
        )
