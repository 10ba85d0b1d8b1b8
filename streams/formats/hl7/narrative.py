"""The narrative of a message: texts of OBX and NTE, assembled into notes.

Sources: HL7 v2 chapter 7.4.2 (OBX), 2.14 (NTE), 9.6 (TXA), 2A.1.29 (FT).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from streams.model.notes import ClinicalNote

from .datatypes import time_of
from .demographics import PatientGroup
from .message import Segment
from .message_types import Event

NARRATIVE_TYPES = ("TX", "FT", "ST", "")
"""By OBX-2, which many interfaces leave empty where OBX-5 is text."""
_SHORT = ("ST", "")
FIELDS = {
    "OBR": frozenset((2, 3, 4, 7, 22)),
    "OBX": frozenset((2, 3, 5)),
    "NTE": frozenset((3,)),
    "TXA": frozenset((2, 4, 6, 12)),
}
"""The segments and fields that notes are made of."""

_CODE = re.compile(r"[A-Za-z0-9^._/-]{1,64}")


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a stretch of a note's text comes from: a repetition of a field.

    Args:
        line: Of the segment in the message.
        number: Of the field.
        repetition: From 0.
        start: Offset in the note's text; may lie before or after it, since empty lines
            at both ends of a note are left out.
        length: Of the repetition's text.
    """

    line: int
    number: int
    repetition: int
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line of a draft: what is generated, and a repetition of a field."""

    text: str = field(repr=False)
    heading: str = field(default="", repr=False)
    line: int = 0
    number: int = 0
    repetition: int = 0


@dataclass(slots=True)
class _Draft:
    """The pieces of one note: those of an OBR, a TXA, or the message."""

    header: Segment | None
    pieces: list[_Piece] = field(default_factory=list)
    heading: str = ""

    def add(self, heading: str, pieces: Sequence[_Piece]) -> None:
        """Add pieces under their heading, which is not repeated in a row."""
        if heading and heading != self.heading:
            self.pieces.append(_Piece("", f"{heading}:"))
        self.heading = heading
        self.pieces += pieces

    def text(self) -> str:
        """Return the note's text, with empty lines at both ends."""
        return "\n".join([each.heading + each.text for each in self.pieces])

    def passages(self, start: int) -> Iterator[Passage]:
        """Return where the text comes from.

        Args:
            start: Offset of the first piece in the note's text.
        """
        for each in self.pieces:
            start += len(each.heading)
            length = len(each.text)
            if each.number:
                yield Passage(each.line, each.number, each.repetition, start, length)
            start += length + 1


@dataclass(frozen=True, slots=True)
class Narrative:
    """The notes of a patient group.

    Args:
        notes: One for each OBR or TXA that has text.
        passages: Of each note, where its text comes from, in order.
        skipped: The numbers of skipped OBX, by OBX-2.
    """

    notes: tuple[ClinicalNote, ...]
    passages: tuple[tuple[Passage, ...], ...]
    skipped: Counter[str]


def narrative_of(
    group: PatientGroup, event: Event, control_id: str, sent_at: str, ordinal: str
) -> Narrative:
    """Return the notes of a group, one for each OBR or TXA.

    Args:
        group: The patient's segments.
        event: Of the message.
        control_id: MSH-10, the id of notes without a number of their own.
        sent_at: MSH-7 as ISO 8601.
        ordinal: Of the message in its record, and of the group in the message.
    """
    drafts: list[_Draft] = [_Draft(None)]
    skipped: Counter[str] = Counter()
    for segment in group.segments:
        if segment.name in ("OBR", "TXA"):
            drafts.append(_Draft(segment))
        elif segment.name == "NTE":
            drafts[-1].pieces += _pieces(segment, 3)
        elif segment.name == "OBX":
            _observe(drafts[-1], segment, skipped)
    notes, passages = [], []
    for number, draft in enumerate(drafts):
        whole = draft.text()
        text = whole.strip("\n")
        if text.strip():
            place = f"{control_id}.{ordinal}.{number}"
            notes.append(_note(group, event, draft.header, text, place, sent_at))
            passages.append(tuple(draft.passages(len(whole.lstrip("\n")) - len(whole))))
    return Narrative(tuple(notes), tuple(passages), skipped)


def _observe(draft: _Draft, obx: Segment, skipped: Counter[str]) -> None:
    kind = obx.value(2)
    if kind not in NARRATIVE_TYPES:
        skipped[kind if re.fullmatch(r"[A-Z]{2,3}", kind) else "?"] += 1
        return
    pieces = _pieces(obx, 5)
    if not pieces:
        return
    name = obx.value(3, 2) or obx.value(3, 5) or obx.value(3)
    if kind in _SHORT and len(pieces) == 1 and "\n" not in pieces[0].text:
        heading = f"{name}: " if name else ""
        draft.add("", [replace(pieces[0], heading=heading)])
    else:
        draft.add(name, pieces)


def _pieces(segment: Segment, number: int) -> list[_Piece]:
    """Return the lines of a text field; a repetition is a line (chapter 7.4.2.5)."""
    lines = segment.lines(number)
    if not any(line.strip() for line in lines):
        return []
    return [_Piece(text, "", segment.line, number, at) for at, text in enumerate(lines)]


def _note(
    group: PatientGroup,
    event: Event,
    header: Segment | None,
    text: str,
    place: str,
    sent_at: str,
) -> ClinicalNote:
    code, number, written_at = "", "", ""
    if header is not None and header.name == "TXA":
        code, number = header.value(2), header.value(12)
        written_at = time_of(header.value(6)) or time_of(header.value(4))
    elif header is not None:
        code, number = header.value(4), header.value(3) or header.value(2)
        written_at = time_of(header.value(22)) or time_of(header.value(7))
    return ClinicalNote(
        # The place makes the id unique, since an order can have several reports.
        note_id=f"{number}/{place}" if number else place,
        patient=group.patient,
        note_type=code if _CODE.fullmatch(code) else str(event),
        written_at=written_at or sent_at,
        text=text,
        demographics=group.demographics,
    )
