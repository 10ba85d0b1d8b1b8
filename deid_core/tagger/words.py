"""Lines and words of texts: as strings, and as offsets and numbers for the kernels.

A word is a run of letters or digits, or a single mark.  It also ends where a lower-case
letter meets a capital (``NASSMadrid``), so that a span can end there.  `pieces` and
`word_spans` give words as strings; `PlacedWords` cuts a whole batch of texts without
making a string of any word, and `WordNumbers` numbers them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .kernels.words import (
    DIGIT,
    LINE_END,
    LOWER,
    MARK,
    NO_WORD,
    UPPER,
    WordTable,
    add_words,
    cut,
    number_words,
)

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Codes = NDArray[np.uint32]

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
    """Return the words of a line, as ranges of code points.

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


_BEYOND = 0x3000
_UNKNOWN = 255
_ROOM = 8


@dataclass(frozen=True, eq=False)
class PlacedWords:
    """The words of some texts, one text after the other, a line end between two.

    Args:
        text: All of it.
        codes: Its code points.
        begins: Where each word begins, shape ``[words]``.
        ends: Where each word ends, shape ``[words]``.
        leads: Where each word begins as it is numbered: at the blank before it, if such
            words are asked for.
        starts: The word at which each line starts, and past the last; lines may be
            empty.
        texts: Where each of the texts starts.
    """

    text: str = field(repr=False)
    codes: Codes = field(repr=False)
    begins: Ints
    ends: Ints
    leads: Ints
    starts: Longs
    texts: Longs

    @classmethod
    def of(cls, texts: Sequence[str], *, blanks: bool = False) -> PlacedWords:
        """Cut texts into words.

        Args:
            texts: One after the other.
            blanks: Whether a word is numbered with the blank before it.
        """
        text = NEWLINE.join(texts)
        # A copy: for an array that may be written kernels are compiled once more.
        codes = code_points(text).copy()
        begins = np.empty(len(codes), dtype=np.int32)
        ends = np.empty(len(codes), dtype=np.int32)
        starts = np.empty(text.count(NEWLINE) + 2, dtype=np.int64)
        count = cut(_kinds(codes), begins, ends, starts)
        begins, ends = begins[:count], ends[:count]
        leads = begins - _follows_blank(codes, begins) if blanks else begins
        places = accumulate((len(each) + 1 for each in texts), initial=0)
        bounds = np.fromiter(places, np.int64, len(texts) + 1)[:-1]
        return cls(text, codes, begins, ends, leads, starts, bounds)

    def __len__(self) -> int:
        return len(self.begins)

    def strings(self, first: int, past: int) -> list[str]:
        """Return some of the words as strings."""
        text = self.text
        begins, ends = self.begins[first:past].tolist(), self.ends[first:past].tolist()
        return [text[begin:end] for begin, end in zip(begins, ends, strict=True)]

    @cached_property
    def lines(self) -> list[str]:
        """Every line, without its end."""
        return self.text.split(NEWLINE)

    @cached_property
    def text_of_line(self) -> list[int]:
        """The number of each line's text."""
        lengths = accumulate((len(each) + 1 for each in self.lines), initial=0)
        places = np.fromiter(lengths, np.int64, len(self.lines) + 1)[:-1]
        found: list[int] = (np.searchsorted(self.texts, places, "right") - 1).tolist()
        return found


class WordNumbers:
    """Numbers words in the order in which they are added; not thread-safe.

    Args:
        most: How many words may be added.
    """

    def __init__(self, most: int) -> None:
        self._count = 0
        self.table = WordTable(
            slots=np.full(1 << (2 * most).bit_length(), -1, dtype=np.int32),
            hashes=np.empty(most, dtype=np.uint64),
            bounds=np.zeros(most + 1, dtype=np.int64),
            pool=np.empty(_ROOM * most, dtype=np.uint32),
        )

    def __len__(self) -> int:
        return self._count

    @property
    def letters(self) -> int:
        """The number of code points of all words together."""
        return int(self.table.bounds[self._count])

    def of(self, words: PlacedWords) -> tuple[Ints, int]:
        """Return each word's number, -1 for none, and how many have none."""
        numbers = np.empty(len(words), dtype=np.int32)
        unknown = number_words(
            words.codes, words.leads, words.ends, self.table, numbers
        )
        return numbers, unknown

    def add(self, codes: Codes, begins: Ints, ends: Ints, numbers: Ints) -> None:
        """Number the words whose number is -1; equal ones get the same number.

        Args:
            codes: Of the texts.
            begins: Where each word begins.
            ends: Where each word ends.
            numbers: Written, shape ``[words]``.
        """
        new = numbers < 0
        needed = self.letters + int((ends - begins)[new].sum())
        if needed > len(self.table.pool):
            pool = np.resize(self.table.pool, 2 * needed)
            self.table = self.table._replace(pool=pool)
        self._count = add_words(codes, begins, ends, self.table, numbers, self._count)

    def since(self, first: int) -> tuple[Codes, Longs, Longs]:
        """Return the words from a number on: code points, begins and ends."""
        bounds = self.table.bounds[first : self._count + 1]
        places = bounds - bounds[0]
        return self.table.pool[bounds[0] : bounds[-1]], places[:-1], places[1:]


def code_points(text: str) -> Codes:
    """Return the code points of a text, read-only."""
    # A lone surrogate is a character like any other here.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _kinds(codes: Codes) -> NDArray[np.uint8]:
    """Return what each code point is to a word."""
    kinds = _KINDS.take(codes, mode="clip")
    for at in np.flatnonzero(kinds == _UNKNOWN).tolist():
        kinds[at] = _kind(chr(codes[at]))
    return kinds


def _kind(character: str) -> int:
    if character == NEWLINE:
        return LINE_END
    if character.isspace() or character < " ":
        return NO_WORD
    if character.isdecimal():
        return DIGIT
    if character in UPPER_LETTERS:
        return UPPER
    return LOWER if character.isalnum() else MARK


def _follows_blank(codes: Codes, begins: Ints) -> NDArray[np.bool_]:
    """Return which words follow a blank, as `pieces` has it."""
    before = codes[np.maximum(begins, 1) - 1]
    found: NDArray[np.bool_] = (begins > 0) & _IS_BLANK.take(before, mode="clip")
    return found


# By code point; the last entry is for all beyond it.
_KINDS = np.array([*(_kind(chr(code)) for code in range(_BEYOND)), _UNKNOWN], np.uint8)
# Beyond the last entry there is no blank.
_IS_BLANK = np.array(
    [chr(code).isspace() and chr(code) != NEWLINE for code in range(_BEYOND + 2)]
)
