"""Texts whose sender breaks lines at a fixed width, even inside of words.

Reports of some systems come as segments of 60 or 80 characters: "Seen today: Quell" and
"wright, Mabelle".  A line is full if it is as wide as others of its block, and none of
the block is wider.  Text that is wrapped between words has few such lines.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from .reading import Reading

_LEAST_WIDTH = 12
"""Of full lines: a column of short codes is no wrapped text."""
_LEAST_FULL = 2


def unwrapped(text: str) -> Reading | None:
    """Return a text without the line ends of its full lines; None if it has none.

    Only line ends between letters and digits are left out.
    """
    breaks = array("q", _breaks(text))
    if not breaks:
        return None
    bounds = zip([0, *(at + 1 for at in breaks)], [*breaks, len(text)], strict=True)
    places = array("q", (at - before for before, at in enumerate(breaks)))
    return Reading(
        "".join(text[start:end] for start, end in bounds),
        places,
        places,
        breaks,
        array("q", (at + 1 for at in breaks)),
    )


def _breaks(text: str) -> Iterator[int]:
    """Yield the places of line ends behind full lines that words may go across."""
    lines = text.split("\n")
    ends = list(accumulate(map(len, lines), lambda end, size: end + 1 + size))
    first = 0
    for at, line in enumerate([*lines, ""]):
        if line.strip():
            continue
        for full in _full(lines[first:at]):
            end = ends[first + full]
            if text[end - 1].isalnum() and text[end + 1].isalnum():
                yield end
        first = at + 1


def _full(block: list[str]) -> Iterator[int]:
    """Yield which lines of a block are full, but for the last."""
    widths = list(map(len, block))
    width = max(widths, default=0)
    if width < _LEAST_WIDTH or Counter(widths)[width] < _LEAST_FULL:
        return
    yield from (at for at, own in enumerate(widths[:-1]) if own == width)
