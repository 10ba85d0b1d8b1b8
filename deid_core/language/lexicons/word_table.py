"""A table of what the public lists say of each word, shared by processes.

English text holds 320,000 words, and the census and the lists of towns another 100,000
names.  As Python's dictionaries they take a second and 150 MB, in each process; here
they are a succinct trie (`marisa_trie`) that numbers them, and columns by number.
build.py makes them from the packages that hold the words.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from deid_core.runtime.prepared import Arrays, prepared

_COLUMNS = ("zipf", "scores", "shares", "given", "family")


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


class Column:
    """A number by row, of a few that occur: the file and its pages hold their indices.

    Args:
        indices: By row.
        values: The numbers that occur.
    """

    __slots__ = ("_indices", "_values")

    def __init__(self, indices: NDArray[Any], values: NDArray[Any]) -> None:
        # Of a memoryview Python reads a number in half the time that an array takes.
        self._indices, self._values = indices.data, values.data

    def __getitem__(self, row: int) -> float:
        value: float = self._values[self._indices[row]]
        return value


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

    __slots__ = ("_none", "_row", "lists", "words", *_COLUMNS)

    words: marisa_trie.Trie

    zipf: Column
    scores: Column
    shares: Column
    given: Column
    family: Column
    lists: Sequence[int]

    def __init__(self, arrays: Arrays) -> None:
        self.words = words = marisa_trie.Trie().frombytes(arrays["words"].tobytes())
        self._row, self._none = words.get, len(words)
        self.lists = cast(Sequence[int], arrays["lists"].data)
        for name in _COLUMNS:
            setattr(self, name, Column(arrays[name], arrays[f"{name}_values"]))

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
    """Return the table; each machine unpacks it once."""
    return WordTable(prebuilt_arrays("words"))


def words_in(lists: int) -> frozenset[str]:
    """Return the words that lists hold.

    Args:
        lists: Bits of `Listed`; a word of any of them is returned.
    """
    table = word_table()
    rows = table.words.items()
    return frozenset(word for word, row in rows if table.lists[row] & lists)


def prebuilt_arrays(name: str) -> Arrays:
    """Return the arrays of ``<name>.npz``, which build.py wrote."""
    content = (files(__package__) / f"{name}.npz").read_bytes()
    digest = hashlib.sha256(content + Path(__file__).read_bytes()).hexdigest()[:32]
    return prepared(name, digest, lambda: dict(np.load(io.BytesIO(content))))
