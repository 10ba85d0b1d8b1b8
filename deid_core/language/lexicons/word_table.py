"""What the public lists say of each word, as one table that processes share.

English text holds 320,000 words, and the census and the lists of towns another 100,000
names.  As Python's dictionaries they take a second and 150 MB, in each process; here
they are a succinct trie (`marisa_trie`) that numbers them, and columns by number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib import metadata

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from deid_core.prepared import Arrays, fingerprint, prepared

from .lists import load_list

_PACKAGES = ("marisa-trie", "names", "numpy", "wordfreq")
_COLUMNS = ("zipf", "scores", "shares", "given", "family", "lists")


class Listed:
    """Lists that hold a word: bits of a number."""

    ENGLISH = 1
    """English text."""
    GIVEN = 2
    """Given names of the census."""
    FAMILY = 4
    """Surnames of the census."""
    GIVEN_OF_THE_WORLD = 8
    FAMILY_OF_THE_WORLD = 16
    TOWN = 32
    """Towns of one word."""
    CITY = 64
    """Those of 100,000 people and more."""


class WordTable:
    """The rows of the lists' words, and one more for words that no list holds.

    Args:
        words: The words, and the row of each.
        zipf: How often English text holds the word: log10 in a billion.
        scores: `vocabulary.name_score`.
        shares: How many bear a word of English text as a name, by the census.
        given: How many bear it as a given name, in percent.
        family: How many as a surname, in percent.
        lists: The lists that hold it, bits of `Listed`.
    """

    __slots__ = ("_none", "_row", "words", *_COLUMNS)

    words: marisa_trie.Trie

    zipf: Sequence[float]
    scores: Sequence[float]
    shares: Sequence[float]
    given: Sequence[float]
    family: Sequence[float]
    lists: Sequence[int]

    def __init__(self, arrays: Arrays) -> None:
        self.words = words = marisa_trie.Trie().frombytes(arrays["words"].tobytes())
        self._row, self._none = words.get, len(words)
        # Of a memoryview Python reads a number in half the time that an array takes.
        for column in _COLUMNS:
            setattr(self, column, arrays[column].data)

    def row(self, word: str) -> int:
        """Return the row of a word in compared form."""
        if "\0" in word:  # marisa_trie would look up what is before it
            return self._none
        try:
            found: int = self._row(word, self._none)
        except UnicodeEncodeError:  # half a surrogate pair, which no list holds
            return self._none
        return found


@cache
def word_table() -> WordTable:
    """Return the table; the first call on a machine makes it, which takes seconds."""
    return WordTable(prepared("words", digest(), made))


def made() -> Arrays:
    """Return the table's arrays, from the packages and lists."""
    from . import counts, people, places

    english, shares, scores = counts.english(), counts.shares(), counts.name_scores()
    given, family = people.given_shares(), people.family_shares()
    lists = {
        Listed.ENGLISH: english.keys(),
        Listed.GIVEN: given.keys(),
        Listed.FAMILY: family.keys(),
        Listed.GIVEN_OF_THE_WORLD: people.given_of_the_world(),
        Listed.FAMILY_OF_THE_WORLD: people.family_of_the_world(),
        Listed.TOWN: places.towns(),
        Listed.CITY: places.cities(),
    }
    # These have no bit, but a row: `word_classes` has their kinds.
    others = map(load_list, ("drugs", "eponyms", "institution_words", "word_names"))
    words = marisa_trie.Trie(set().union(*lists.values(), *others))
    ordered = in_rows(words)
    bits = np.zeros(len(words) + 1, np.uint8)
    for bit, members in lists.items():
        bits[[words[word] for word in members]] |= bit

    def column(values: dict[str, float], missing: float) -> NDArray[np.float64]:
        return np.array([*(values.get(word, missing) for word in ordered), missing])

    return {
        "words": np.frombuffer(words.tobytes(), np.uint8),
        "zipf": column({word: counts.zipf(each) for word, each in english.items()}, 0),
        "scores": column(scores, -math.inf),
        "shares": column(shares, 0.0),
        "given": column(given, 0.0),
        "family": column(family, 0.0),
        "lists": bits,
    }


def in_rows(words: marisa_trie.Trie) -> list[str]:
    """Return the words of a table, row by row; the last row has none."""
    by_row = {row: word for word, row in words.items()}
    return [by_row[row] for row in range(len(words))]


def digest() -> str:
    """Return a digest of this folder and of the versions of the packages."""
    versions = (f"{name} {metadata.version(name)}" for name in _PACKAGES)
    return fingerprint([__package__], *versions)
