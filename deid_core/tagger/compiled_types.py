"""What each word gives to itself and its neighbours, in a bounded cache."""

from __future__ import annotations

import re
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .compiled_columns import numberings
from .encoding import REACH
from .features import PAD, WORD_COLUMNS, column_value
from .model import Model
from .word_offsets import PlacedWords, WordNumbers

_WIDTH = 2 * REACH + 1
_LONGEST, _END = 128, 64
_MOST_LETTERS = 1 << 22
"""More of them are not kept either: words of ordinary notes have six each."""
_PROPERTY = re.compile(r"(\w+)\[(-?\d)\]=(.*)", re.DOTALL)

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


class TypeTables:
    """Numbers words, and keeps each one's table of scores.  Thread-safe.

    Args:
        model: Whose properties these are.
        weights: Its weights, shape ``[features, labels]``.
        most: How many words are kept; then all are forgotten.
    """

    def __init__(self, model: Model, weights: Floats, most: int) -> None:
        self._features, self._lists = model.features, model.lists
        self._labels, self._most = weights.shape[1], most
        self._block_of, self._blocks = _blocks(model, weights)
        self._numberings = numberings(model)
        self._lock = Lock()
        self._forget()

    def look_up(self, words: PlacedWords) -> tuple[Ints, Floats, Ints]:
        """Return each word's number, and by number the tables and columns.

        Returns:
            Numbers, shape ``[words]``; tables, ``[numbers, 7, labels]``; the numbers
            of `WORD_COLUMNS`, ``[numbers, columns]``, -1 for none.
        """
        with self._lock:
            numbers, unknown = self._numbers.of(words)
            if unknown:
                numbers = self._with_learned(words, numbers)
            return numbers, self._tables, self._columns

    def _with_learned(self, words: PlacedWords, numbers: Ints) -> Ints:
        """Return the words' numbers, after learning those that have none."""
        new = words.distinct(np.flatnonzero(numbers < 0))
        is_full = len(self._numbers) + len(new) > len(self._tables)
        if is_full or self._numbers.letters > _MOST_LETTERS:
            new = words.distinct(np.arange(len(words)))
            self._forget(len(new))
        for word in new:
            self._learn(word)
        return self._numbers.of(words)[0]

    def _forget(self, needed: int = 0) -> None:
        # New arrays: another thread may still read the old ones.
        most = max(self._most, needed) + 1
        self._numbers = WordNumbers(most)
        self._tables = np.empty((most, _WIDTH, self._labels), dtype=np.float32)
        self._columns = np.empty((most, len(WORD_COLUMNS)), dtype=np.int32)
        self._learn(PAD)

    def _learn(self, word: str) -> None:
        number = self._numbers.add(word)
        if len(word) > _LONGEST:
            # No model learned such a word: its ends say all that can be known of it.
            word = word[:_END] + word[-_END:]
        blocks = map(self._block_of.get, self._features.values(word, self._lists))
        found = [block for block in blocks if block is not None]
        self._blocks[found].sum(axis=0, out=self._tables[number])
        for at, name in enumerate(WORD_COLUMNS):
            numbering = self._numberings[name]
            self._columns[number, at] = (
                numbering.get(column_value(name, word, self._lists), -1)
                if word != PAD
                else -1
            )


def _blocks(model: Model, weights: Floats) -> tuple[dict[tuple[str, str], int], Floats]:
    """Return, for each value of a property, what it gives at each offset."""
    block_of: dict[tuple[str, str], int] = {}
    places: list[tuple[int, int, int]] = []
    for row, name in enumerate(model.weights.names):
        found = _PROPERTY.fullmatch(name)
        if found is not None:
            value = (found[1], found[3])
            block = block_of.setdefault(value, len(block_of))
            places.append((block, int(found[2]) + REACH, row))
    blocks = np.zeros((len(block_of), _WIDTH, weights.shape[1]), dtype=np.float32)
    if places:
        block, slot, row = np.array(places).T
        blocks[block, slot] = weights[row]
    return block_of, blocks
