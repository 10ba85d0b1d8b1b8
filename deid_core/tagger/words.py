"""Cut a text into the sequences that are tagged: its lines, and their words.

A run of letters also comes apart where a small letter meets a capital (``NASSMadrid``),
so that a span can end there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_UPPER = "A-ZÀ-ÖØ-Þ"
_LOWER = rf"[^\W\d_{_UPPER}]"
_WORD = rf"""
    [{_UPPER}]?{_LOWER}+              # word, Word
    | [{_UPPER}]+(?!{_LOWER})         # NASS, and not the M of NASSMadrid
    | [{_UPPER}]
    | \d+
    | [^\s\x00-\x1f]                  # one mark
"""
_WORDS = re.compile(_WORD, re.VERBOSE)
_PIECES = re.compile(rf"{_WORD} | \n", re.VERBOSE)
# The same words of a text of ASCII alone, as most are; the frequent kinds first.
_ASCII_WORD = r"[a-z]+|[!-/:-@\[-`{-\x7f]|[A-Z](?:[a-z]+|[A-Z]*(?![a-z]))|[0-9]+"
_ASCII_WORDS = re.compile(_ASCII_WORD)
_ASCII_PIECES = re.compile(rf"{_ASCII_WORD}|\n")
_BLANK = r"[^\S\n]?"
_BLANK_PIECES = re.compile(rf"{_BLANK}(?:{_WORD}) | \n", re.VERBOSE)
_ASCII_BLANK_PIECES = re.compile(rf"{_BLANK}(?:{_ASCII_WORD})|\n")

NEWLINE = "\n"
"""What ends a line."""

UPPER_LETTERS = frozenset(filter(re.compile(f"[{_UPPER}]").match, map(chr, range(256))))
"""The letters that begin a word before small ones, as these patterns have it."""


def pieces(text: str, *, blanks: bool = False) -> list[str]:
    """Return the words of a text in order, and each line's end as `NEWLINE`.

    Args:
        text: The whole text.
        blanks: Whether a word keeps the blank before it.
    """
    if blanks:
        pattern = _ASCII_BLANK_PIECES if text.isascii() else _BLANK_PIECES
    else:
        pattern = _ASCII_PIECES if text.isascii() else _PIECES
    return pattern.findall(text)


def word_spans(text: str, start: int = 0, end: int | None = None) -> list[range]:
    """Return where the words of a line stand, as ranges of code points.

    Args:
        text: The whole text.
        start: Where the line starts.
        end: Where it ends; the text's end if None.
    """
    last = len(text) if end is None else end
    pattern = _ASCII_WORDS if text.isascii() else _WORDS
    return [range(*each.span()) for each in pattern.finditer(text, start, last)]


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each line starts and ends, without its `NEWLINE`."""
    start = 0
    for line in text.split(NEWLINE):
        yield start, start + len(line)
        start += len(line) + 1
