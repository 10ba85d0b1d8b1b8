"""The narrative of a message: texts of OBX and NTE, assembled into notes.

Sources: HL7 v2 chapter 7.4.2 (OBX), 2.14 (NTE), 9.6 (TXA), 2A.1.29 (FT).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..events.notes import ClinicalNote
from .datatypes import time_of
from .demographics import PatientGroup
from .message import Segment
from .message_types import Event

NARRATIVE_TYPES = ("TX", "FT", "ST")
FIELDS = {
    "OBR": frozenset((2, 3, 4, 7, 22)),
    "OBX": frozenset((2, 3, 5)),
    "NTE": frozenset((3,)),
    "TXA": frozenset((2, 4, 6, 12)),
}
"""The segments and fields that notes are made of."""

_CODE = re.compile(r"[A-Za-z0-9^._/-]{1,64}")


@dataclass(slots=True)
class _Draft:
    """The lines of one note: those of an OBR, a TXA, or the message."""

    header: Segment | None
    lines: list[str] = field(default_factory=list)
    heading: str = ""

    def add(self, heading: str, lines: Sequence[str]) -> None:
        """Add lines under their heading, which is not repeated in a row."""
        if heading and heading != self.heading:
            self.lines.append(f"{heading}:")
        self.heading = heading
        self.lines += lines


@dataclass(frozen=True, slots=True)
class Narrative:
    """The notes of a patient group, and the numbers of skipped OBX by OBX-2."""

    notes: tuple[ClinicalNote, ...]
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
            drafts[-1].lines += _lines(segment, 3)
        elif segment.name == "OBX":
            _observe(drafts[-1], segment, skipped)
    notes = []
    for number, draft in enumerate(drafts):
        text = "\n".join(draft.lines).strip("\n")
        if text.strip():
            place = f"{control_id}.{ordinal}.{number}"
            notes.append(_note(group, event, draft.header, text, place, sent_at))
    return Narrative(tuple(notes), skipped)


def _observe(draft: _Draft, obx: Segment, skipped: Counter[str]) -> None:
    kind = obx.value(2)
    if kind not in NARRATIVE_TYPES:
        skipped[kind if re.fullmatch(r"[A-Z]{2,3}", kind) else "?"] += 1
        return
    lines = _lines(obx, 5)
    if not lines:
        return
    name = obx.value(3, 2) or obx.value(3, 5) or obx.value(3)
    if kind == "ST" and len(lines) == 1:
        draft.add("", [f"{name}: {lines[0]}" if name else lines[0]])
    else:
        draft.add(name, lines)


def _lines(segment: Segment, number: int) -> list[str]:
    """Return the lines of a text field; a repetition is a line (chapter 7.4.2.5)."""
    lines = [line for text in segment.lines(number) for line in text.split("\n")]
    return lines if any(line.strip() for line in lines) else []


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
