"""What learners of words are given, and what they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.errors import ConfigError
from deid_core.research.packages import needed

from ..rows import Rows

Matrix = Any
"""A sparse matrix of scipy, which has no types."""


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Words to learn from.

    Args:
        rows: Their features.
        labels: What they are, shape ``[words]``.
        classes: How many labels there are, seen here or not.
        names: Of the features.
    """

    rows: Rows
    labels: NDArray[np.int8]
    classes: int
    names: tuple[str, ...] = field(repr=False)

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

    def distinct(self) -> tuple[Marked, NDArray[np.float64]]:
        """Return each word with other features or another label once, and how often.

        A support vector machine with these weights is the one of all words: equal rows
        share one multiplier, bounded by the sum of their bounds.
        """
        first: dict[tuple[bytes, int], int] = {}
        chosen: list[int] = []
        counts: list[float] = []
        for at, label in enumerate(self.labels.tolist()):
            row = self.rows.columns[self.rows.pointers[at] : self.rows.pointers[at + 1]]
            number = first.setdefault((row.tobytes(), label), len(chosen))
            if number == len(chosen):
                chosen.append(at)
                counts.append(0.0)
            counts[number] += 1.0
        marked = Marked(
            self.rows.take(chosen), self.labels[chosen], self.classes, self.names
        )
        return marked, np.array(counts)

    def present(self) -> list[int]:
        """Return the labels that some word has.

        Raises:
            ConfigError: There is but one.
        """
        found: list[int] = np.unique(self.labels).tolist()
        if len(found) < 2:
            raise ConfigError(
                "training text holds one class of words alone; check the corpus's tags"
            )
        return found
