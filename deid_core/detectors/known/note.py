"""A note as the detector reads it: its distinct words first, places only on demand.

Most words of a note are of no interest.  What a whitespace-separated chunk holds is
looked up in a cache (a few thousand chunks make up most clinical text), and only the
words that something known resembles are then sought in the text.
"""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import chain, compress
from operator import itemgetter, not_
from typing import NamedTuple

from ...lexicons import is_vocabulary, normal, words_of
from ...lexicons.normal import WORD

_ASCII_NEXT = re.compile(r"([^A-Za-z0-9]{0,8})([A-Za-z]+|[0-9]+)?")
_NEXT = re.compile(rf"((?:[\W_](?<![\u0300-\u036f])){{0,8}})({WORD})?")
_ASCII_WORDS = re.compile(r"[A-Za-z]+|[0-9]+")
_WORDS = re.compile(WORD)

# Beyond this many different words, one pass over the text costs less than one each.
_FEW = 48
_LONGEST_FUZZY = 40
_LONGEST_CACHED = 32
_CACHE_SIZE = 100_000


class Word(NamedTuple):
    """A word or a number at its place; ``normal`` is its compared form."""

    start: int
    end: int
    text: str
    normal: str

    def __repr__(self) -> str:
        return f"Word([{self.start}, {self.end}))"


class Chunk(NamedTuple):
    """What one whitespace-separated piece of text holds, in compared form.

    Args:
        normals: All words and numbers.
        candidates: The words that may be a misspelt name: four letters or more (below,
            no edit keeps the ratio under 0.33), no vocabulary in lower case.
    """

    normals: tuple[str, ...]
    candidates: tuple[str, ...]

    def __repr__(self) -> str:
        return "Chunk()"


_NORMALS = itemgetter(0)
_CANDIDATES = itemgetter(1)


class ChunkCache(dict[str, Chunk]):
    """Chunks seen before; bounded, so that a long stream cannot fill the memory."""

    def __missing__(self, text: str) -> Chunk:
        words = words_of(text)
        candidates = map(normal, filter(_may_be_misspelt_name, words))
        chunk = Chunk(tuple(map(normal, words)), tuple(candidates))
        if len(text) <= _LONGEST_CACHED:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[text] = chunk
        return chunk


def _may_be_misspelt_name(word: str) -> bool:
    if not 4 <= len(word) <= _LONGEST_FUZZY or word[0].isdigit():
        return False
    return not (word[0].islower() and is_vocabulary(normal(word)))


class Note:
    """One text, and the neighbours of any place in it.

    Args:
        text: The note.
        cache: Shared by the notes of a detector.

    Attributes:
        candidates: The compared forms of the words that may be a misspelt name.
    """

    __slots__ = (
        "_ascii",
        "_chunks",
        "_reversed",
        "_texts",
        "candidates",
        "text",
    )

    def __init__(self, text: str, cache: ChunkCache) -> None:
        self.text = text
        self._ascii = text.isascii()
        self._reversed = ""
        self._texts = list(set(text.split()))
        self._chunks = list(map(cache.__getitem__, self._texts))
        self.candidates = set(chain.from_iterable(map(_CANDIDATES, self._chunks)))

    def find(self, wanted: Set[str]) -> list[Word]:
        """Return every occurrence of the wanted compared forms, in order."""
        is_free_of = wanted.isdisjoint
        # No Python code for each chunk: this is run for every word of every note.
        holds_one = map(not_, map(is_free_of, map(_NORMALS, self._chunks)))
        texts = compress(self._texts, holds_one)
        surfaces = {
            surface: form
            for text in texts
            for surface in words_of(text)
            if (form := normal(surface)) in wanted
        }
        if len(surfaces) > _FEW:
            return self._find_in_one_pass(surfaces)
        words: list[Word] = []
        for surface, form in surfaces.items():
            self._add_occurrences(surface, form, words)
        words.sort()
        return words

    def after(self, end: int) -> tuple[str, Word | None]:
        """Return what separates ``end`` from the next word, and that word.

        None stands for the end of the text and for a word more than eight
        characters away.
        """
        gap, text = self._step(self.text, end)
        if text is None:
            return gap, None
        start = end + len(gap)
        return gap, Word(start, start + len(text), text, normal(text))

    def before(self, start: int) -> tuple[str, Word | None]:
        """Return what separates ``start`` from the previous word, and that word."""
        if not self._reversed:
            self._reversed = self.text[::-1]
        gap, text = self._step(self._reversed, len(self.text) - start)
        if text is None:
            return gap[::-1], None
        end, text = start - len(gap), text[::-1]
        return gap[::-1], Word(end - len(text), end, text, normal(text))

    def _step(self, text: str, start: int) -> tuple[str, str | None]:
        following = (_ASCII_NEXT if self._ascii else _NEXT).match(text, start)
        # Both parts are optional, so there is always a match.
        return (following[1], following[2]) if following else ("", None)

    def _find_in_one_pass(self, surfaces: dict[str, str]) -> list[Word]:
        pattern = _ASCII_WORDS if self._ascii else _WORDS
        return [
            Word(each.start(), each.end(), each[0], surfaces[each[0]])
            for each in pattern.finditer(self.text)
            if each[0] in surfaces
        ]

    def _add_occurrences(self, surface: str, form: str, words: list[Word]) -> None:
        text, length = self.text, len(surface)
        is_kind = str.isdecimal if surface[0].isdecimal() else _is_letter
        start = text.find(surface)
        while start >= 0:
            end = start + length
            goes_on = (start and is_kind(text[start - 1])) or is_kind(
                text[end : end + 1]
            )
            if not goes_on:
                words.append(Word(start, end, surface, form))
            start = text.find(surface, end)


def _is_letter(character: str) -> bool:
    if character.isascii():
        return character.isalpha()
    # As the pattern of `words_of` sees it.
    return bool(_WORDS.match(character)) and not character.isdecimal()
