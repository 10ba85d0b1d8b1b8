"""Trim what a detector took along with a name, date or hospital: a degree, a heading.

"Nadine LPN" and "Trinh, Bao-Long  Admit" lose what identifies nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from deid_core.document import Annotation, Span
from deid_core.labels import Label
from deid_core.language.fragments import any_of, ends_with, words
from deid_core.language.lexicons import load_list, normal
from deid_core.language.lexicons.word_classes import is_mere_word

from .name_edges import after_address

_DEGREES = any_of(load_list("degrees"))
_DEGREES_BEHIND = re.compile(rf"(?:,?[ ]{{1,3}}{_DEGREES}[.,]?)+\Z")
_DEGREE_ALONE = re.compile(_DEGREES)
_COLUMN = re.compile(r"[ ]{2,}")
_VALUE = re.compile(r"[ :#]{1,8}[0-9]")
_FIRST_WORD = re.compile(r"[A-Za-z-]+")
_UNIT_OF = re.compile(
    r"(?:[Tt]he[ ])?(?:A&E|(?<=A&)E|(?i:accident[ ](?:and|&)[ ]emergency"
    r"|(?:emergency|casualty|outpatient)(?:[ ](?:department|dept|room|unit))?"
    r"|department|dept\.?|division))[ ]of[ ](?:the[ ])?(?=[A-Z])"
)
_SHIFTS = frozenset(words("7-3 3-11 11-7 7-7"))
_MEASURED = re.compile(
    r"(?<![a-z])(?:sats?|saturation|spo2|o2|hr|heart[ ]rate|pulse|glucose|bg|fsbs|inr"
    r"|plt|platelets?|levels?|hgb|hb|sodium|na|cl|chloride|weight|wt|bp|map|temp)"
    r"(?:[ ]sats?)?[ ](?:[0-9]{1,3}(?:\.[0-9])?[ ])?(?:at[ ]|\()\Z",
    re.IGNORECASE,
)
_PEOPLE = frozenset({Label.PATIENT, Label.DOCTOR})
_INSTITUTIONS = frozenset({Label.HOSPITAL, Label.ORGANIZATION})


def without_overhang(
    text: str, start: int, end: int, label: Label
) -> tuple[int, int] | None:
    """Return where a proposal begins and ends without that; None if nothing is left.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the proposal.
        end: Of the proposal.
        label: What it is called.
    """
    if label is Label.DATE:
        return _without_shift(text, start, end)
    if label is Label.AGE and ends_with(_MEASURED, text, start):
        return None
    if label in _INSTITUTIONS and (unit := _UNIT_OF.match(text, start, end)):
        start = unit.end()
    if label not in _PEOPLE and label not in _INSTITUTIONS:
        return start, end
    # "R.N." may be the initials of a name.
    if "." not in text[start:end] and _DEGREE_ALONE.fullmatch(text, start, end):
        return None
    if label in _PEOPLE:
        start = after_address(text, start, end)
        end = _before_heading(text, start, end)
        degrees = _DEGREES_BEHIND.search(text, start, end)
        end = degrees.start() if degrees else end
    return start, end


def trimmed(text: str, proposals: Iterable[Annotation]) -> Iterator[Annotation]:
    """Yield proposals without that; ``text`` is the note, folded."""
    for each in proposals:
        span = without_overhang(text, each.span.start, each.span.end, each.label)
        if span == (each.span.start, each.span.end):
            yield each
        elif span is not None:
            yield replace(each, span=Span(*span))


def _without_shift(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where a date begins and ends; None for the hours of a shift."""
    begins_line = start == 0 or text[start - 1] == "\n"
    if begins_line and text[end : end + 2] == "  " and text[start:end] in _SHIFTS:
        return None
    return start, end


def _before_heading(text: str, start: int, end: int) -> int:
    """Return where a name ends before the heading or the sex in the next column."""
    for column in _COLUMN.finditer(text, start, end):
        word = _FIRST_WORD.match(text, column.end(), end)
        if word is None:
            continue
        is_heading = len(word[0]) > 3 and text[word.end() : word.end() + 1] == ":"
        is_word = word[0] in {"M", "F"} or is_mere_word(normal(word[0]))
        # Alone it may be the next name, or its initial.
        if is_heading or (is_word and _VALUE.match(text, word.end())):
            return column.start()
    return end
