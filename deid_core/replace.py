"""Write the scrubbed text, and keep the way between it and the note."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .document import Annotation


@dataclass(frozen=True, slots=True)
class Replacement:
    """What to write in place of an annotation."""

    annotation: Annotation
    surrogate: str = field(repr=False)


class Row(NamedTuple):
    """One replacement: a range of the note, and the range written in its place."""

    start: int
    end: int
    scrubbed_start: int
    scrubbed_end: int


_ORIGIN = Row(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """The way between the offsets of a note and of its scrubbed text.

    Args:
        rows: One for each replacement, ordered and disjoint in both texts.

    What was kept maps exactly, both ways.  An offset inside what was replaced maps to
    the start of what stands there in the other text.
    """

    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        for left, right in pairwise((_ORIGIN, *self.rows)):
            kept = right.start - left.end
            lined_up = kept == right.scrubbed_start - left.scrubbed_end
            grows = (
                right.start < right.end and right.scrubbed_start <= right.scrubbed_end
            )
            if kept < 0 or not (lined_up and grows):
                raise ValueError("not an offset map: rows overlap or do not line up")

    def to_scrubbed(self, offset: int) -> int:
        """Return where an offset of the note lies in the scrubbed text."""
        at = bisect_right(self.rows, offset, key=_start) - 1
        if at < 0:
            return _checked(offset)
        row = self.rows[at]
        if offset < row.end:
            return row.scrubbed_start
        return row.scrubbed_end + offset - row.end

    def to_original(self, offset: int) -> int:
        """Return where an offset of the scrubbed text lies in the note."""
        at = bisect_right(self.rows, offset, key=_scrubbed_start) - 1
        if at < 0:
            return _checked(offset)
        row = self.rows[at]
        if offset < row.scrubbed_end:
            return row.start
        return row.end + offset - row.scrubbed_end

    def kept(self, scrubbed_text: str) -> list[str]:
        """Return the pieces of the scrubbed text that come from the note unchanged."""
        pieces, cursor = [], 0
        for row in self.rows:
            pieces.append(scrubbed_text[cursor : row.scrubbed_start])
            cursor = row.scrubbed_end
        pieces.append(scrubbed_text[cursor:])
        return pieces


def apply_replacements(
    text: str, replacements: Sequence[Replacement]
) -> tuple[str, OffsetMap]:
    """Return the text with every annotated span replaced by its surrogate.

    Args:
        text: The text that the annotations refer to.
        replacements: Ordered by position and disjoint, as `merge` returns them.

    Raises:
        ValueError: A span overlaps the one before it, or lies beyond the text.
    """
    pieces: list[str] = []
    rows: list[Row] = []
    cursor = written = 0
    for replacement in replacements:
        span = replacement.annotation.span
        if not cursor <= span.start < span.end <= len(text):
            raise ValueError(f"not a span to replace: [{span.start}, {span.end})")
        pieces += text[cursor : span.start], replacement.surrogate
        begin = written + span.start - cursor
        written = begin + len(replacement.surrogate)
        rows.append(Row(span.start, span.end, begin, written))
        cursor = span.end
    pieces.append(text[cursor:])
    return "".join(pieces), OffsetMap(tuple(rows))


def _start(row: Row) -> int:
    return row.start


def _scrubbed_start(row: Row) -> int:
    return row.scrubbed_start


def _checked(offset: int) -> int:
    if offset < 0:
        raise ValueError(f"not an offset: {offset}")
    return offset
