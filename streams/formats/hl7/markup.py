"""Texts of OBX and NTE that hold HTML or RTF: the message with what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from streams.formats.documents import (
    holds_document,
    is_plain,
    may_hold_markup,
    shown_in,
)

from .message import Delimiters, Field, delimiters_of, escape
from .narrative import NARRATIVE_TYPES

_FIELDS = {"OBX": 5, "NTE": 3}
_MAY_BE_MARKUP = re.compile(r"[<{&\\]")


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a segment.

    Args:
        at: Which line of the message it is.
        series: The same for segments in a row whose texts continue one another.
        raw: Its field.
    """

    at: int
    series: tuple[int, ...] | tuple[int, str, str] = field(repr=False)
    raw: str = field(repr=False)


def with_shown_texts(message: str) -> str:
    """Return a message whose notes are plain text, the message itself if they are.

    A document over several segments in a row is written in the first of them, a line
    in each repetition.  What can't be opened stays, to be refused.
    """
    marks = delimiters_of(message)
    header, _, rest = message.partition("\r")
    if not any(each in rest for each in ("<", "{", "&", "\\", marks.escape)):
        return message
    lines = [header, *rest.split("\r")]
    texts = list(_texts(lines, marks))
    if not any(_may_be_markup(each.raw, marks) for each in texts):
        return message
    is_changed = False
    for _, series in groupby(texts, attrgetter("series")):
        for at, shown in _shown(list(series), marks):
            fields = lines[at].split(marks.field)
            fields[_FIELDS[fields[0]]] = marks.repetition.join(
                escape(each, marks) for each in shown.rstrip("\n").split("\n")
            )
            lines[at] = marks.field.join(fields)
            is_changed = True
    return "\r".join(lines) if is_changed else message


def _texts(lines: Sequence[str], marks: Delimiters) -> Iterator[_Text]:
    breaks = 0
    for at, line in enumerate(lines):
        number = _FIELDS.get(line[:3], 0)
        fields = line.split(marks.field) if number else []
        kind = fields[2] if number == _FIELDS["OBX"] and len(fields) > number else ""
        if len(fields) <= number or fields[0] not in _FIELDS:
            breaks += 1
        elif fields[0] == "NTE":
            yield _Text(at, (breaks,), fields[number])
        elif kind.split(marks.component)[0].strip() in NARRATIVE_TYPES:
            yield _Text(at, (breaks, kind, fields[3]), fields[number])


def _may_be_markup(raw: str, marks: Delimiters) -> bool:
    return marks.escape in raw or _MAY_BE_MARKUP.search(raw) is not None


def _shown(series: Sequence[_Text], marks: Delimiters) -> Iterator[tuple[int, str]]:
    """Yield the lines whose text shows another one, with that."""
    texts = ["\n".join(Field(each.raw, marks).lines) for each in series]
    whole = "\n".join(texts)
    if not (may_hold_markup(whole) or holds_document(whole)):
        return
    written = [shown_in(whole)] if holds_document(whole) else [*map(shown_in, texts)]
    # A tag may begin in one segment and end in the next.
    if len(written) > 1 and not is_plain(rest := "\n".join(written)):
        written = [shown_in(rest)]
    written += [""] * (len(texts) - len(written))
    for each, text, new in zip(series, texts, written, strict=True):
        if new != text:
            yield each.at, new
