"""Figures that can be resampled by document.

Every figure keeps one number a document, so that it can be taken again for any choice
of documents: of the same ones drawn with replacement (a confidence interval), or of two
systems' outputs exchanged (a test of significance).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A share: ``scale * sum(part) / sum(whole)``, over documents.

    Args:
        name: What it is, as a table's column or row.
        part: Of each document and class, shape ``[documents, classes]``; the share is
            taken of each class, and the mean over the classes that there are.
        whole: Likewise.
        of: The label that it is of; empty for all together.
        scale: 100 for percent, 1,000 for a thousand words.
        by_document: The share is taken of each document instead, and the mean over the
            documents that have one.
    """

    name: str
    part: Counts
    whole: Counts
    of: str = ""
    scale: float = 1.0
    by_document: bool = False

    @property
    def value(self) -> float | None:
        """The figure over all documents; None when there is nothing to divide by."""
        [value] = self.values(np.ones((1, len(self.part))))
        return None if np.isnan(value) else float(value)

    def values(self, weights: Values) -> Values:
        """Return the figure for each weighting of the documents.

        Args:
            weights: How often each document counts, shape ``[choices, documents]``.

        Returns:
            Shape ``[choices]``; NaN where there is nothing to divide by.
        """
        if self.by_document:
            return self.scale * self._mean_over_documents(weights)
        shares = _shares(weights @ self.part, weights @ self.whole)
        there = ~np.isnan(shares)
        total: Values = np.where(there, shares, 0).sum(axis=1)
        return self.scale * _shares(total, there.sum(axis=1))

    def _mean_over_documents(self, weights: Values) -> Values:
        part, whole = self.part.sum(axis=1), self.whole.sum(axis=1)
        shares = part / np.maximum(whole, 1)
        return _shares(weights @ shares, weights @ (whole > 0))


def _shares(part: Values, whole: NDArray[Any]) -> Values:
    shares: Values = np.full(part.shape, np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def counts(numbers: Iterable[int]) -> Counts:
    """Return one number a document as an array of shape ``[documents, 1]``."""
    return np.fromiter(numbers, dtype=np.int64)[:, np.newaxis]
