"""Words as rows of numbers: which features each has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The features of words, each there or not.

    Args:
        columns: Of all words, one after the other; sorted and distinct in each.
        pointers: Where each word's start, and past the last, shape ``[words + 1]``.
        starts: The first word of each sentence, and past the last.
        width: How many features there are.
    """

    columns: NDArray[np.int32]
    pointers: NDArray[np.int64]
    starts: NDArray[np.int64]
    width: int

    def __len__(self) -> int:
        return len(self.pointers) - 1

    @classmethod
    def of(
        cls, sentences: Iterable[Sequence[Sequence[str]]], columns: Mapping[str, int]
    ) -> Rows:
        """Return the rows of words of sentences; unknown features are left out."""
        found: list[int] = []
        pointers, starts = [0], [0]
        for sentence in sentences:
            for names in sentence:
                found += sorted({columns[n] for n in names if n in columns})
                pointers.append(len(found))
            starts.append(len(pointers) - 1)
        return cls(
            np.array(found, np.int32),
            np.array(pointers, np.int64),
            np.array(starts, np.int64),
            len(columns),
        )

    def sums(self, weights: Floats) -> Floats:
        """Return the sum of each word's weights.

        Args:
            weights: Of each feature, shape ``[features, classes]``.
        """
        sums = np.zeros((len(self), weights.shape[1]), dtype=np.float32)
        filled = np.flatnonzero(np.diff(self.pointers))
        if len(filled):
            # An empty row has no start of its own to add from.
            sums[filled] = np.add.reduceat(
                weights[self.columns], self.pointers[filled], axis=0
            )
        return sums

    def dense(self) -> NDArray[np.bool_]:
        """Return which word has which feature, shape ``[words, features]``."""
        dense = np.zeros((len(self), self.width), dtype=np.bool_)
        dense[np.repeat(np.arange(len(self)), np.diff(self.pointers)), self.columns] = 1
        return dense

    def take(self, chosen: Sequence[int]) -> Rows:
        """Return some of the words, as one sentence."""
        parts = [
            self.columns[self.pointers[at] : self.pointers[at + 1]] for at in chosen
        ]
        pointers = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        columns = np.concatenate(parts) if parts else self.columns[:0]
        starts = np.array([0, len(parts)], np.int64)
        return Rows(columns, pointers, starts, self.width)
