"""Reads and writes FHIR R4 JSON: a resource, or a Bundle of resources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deid_core import ScrubbedDocument
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.enclosed_notes import (
    TEXTS,
    Enclosed,
    Opener,
    Whose,
    skipped_with,
    with_enclosed,
)
from streams.formats.free_texts import Gathered, NoValues, Unread
from streams.model.parts import FreeText, Part, Rebuilt, Values
from streams.model.patients.demographics import MAX_VALUES, PatientId, records_of

from .datatypes import time_of
from .demographics import demographics_of, linked_ids
from .json_text import dumps, loads
from .notes import notes_of
from .patients import Entry, Group, entries_of, known_of, split
from .writer import Known, Writer

FORMAT = "fhir"
AUTHORITY = "FHIR"
MAX_CHARACTERS = 64 << 20
"""Of the parts of a message with several patients."""

# No value has an unescaped quote before a colon.
_PROPERTY = re.compile(r'"[A-Za-z_]+"(?=:)')


@dataclass(frozen=True, slots=True)
class FhirReader:
    """The format FHIR R4 JSON.

    Args:
        authority: The assigning authority of logical ids: who is referred to as
            `Patient/123` is the patient `123` of this authority.
        opener: Of attached documents.
        nobody: Stands for the patient of resources that could name none, e.g. those of
            a Practitioner alone; without it they are refused.
    """

    authority: str = AUTHORITY
    opener: Opener = TEXTS
    nobody: PatientId | None = None

    def parts(self, value: bytes) -> list[Part]:
        """Return the parts of a message, one for each patient.

        Raises:
            InvalidRecord: It can't be read, is not supported, or names no patient.
        """
        message = loads(value)
        entries = entries_of(message)
        found = split(entries, self.authority, self.nobody)
        skipped = dict(found.skipped)
        parts: list[Part] = []
        size = 0
        for group in found.groups:
            parts.append(self._part(message, group, skipped))
            skipped = {}  # counted once, with the first part
            # What patients share is in the part of each.
            size += len(parts[-1].content)
            if len(parts) > 1 and size > MAX_CHARACTERS:
                raise InvalidRecord(
                    ReasonCode.TOO_LARGE,
                    "Bundle: its parts, one for each patient, are too large; send a "
                    "Bundle for each patient",
                )
        return parts

    def read(self, content: str) -> _OpenedPart:
        """Return a part of a message, opened."""
        message = loads(content)
        entries = entries_of(message)

        def open_(data: bytes, media_type: str) -> Enclosed:
            return self.opener.open(data, media_type, lambda: self._whose(entries))

        part = _OpenedPart(message, known_of(entries), Gathered(open_))
        Writer(part.gathered, NoValues(), part.known).resource(message)
        return part

    def text(self, value: bytes) -> str:
        """Return a rebuilt message as text."""
        return value.decode()

    def shown(self, value: bytes) -> str:
        """Return a rebuilt message without the names of its properties."""
        return _PROPERTY.sub("", self.text(value))

    def _whose(self, entries: Sequence[Entry]) -> Whose:
        """Return the patient of the entries of a part."""
        groups = split(entries, self.authority).groups
        keys = [key for each in groups for key in each.keys]
        resources = [each for group in groups for each in group.resources()]
        return Whose(keys, demographics_of(resources, (), "")[0])

    def _part(
        self, message: dict[str, Any], group: Group, skipped: dict[str, int]
    ) -> Part:
        content = _content(message, group.entries)

        def whose() -> Whose:
            return self._whose(group.entries)

        unread = Unread(lambda data, type_: self.opener.part(data, type_, whose))
        writer = Writer(unread, NoValues(), known_of(group.entries))
        writer.resource(content)
        sent_at = _sent_at(message, group)
        current, former = with_enclosed(
            *demographics_of(group.resources(), writer.named, sent_at), unread.enclosed
        )
        linked = linked_ids(group.resources(), self.authority)
        keys = list(dict.fromkeys([*group.keys, *linked]))
        if len(keys) > MAX_VALUES:
            raise InvalidRecord(
                ReasonCode.TOO_MANY,
                f"FHIR: Patient: more than {MAX_VALUES} identifiers and links; send "
                "fewer",
            )
        notes, unopened = notes_of(
            group.entries,
            group.keys[0],
            current,
            lambda data, type_: self.opener.open(data, type_, whose).text,
        )
        return Part(
            format=FORMAT,
            content=dumps(content).decode(),
            updates=records_of(keys, sent_at, current, former),
            notes=tuple(notes),
            skipped=skipped_with(Counter(skipped) + unopened, unread.enclosed),
        )


@dataclass(frozen=True, slots=True, repr=False)
class _OpenedPart:
    """A part, ready to be scrubbed and rebuilt."""

    message: dict[str, Any]
    known: Known
    gathered: Gathered

    @property
    def texts(self) -> list[FreeText]:
        """The free texts; one that repeats is there once.

        Short ones are lines of one text: alone, `White` would read as a name.
        """
        return self.gathered.all()

    def rebuilt(self, scrubbed: Sequence[ScrubbedDocument], values: Values) -> Rebuilt:
        """Return the part without identifiers."""
        writer = Writer(self.gathered.given(scrubbed), values, self.known)
        written = writer.resource(self.message)
        return Rebuilt(
            dumps(written),
            dict(writer.removed),
            dict(writer.unreadable),
            tuple(writer.enclosed),
        )


def _content(message: dict[str, Any], entries: Sequence[Entry]) -> dict[str, Any]:
    if message["resourceType"] != "Bundle":
        return message
    return {**message, "entry": [each.value for each in entries]}


def _sent_at(message: dict[str, Any], group: Group) -> str:
    """Return when the Patient was changed, else when the message was sent."""
    patients = (each.resource for each in group.entries if each.type == "Patient")
    for each in (*patients, message):
        meta = each.get("meta")
        if isinstance(meta, dict) and (time := time_of(meta.get("lastUpdated"))):
            return time
    return time_of(message.get("timestamp"))
