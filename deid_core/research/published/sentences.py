"""A text as sentences, each under its section heading.

Lines end sentences, for notes are written so; within a line, a full stop, question or
exclamation mark before a capital does, but for that of a title or an initial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from deid_core.tagger.features import header
from deid_core.tagger.words import lines

from .tokenizers import Tokenizer

_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])")
_NO_END = re.compile(
    r"(?:\b[^\W\d_]|\b(?:dr|dra|mr|mrs|ms|prof|st|sr|sra|no|vs|av|avda|c))\.\Z", re.I
)
_CAPITALS = re.compile(r"[^a-z\d]{4,60}\Z")
_TAIL = 8


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a text.

    Args:
        words: Its tokens.
        places: Where they stand, in code points of the text.
        heading: Of the section, in small letters; empty before the first.
    """

    words: tuple[str, ...] = field(repr=False)
    places: tuple[range, ...]
    heading: str = field(default="", repr=False)

    @property
    def gaps(self) -> tuple[bool, ...]:
        """Return, for each word, whether white space stands before it."""
        before = (0, *(place.stop for place in self.places))
        return tuple(
            place.start > stop for place, stop in zip(self.places, before, strict=False)
        )


def sentences(text: str, tokenizer: Tokenizer) -> list[Sentence]:
    """Return the sentences that hold a token, in order."""
    found = []
    heading = ""
    for start, end in lines(text):
        heading = heading_of(text[start:end]) or heading
        for first, last in _within(text, start, end):
            places = tuple(tokenizer(text, first, last))
            if places:
                words = tuple(text[p.start : p.stop] for p in places)
                found.append(Sentence(words, places, heading))
    return found


def heading_of(line: str) -> str:
    """Return the section heading that a line holds, or nothing.

    What stands before the first colon, or a short line all in capitals.
    """
    bare = line.strip()
    if _CAPITALS.match(bare) and any(map(str.isalpha, bare)):
        return bare.lower().rstrip(":")
    return header(line)


def _within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _END.finditer(text, start, end):
        if not _NO_END.search(text, max(start, found.start() - _TAIL), found.start()):
            yield start, found.start()
            start = found.end()
    yield start, end
