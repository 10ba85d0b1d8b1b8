"""Words as rows of a sparse binary matrix: which features each word has."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.errors import ConfigError
from deid_core.research.packages import needed

Floats = NDArray[np.float32]
Matrix = Any
"""A sparse matrix of scipy, which has no types."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The features of words, in compressed rows.

    Args:
        columns: The features of all words, one word after the other; sorted and
            distinct in each word.
        pointers: Where each word starts in `columns`, shape ``[words + 1]``.
        starts: The first word of each sentence, and the number of words.
        width: Number of features.
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
        """Return the rows of the words of sentences; unknown features are left out."""
        # A list would take 8 bytes a number, in all some gigabytes for a large corpus.
        found = array("i")
        pointers, starts = [0], [0]
        for sentence in sentences:
            for names in sentence:
                found.extend(sorted({columns[n] for n in names if n in columns}))
                pointers.append(len(found))
            starts.append(len(pointers) - 1)
        return cls(
            np.array(found, np.int32),
            np.array(pointers, np.int64),
            np.array(starts, np.int64),
            len(columns),
        )

    def of_word(self, at: int) -> NDArray[np.int32]:
        """Return the features of one word."""
        return self.columns[self.pointers[at] : self.pointers[at + 1]]

    def sums(self, weights: Floats) -> Floats:
        """Return the sum of each word's weights.

        Args:
            weights: Of each feature, shape ``[features, classes]``.
        """
        sums = np.zeros((len(self), weights.shape[1]), dtype=np.float32)
        # reduceat cannot sum an empty row.
        filled = np.flatnonzero(np.diff(self.pointers))
        if len(filled):
            sums[filled] = np.add.reduceat(
                weights[self.columns], self.pointers[filled], axis=0
            )
        return sums

    def dense(self) -> NDArray[np.bool_]:
        """Return the rows as a dense matrix, shape ``[words, features]``."""
        dense = np.zeros((len(self), self.width), dtype=np.bool_)
        dense[np.repeat(np.arange(len(self)), np.diff(self.pointers)), self.columns] = 1
        return dense

    def take(self, chosen: Sequence[int]) -> Rows:
        """Return some of the words, as one sentence."""
        parts = [self.of_word(at) for at in chosen]
        pointers = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        columns = np.concatenate(parts) if parts else self.columns[:0]
        starts = np.array([0, len(parts)], np.int64)
        return Rows(columns, pointers, starts, self.width)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingWords:
    """Words with their labels.

    Args:
        rows: Their features.
        labels: Shape ``[words]``.
        classes: Number of labels, whether a word has them or not.
    """

    rows: Rows
    labels: NDArray[np.int8]
    classes: int

    def matrix(self) -> Matrix:
        """Return the rows as a sparse matrix of scipy."""
        sparse = needed("scipy.sparse", "scipy", "this learner")
        rows = self.rows
        ones = np.ones(len(rows.columns), dtype=np.float64)
        matrix: Matrix = sparse.csr_matrix(
            (ones, rows.columns, rows.pointers.astype(np.int32)),
            shape=(len(rows), rows.width),
        )
        return matrix

    def distinct(self) -> tuple[TrainingWords, NDArray[np.float64]]:
        """Return each combination of features and label once, and its frequency.

        A support vector machine with the frequencies as weights equals that of all
        words: equal rows share one multiplier, bounded by the sum of their bounds.
        """
        first: dict[tuple[bytes, int], int] = {}
        chosen: list[int] = []
        counts: list[float] = []
        for at, label in enumerate(self.labels.tolist()):
            key = (self.rows.of_word(at).tobytes(), label)
            number = first.setdefault(key, len(chosen))
            if number == len(chosen):
                chosen.append(at)
                counts.append(0.0)
            counts[number] += 1.0
        words = TrainingWords(self.rows.take(chosen), self.labels[chosen], self.classes)
        return words, np.array(counts)

    def present(self) -> list[int]:
        """Return the labels that some word has.

        Raises:
            ConfigError: There are fewer than two.
        """
        found: list[int] = np.unique(self.labels).tolist()
        if len(found) < 2:
            raise ConfigError(
                "training text holds one class of words alone; check the corpus's tags"
            )
        return found
