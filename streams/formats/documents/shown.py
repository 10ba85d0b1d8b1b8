"""The text of markup as it is shown: blanks collapse, blocks part lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from deid_core import ScrubbedDocument

from .fragments import without_markup
from .plain import without_controls

_BLANKS = re.compile("[ \t\n\r\f]+")


@dataclass(slots=True)
class ShownText:
    """Collects what markup shows, and where each of its texts is in it."""

    _pieces: list[str] = field(default_factory=list, repr=False)
    _size: int = 0
    _last: str = field(default="\n", repr=False)  # the last character

    @property
    def text(self) -> str:
        """All that is shown so far."""
        return "".join(self._pieces)

    def add(
        self, text: str | None, *, is_preformatted: bool = False
    ) -> tuple[int, int] | None:
        """Add a text; return where it starts and ends, or None if it shows nothing."""
        shown = without_markup(without_controls(text or ""))
        if not is_preformatted:
            shown = _BLANKS.sub(" ", shown)
            if self._last in " \n\t":
                shown = shown.removeprefix(" ")
        if not shown:
            return None
        start = self._size
        self._append(shown)
        return start, self._size

    def break_line(self) -> None:
        """End the line, even an empty one."""
        self._append("\n")

    def begin_block(self) -> bool:
        """Begin a line; return whether that ended another one."""
        if self._last == "\n":
            return False
        self._append("\n")
        return True

    def begin_cell(self) -> None:
        """Part a cell of a table from the one before it."""
        if self._last not in "\n\t":
            self._append("\t")

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)
        self._last = text[-1]


def scrubbed_piece(scrubbed: ScrubbedDocument, start: int, end: int) -> str:
    """Return what stands for a part of a text after it was scrubbed.

    What was replaced across several parts is written in the last of them.
    """
    to_scrubbed = scrubbed.offset_map.to_scrubbed
    return scrubbed.text[to_scrubbed(start) : to_scrubbed(end)]
