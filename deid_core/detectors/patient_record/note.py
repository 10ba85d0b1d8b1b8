"""A note as the detector reads it: its words, and the gaps between them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from deid_core.language.lexicons import is_vocabulary, normal

from .hashed_words import KINDS, Forms, Ints, cut, digested, stand_ins

T = TypeVar("T")

_CLAUSE_END = re.compile(r"[.;!?](?:\s|\Z)|\n")
# What no name ends with, before a capital.
_PREFIXES = frozenset(("Mc", "Mac", "Fitz"))
# "DeLaCruz" has three.
_MOST_PIECES = 4
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
        text: As it is written.
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
        plain: Words that can't be a fuzzy match: fewer than four letters (no edit keeps
            the ratio under 0.33), numbers, vocabulary in one case.
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

    def candidates(self, texts: Mapping[str, T]) -> dict[str, T]:
        """Return, by compared form, the values of what may be a fuzzy match."""
        rest = texts.keys() - self.plain
        # Each verdict is used as it is made: a full cache may forget it at once.
        return {
            self[text]: texts[text]
            for text in rest
            if text in self.unclear or self._is_unclear(text)
        }

    def _is_unclear(self, text: str) -> bool:
        is_unclear = _may_be_fuzzy_match(text)
        kept = self.unclear if is_unclear else self.plain
        if len(kept) >= _CACHE_SIZE:
            kept.clear()
        kept.add(text)
        return is_unclear

    def __repr__(self) -> str:
        return f"FormCache({len(self)} words)"


def _may_be_fuzzy_match(word: str) -> bool:
    if not 4 <= len(word) <= _LONGEST_FUZZY or word[0].isdigit():
        return False
    return not (word.islower() and is_vocabulary(normal(word)))


def edges_of(word: str) -> list[int]:
    """Return where a word begins, ends, and changes its letter case."""
    return [0, *filter(partial(_is_edge, word), range(1, len(word))), len(word)]


def _is_edge(word: str, at: int) -> bool:
    """Return whether the letter case changes there: "aA", "A|Aa", "AA|a"."""
    before, after = word[at - 1], word[at]
    if after.isupper():
        return before.islower() or (
            before.isupper() and word[at + 1 : at + 2].islower()
        )
    return after.islower() and at > 1 and word[at - 2 : at].isupper()


def _ends_clause(gap: str) -> bool:
    # Most gaps are one blank.
    return gap != " " and _CLAUSE_END.search(gap) is not None


class Note:
    """One text, its words, and the gaps between them.

    A word becomes a string only when it is read: most words never are.

    Args:
        text: The note.
        cache: Shared by the notes of a detector.

    Attributes:
        forms_as_numbers: The words' compared forms.
    """

    __slots__ = (
        "_cache",
        "_capitals",
        "_count",
        "_ends",
        "_glued",
        "_is_caseless",
        "_starts",
        "forms_as_numbers",
        "text",
    )

    def __init__(self, text: str, cache: FormCache) -> None:
        self.text = text
        self._cache = cache
        codes = stand_ins(text)
        starts, ends = np.empty((2, len(codes) + 1), dtype=np.int32)
        hashes, letters = np.empty((2, len(codes)), dtype=np.uint64)
        lengths, odd, capitals, glued = np.empty((4, len(codes)), dtype=np.int32)
        count, odds, initials, several = cut(
            codes, KINDS, starts, ends, hashes, letters, lengths, odd, capitals, glued
        )
        self._count: int = count
        # Their items are Python's own numbers.
        self._starts: memoryview[int] = starts[: count + 1].data
        self._ends: memoryview[int] = ends[: count + 1].data
        self._capitals = capitals[:initials]
        self._glued = glued[:several]
        self.forms_as_numbers = Forms(hashes[:count], letters[:count], lengths[:count])
        if odds:
            self._digest_odd(odd[:odds])
        self._is_caseless: bool | None = None

    def _digest_odd(self, odd: Ints) -> None:
        """Write the numbers of the forms of words that are not of ASCII."""
        own = self.forms_as_numbers
        forms = digested([self.form(at) for at in odd.tolist()])
        own.hashes[odd], own.letters[odd] = forms.hashes, forms.letters
        own.lengths[odd] = forms.lengths

    def __len__(self) -> int:
        return self._count

    def surface(self, at: int) -> str:
        """Return a word or number as it is written."""
        return self.text[self._starts[at] : self._ends[at + 1]]

    def _surfaces(self, places: Iterable[int]) -> list[str]:
        text, starts, ends = self.text, self._starts, self._ends
        return [text[starts[at] : ends[at + 1]] for at in places]

    def form(self, at: int) -> str:
        """Return the compared form of a word."""
        return self._cache[self.surface(at)]

    def forms(self, first: int, past: int) -> list[str]:
        """Return the compared forms of some words in a row; beyond the note is none."""
        return [self.form(at) for at in range(max(0, first), min(past, self._count))]

    def gap(self, at: int) -> str:
        """Return the gap before a word, or, past the last, at the note's end."""
        return self.text[self._ends[at] : self._starts[at]]

    @property
    def is_caseless(self) -> bool:
        """True if the note is written all small or all in capitals.

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

    def initials(self) -> set[str]:
        """Return the different words that may be initials: short, and capital."""
        return {*self._surfaces(self._capitals.tolist())}

    def candidates(self, places: Sequence[int]) -> dict[str, int]:
        """Return those compared forms of some words that may be a fuzzy match.

        Each with which of the words it is of.
        """
        surfaces = self._surfaces(places)
        return self._cache.candidates({text: n for n, text in enumerate(surfaces)})

    def words(self, places: Iterable[int]) -> list[Word]:
        """Return the words at some places."""
        return [self.word(at) for at in places]

    def word(self, at: int) -> Word:
        """Return one word."""
        start, end = self._starts[at], self._ends[at + 1]
        text = self.text[start:end]
        return Word(at, start, end, text, self._cache[text])

    def glued(self, names: Container[str]) -> Iterator[list[Word]]:
        """Yield the parts of each word in which a name is glued to something else.

        A name begins and ends where the letter case changes: "QuellwrightMarsh",
        "SMITHJones", "seenMcDonald", but no Donald in McDonald.

        Args:
            names: Compared forms.
        """
        for at in self._glued.tolist():
            text = self.surface(at)
            # Most words that are not of ASCII have one capital or none.
            if text.islower() or text.istitle() or self._cache[text] in names:
                continue
            parts, past = [], 0
            for first, last in self._names_in(text, names):
                parts += [self._part(at, past, first)] if past < first else []
                parts.append(self._part(at, first, last))
                past = last
            if past:
                parts += [self._part(at, past, len(text))] if past < len(text) else []
                yield parts

    def _part(self, at: int, first: int, last: int) -> Word:
        start = self._starts[at]
        text = self.text[start + first : start + last]
        return Word(at, start + first, start + last, text, self._cache[text])

    def _names_in(self, text: str, names: Container[str]) -> Iterator[tuple[int, int]]:
        """Yield where names begin and end in a word, the longest at each place."""
        edges = edges_of(text)
        past = 0
        for n, first in enumerate(edges[:-1]):
            if first < past or (n and text[edges[n - 1] : first] in _PREFIXES):
                continue
            for last in edges[n + _MOST_PIECES : n : -1]:
                if self._cache[text[first:last]] in names:
                    yield first, last
                    past = last
                    break

    def at(self, place: int) -> int:
        """Return which word of the note begins at a code point."""
        return bisect_right(self._starts, place) - 1

    def clause(self, at: int, reach: int) -> range:
        """Return the places around a word, so many each way, that a clause holds."""
        first = last = at
        while first > max(0, at - reach) and not _ends_clause(self.gap(first)):
            first -= 1
        final = min(len(self) - 1, at + reach)
        while last < final and not _ends_clause(self.gap(last + 1)):
            last += 1
        return range(first, last + 1)

    def after(self, at: int) -> tuple[str, Word | None]:
        """Return what separates a word from the next, and that word.

        None is for the end of the text and for a word more than eight
        characters away.
        """
        gap = self.gap(at + 1)
        if at + 1 >= len(self) or len(gap) > _LONGEST_GAP:
            return gap[:_LONGEST_GAP], None
        return gap, self.word(at + 1)

    def before(self, at: int) -> tuple[str, Word | None]:
        """Return what separates a word from the previous, and that word."""
        gap = self.gap(at)
        if not at or len(gap) > _LONGEST_GAP:
            return gap[-_LONGEST_GAP:], None
        return gap, self.word(at - 1)
