"""What conjunctions of columns give each word, by lookup in tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .compiled_columns import numberings
from .encoding import PART_BITS
from .features import PAD_VALUE, SEPARATOR, WORD_COLUMNS, Conjunction, header
from .kernels.cues import cue_columns, without_distance
from .kernels.tables import add_conjunctions, fill_table
from .model import Model
from .word_offsets import PlacedWords

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
_LOAD = 2


class Conjunctions:
    """Adds what a model's conjunctions give.  Thread-safe.

    Args:
        model: Whose they are.
        weights: Its weights, shape ``[features, labels]``.
    """

    def __init__(self, model: Model, weights: Floats) -> None:
        self._columns = model.features.columns
        self._numberings = numberings(model)
        self._pads = np.array(
            [self._numberings[each].get(PAD_VALUE, -1) for each in self._columns],
            dtype=np.int32,
        )
        conjunctions = model.features.conjunctions
        self._parts = np.full((len(conjunctions), 3, 2), -1, dtype=np.int64)
        for at, each in enumerate(conjunctions):
            for part, (column, offset) in enumerate(each.parts):
                self._parts[at, part] = self._columns.index(column), offset
        self._fill(model, weights)

    def add(
        self,
        types: Ints,
        type_columns: Ints,
        words: PlacedWords,
        scores: Floats,
    ) -> None:
        """Add to the scores of a batch of lines.

        Args:
            types: Of each word, shape ``[words]``.
            type_columns: The numbers of `WORD_COLUMNS`, ``[types, columns]``.
            words: Of all lines.
            scores: Added to, shape ``[words, labels]``.
        """
        if not len(self._parts):
            return
        add_conjunctions(
            self._column_matrix(types, type_columns, words),
            words.starts,
            self._pads,
            self._parts,
            self._places,
            self._keys,
            self._rows,
            self._weights,
            scores,
        )

    def _column_matrix(
        self, types: Ints, type_columns: Ints, words: PlacedWords
    ) -> Ints:
        """Return the number of each column and word, shape ``[columns, words]``."""
        of_words = dict(zip(WORD_COLUMNS, type_columns.T, strict=True))
        found = {}
        if any(each.startswith(("left", "right")) for each in self._columns):
            left, right = cue_columns(of_words["cue"][types], words.starts)
            found = {"left": left, "right": right}
            found["left_cue"] = without_distance(left)
            found["right_cue"] = without_distance(right)
        matrix = np.empty((len(self._columns), len(types)), dtype=np.int32)
        for at, column in enumerate(self._columns):
            if column in of_words:
                np.take(of_words[column], types, out=matrix[at])
            elif column == "header":
                known = self._numberings["header"]
                headers = map(header, words.lines)
                numbers = [known.get(each, -1) for each in headers]
                matrix[at] = np.repeat(numbers, np.diff(words.starts))
            else:
                matrix[at] = found[column]
        return matrix

    def _fill(self, model: Model, weights: Floats) -> None:
        """Build one table of keys for each conjunction, one after the other."""
        rows_of: dict[str, list[tuple[int, int]]] = {
            each.name: [] for each in model.features.conjunctions
        }
        by_name = {each.name: each for each in model.features.conjunctions}
        for row, name in enumerate(model.weights.names):
            group, _, values = name.partition("=")
            if group in by_name:
                key = self._key(by_name[group], values.split(SEPARATOR))
                rows_of[group].append((key, row))
        sizes = [_size(len(each)) for each in rows_of.values()]
        self._places = np.cumsum([0, *sizes])
        self._keys = np.full(sum(sizes), -1, dtype=np.int64)
        self._rows = np.zeros(sum(sizes), dtype=np.int32)
        taken: list[int] = []
        for at, pairs in enumerate(rows_of.values()):
            place = slice(self._places[at], self._places[at + 1])
            numbers = np.arange(len(taken), len(taken) + len(pairs), dtype=np.int32)
            keys = np.array([key for key, _ in pairs], dtype=np.int64)
            fill_table(keys, numbers, self._keys[place], self._rows[place])
            taken += [row for _, row in pairs]
        self._weights = weights[np.array(taken, dtype=np.int64)]

    def _key(self, conjunction: Conjunction, values: Sequence[str]) -> int:
        key = 0
        for (column, _), value in zip(conjunction.parts, values, strict=True):
            key = (key << PART_BITS) | self._numberings[column][value]
        return key


def _size(count: int) -> int:
    """Return a power of two at least twice the count."""
    return 1 << max(1, (_LOAD * count).bit_length())
