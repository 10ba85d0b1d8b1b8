"""A note as the detector reads it: words, and what stands between them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Set
from itertools import accumulate, compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...lexicons import is_vocabulary, normal
from ...lexicons.normal import WORD

_ANY = re.compile(f"({WORD})")

_GAP, _LETTER, _DIGIT, _UNKNOWN = range(4)
_CUT = "\0"
_BEYOND = 0x3000

_CLAUSE_END = re.compile(r"[.;!?](?:\s|\Z)|\n").search
_LONGEST_GAP = 8
_LONGEST_FUZZY = 40
_LONGEST_CACHED = 32
_CACHE_SIZE = 200_000
_SMALL = b"abcdefghijklmnopqrstuvwxyz"
_NO_LETTERS = bytes({*range(128)}.difference(_SMALL, _SMALL.upper()))
# Of the letters: running text has 3% and more capitals.
_FEW = 0.005
_SOME = 0.2


class Word(NamedTuple):
    """A word or a number at its place.

    Args:
        at: Which word of the note it is.
        start: Its first code point.
        end: Behind its last.
        text: As it stands.
        normal: Its compared form.
    """

    at: int
    start: int
    end: int
    text: str
    normal: str

    def __repr__(self) -> str:
        return f"Word([{self.start}, {self.end}))"


class FormCache(dict[str, str]):
    """Compared forms of words seen before; bounded, as a stream has no end.

    Attributes:
        plain: Words that can't be a misspelt name: fewer than four letters (no edit
            keeps the ratio under 0.33), numbers, vocabulary in one case.
        unclear: All others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.plain: set[str] = set()
        self.unclear: set[str] = set()

    def __missing__(self, text: str) -> str:
        form = text.lower() if text.isascii() else normal(text)
        if len(text) <= _LONGEST_CACHED:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[text] = form
        return form

    def candidates(self, texts: Set[str]) -> set[str]:
        """Return the compared forms of the words that may be a misspelt name."""
        rest = texts - self.plain
        for text in rest - self.unclear:
            self._weigh(text)
        return {self[text] for text in rest if text in self.unclear}

    def _weigh(self, text: str) -> None:
        kind = self.unclear if _may_be_misspelt_name(text) else self.plain
        if len(kind) >= _CACHE_SIZE:
            kind.clear()
        kind.add(text)


def _may_be_misspelt_name(word: str) -> bool:
    if not 4 <= len(word) <= _LONGEST_FUZZY or word[0].isdigit():
        return False
    return not (word.islower() and is_vocabulary(normal(word)))


def _kind(character: str) -> int:
    if character == _CUT:
        return _UNKNOWN
    is_letter = _ANY.fullmatch(character) is not None
    return _DIGIT if character.isdecimal() else _LETTER if is_letter else _GAP


# By code point; the last entry stands for all that lie beyond it.
_KINDS: NDArray[np.uint8] = np.array(
    [*(_kind(chr(code)) for code in range(_BEYOND)), _UNKNOWN], dtype=np.uint8
)


def _pieces(text: str) -> tuple[list[str], list[int]]:
    """Return gaps and words in turns, from gap to gap, and where each ends.

    Words as `lexicons.words_of` has them, cut where gaps, letters and digits meet: a
    pattern takes twice as long.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = np.zeros(len(codes) + 2, dtype=np.uint8)
    _KINDS.take(codes, mode="clip", out=kinds[1:-1])
    if kinds.max() == _UNKNOWN:
        pieces: list[str] = _ANY.split(text)
        return pieces, list(accumulate(map(len, pieces)))
    before, behind = kinds[:-1], kinds[1:]
    places = np.flatnonzero(before != behind)
    # A gap of nothing stands between a letter and a digit.
    ends = places.repeat(1 + ((before[places] != _GAP) & (behind[places] != _GAP)))
    with_cuts = np.zeros(len(codes) + len(ends), dtype=np.uint32)
    is_kept = np.ones(len(with_cuts), dtype=np.bool_)
    is_kept[ends + np.arange(len(ends))] = False
    with_cuts[is_kept] = codes
    cut = with_cuts.tobytes().decode("utf-32-le", "surrogatepass")
    return cut.split(_CUT), [*ends.tolist(), len(text)]


class Note:
    """One text, its words, and what stands between them.

    Args:
        text: The note.
        cache: Shared by the notes of a detector.

    Attributes:
        surfaces: The words and numbers, in order.
        different: The same, each once.
        forms: Their compared forms.
        gaps: What stands before each, and behind the last.
    """

    __slots__ = (
        "_cache",
        "_ends",
        "_is_caseless",
        "different",
        "forms",
        "gaps",
        "surfaces",
        "text",
    )

    def __init__(self, text: str, cache: FormCache) -> None:
        self.text = text
        self._cache = cache
        pieces, self._ends = _pieces(text)
        self.gaps, self.surfaces = pieces[::2], pieces[1::2]
        self.different = set(self.surfaces)
        self.forms = list(map(cache.__getitem__, self.surfaces))
        self._is_caseless: bool | None = None

    def __len__(self) -> int:
        return len(self.surfaces)

    @property
    def is_caseless(self) -> bool:
        """Whether the note is written all small or all in capitals.

        Then a capital, or that there is none, says nothing about a word.
        """
        if self._is_caseless is None:
            letters = self.text.encode("ascii", "ignore").translate(None, _NO_LETTERS)
            large = len(letters.translate(None, _SMALL))
            small = len(letters) - large
            self._is_caseless = bool(letters) and (
                large <= _FEW * len(letters) or small <= _SOME * len(letters)
            )
        return self._is_caseless

    def candidates(self) -> set[str]:
        """Return the compared forms of the words that may be a misspelt name."""
        return self._cache.candidates(self.different)

    def find(self, wanted: frozenset[str]) -> list[Word]:
        """Return every occurrence of the wanted compared forms, in order."""
        are_wanted = map(wanted.__contains__, self.forms)
        return self.words(compress(range(len(self)), are_wanted))

    def words(self, places: Iterable[int]) -> list[Word]:
        """Return the words at some places."""
        return [self.word(at) for at in places]

    def word(self, at: int) -> Word:
        """Return one word."""
        ends = self._ends
        return Word(
            at, ends[2 * at], ends[2 * at + 1], self.surfaces[at], self.forms[at]
        )

    def at(self, place: int) -> int:
        """Return which word of the note begins at a code point."""
        return bisect_right(self._ends, place) // 2

    def clause(self, at: int, reach: int) -> range:
        """Return the places around a word, so many each way, that a clause holds."""
        first = last = at
        while first > max(0, at - reach) and not _CLAUSE_END(self.gaps[first]):
            first -= 1
        final = min(len(self) - 1, at + reach)
        while last < final and not _CLAUSE_END(self.gaps[last + 1]):
            last += 1
        return range(first, last + 1)

    def after(self, at: int) -> tuple[str, Word | None]:
        """Return what separates a word from the next, and that word.

        None stands for the end of the text and for a word more than eight
        characters away.
        """
        gap = self.gaps[at + 1]
        if at + 1 >= len(self.surfaces) or len(gap) > _LONGEST_GAP:
            return gap[:_LONGEST_GAP], None
        return gap, self.word(at + 1)

    def before(self, at: int) -> tuple[str, Word | None]:
        """Return what separates a word from the previous, and that word."""
        gap = self.gaps[at]
        if not at or len(gap) > _LONGEST_GAP:
            return gap[-_LONGEST_GAP:], None
        return gap, self.word(at - 1)
