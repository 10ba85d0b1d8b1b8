"""The reader of HL7 v2: parts of messages, their free texts, rebuilt messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deid_core import ScrubbedDocument
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.enclosed_notes import (
    TEXTS,
    Opener,
    Whose,
    skipped_with,
    with_enclosed,
)
from streams.model.parts import FreeText, Part, Rebuilt, Values
from streams.model.patients.demographics import Demographics, PatientRecord, records_of

from . import fields, narrative
from .datatypes import time_of
from .demographics import PatientGroup, patient_groups
from .field_rules import Rules
from .framing import encoded, messages_of
from .free_texts import WHOLE, FreeTexts, Scrubbed
from .markup import with_shown_texts
from .message import Segment, Wanted, delimiters_of, parse
from .message_types import Event, event_of
from .narrative import Narrative, narrative_of
from .rebuilding import Frame, Rebuilder, Row, add_texts, enclosed_in, rows_of
from .values import Checks

HEADER = {"MSH": frozenset((4, 7, 9, 10, 12)), "EVN": frozenset((1, 2))}
WANTED = {
    name: tuple(
        sorted(table.get(name, frozenset()) | narrative.FIELDS.get(name, frozenset()))
    )
    for table in (HEADER | fields.wanted(),)
    for name in table.keys() | narrative.FIELDS.keys()
}
"""The segments and fields that are read."""

FORMAT = "hl7"
MAX_CHARACTERS = 64 << 20
"""Of the headers of the parts of a message with several patients."""

_SEGMENT = re.compile(r"(?<![^\r])[A-Z][A-Z0-9]{2}(?![A-Za-z0-9])")

Parse = Callable[[str, Wanted], list[Segment]]


@dataclass(frozen=True, slots=True)
class _Message:
    """The content of a message, as far as demographics and notes need it."""

    msh: Segment
    event: Event
    sent_at: str = field(repr=False)
    groups: Sequence[PatientGroup]

    @classmethod
    def of(cls, text: str, parse: Parse) -> _Message:
        """Return the content of a message."""
        msh, *segments = parse(text, WANTED)
        evn = next((segment for segment in segments if segment.name == "EVN"), None)
        event = event_of(msh, evn)
        authority = msh.value(4) or msh.value(4, 2)
        return cls(
            msh,
            event,
            time_of(evn.value(2) if evn else "") or time_of(msh.value(7)),
            patient_groups(segments, authority, msh.value(4), event.trigger),
        )

    def narrative(self, group: PatientGroup, place: str) -> Narrative:
        """Return the notes of a group.

        Args:
            group: Of this message.
            place: Ordinals of the message and of the group; notes' ids hold it.
        """
        return narrative_of(group, self.event, self.msh.value(10), self.sent_at, place)


IsNew = Callable[[str, int], bool]
"""Whether a message is to be processed, from its text and its number in the record."""


def every(_message: str, _ordinal: int) -> bool:
    """Return that the message is to be processed."""
    return True


@dataclass(frozen=True, slots=True, repr=False)
class _OpenedPart:
    """A part, ready to be scrubbed and rebuilt."""

    content: str
    frame: Frame
    rows: Sequence[Row]
    free_texts: FreeTexts

    @property
    def texts(self) -> Sequence[FreeText]:
        """The notes, then the texts of other fields."""
        return self.free_texts.texts

    def rebuilt(self, scrubbed: Sequence[ScrubbedDocument], values: Values) -> Rebuilt:
        """Return the part without identifiers, in its character set."""
        done = Scrubbed(self.free_texts, scrubbed, self.frame.delimiters)
        rebuilder = Rebuilder(self.frame, done, values)
        lines = [rebuilder.line(row) for row in self.rows]
        text = "".join(f"{line}\r" for line in lines if line is not None)
        return Rebuilt(
            encoded(text, like=self.content),
            dict(rebuilder.removed),
            dict(rebuilder.unreadable),
            tuple(rebuilder.enclosed),
        )


class Hl7Reader:
    """Reads and rebuilds HL7 v2 messages; see `streams.model.parts.Reader`.

    Args:
        rules: Of all fields.
        parse: Returns the segments of a message; tests pass the reference.
        opener: Of documents in OBX-5.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        parse: Parse = parse,
        opener: Opener = TEXTS,
    ) -> None:
        self._rules = rules or Rules()
        self._parse = parse
        self._opener = opener

    def parts(self, value: bytes, is_new: IsNew = every) -> Sequence[Part]:
        """Return a part for each PID of each message of a record.

        Args:
            value: Of the record, which may be a batch.
            is_new: Messages of which it is false are left out, and not parsed.

        Raises:
            InvalidRecord: A message can't be read.
        """
        return [
            part
            for ordinal, text in enumerate(messages_of(value))
            if is_new(text, ordinal)
            for part in self._parts(text, ordinal)
        ]

    def read(self, content: str) -> _OpenedPart:
        """Return a part of a message, opened.

        Raises:
            InvalidRecord: It is none.
        """
        message = _Message.of(content, self._parse)
        group = message.groups[0]
        delimiters = delimiters_of(content)
        checks = Checks(self._rules.codes, delimiters, group.demographics)
        fields = self._rules.of(message.msh.value(12))
        frame = Frame(
            self._rules, fields, delimiters, checks, self._opener, lambda: _whose(group)
        )
        rows = list(rows_of(content, delimiters))
        texts = FreeTexts()
        narrative = message.narrative(group, "")
        for note, passages in zip(narrative.notes, narrative.passages, strict=True):
            texts.add(
                note.text,
                note.note_type,
                (
                    (
                        (passage.line, passage.number, passage.repetition, *WHOLE),
                        passage.start,
                        passage.length,
                    )
                    for passage in passages
                ),
            )
        add_texts(rows, frame, texts)
        texts.close()
        return _OpenedPart(content, frame, rows, texts)

    def text(self, value: bytes) -> str:
        """Return a rebuilt message as text."""
        return "".join(f"{message}\r" for message in messages_of(value))

    def shown(self, value: bytes) -> str:
        """Return a rebuilt message without the names of its segments."""
        return _SEGMENT.sub("", self.text(value))

    def _parts(self, text: str, ordinal: int) -> list[Part]:
        message = _Message.of(text, self._parse)
        parts = []
        contents = contents_of(text, message.groups)
        for number, (group, written) in enumerate(
            zip(message.groups, contents, strict=True)
        ):
            content = with_shown_texts(written)
            # Read from the content, so that notes are the texts of the part.
            read = message
            if content is not text:
                read = _Message.of(content, self._parse)
            narrative = read.narrative(read.groups[0], f"{ordinal}.{number}")
            enclosed = self._enclosed(content, group)
            parts.append(
                Part(
                    format=FORMAT,
                    content=content,
                    updates=updates_of(group, message.sent_at, enclosed),
                    notes=narrative.notes,
                    skipped=skipped_with(narrative.skipped, enclosed),
                )
            )
        return parts

    def _enclosed(self, content: str, group: PatientGroup) -> list[Part]:
        """Return the messages in OBX-5 of a part."""
        marks = delimiters_of(content)
        if "ED" not in content:
            return []
        rows = rows_of(content, marks)
        return [*enclosed_in(rows, marks, self._opener, lambda: _whose(group))]


def contents_of(text: str, groups: Sequence[PatientGroup]) -> list[str]:
    """Return a message for each patient group: MSH, EVN and the group's segments.

    Raises:
        InvalidRecord: too_large: MSH and EVN, once for each patient, are too long.
    """
    if len(groups) == 1:
        return [text]
    lines = text.split("\r")
    starts = [group.segments[0].line for group in groups]
    header = lines[:1]
    header += [line for line in lines[1 : starts[0]] if line[:3] == "EVN"][:1]
    if len(groups) * sum(map(len, header)) > MAX_CHARACTERS:
        raise InvalidRecord(
            ReasonCode.TOO_LARGE,
            "MSH, EVN: too long for so many patients; send a message for each",
        )
    bounds = zip(starts, [*starts[1:], len(lines)], strict=True)
    first, *others = (lines[start:end] for start, end in bounds)
    contents = [[*lines[: starts[0]], *first], *([*header, *other] for other in others)]
    return ["\r".join(content) for content in contents]


def _whose(group: PatientGroup) -> Whose:
    return Whose(group.keys, group.demographics)


def updates_of(
    group: PatientGroup, sent_at: str, enclosed: Sequence[Part] = ()
) -> tuple[PatientRecord, ...]:
    """Return the patient record under every key that notes of this patient may have.

    After a merge (A40, chapter 3.3.40) these are the surviving and the prior key.  Each
    record names the other ones; after a link (A24) also those of the other PID.
    """
    current, former = with_enclosed(group.demographics, Demographics(), enclosed)
    return records_of(group.keys, sent_at, current, former, group.merged)
