"""Measures that can be resampled by document: intervals and tests of significance.

A measure keeps one number per document, so that it can be computed for any weighting of
the documents: drawn with replacement for a confidence interval (percentile bootstrap:
Efron and Tibshirani 1993, chapter 13), or with the outputs of two systems exchanged for
a test of significance (approximate randomisation: Noreen 1989, Chinchor 1992, as in
Deleger and others 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Values = NDArray[np.float64]
SHUFFLES = 10_000
DRAWS = 2_000
_CHUNK = 500
_COVER = 0.95
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A share over documents: ``scale * sum(part) / sum(whole)``.

    Args:
        name: Its name in tables.
        part: Shape ``[documents, classes]``; the value is the mean of the shares of the
            classes.
        whole: Shape ``[documents, classes]``.
        of: The label that is measured; empty for all.
        scale: 100 for percent, 1,000 for a thousand words.
        by_document: The value is the mean of the shares of the documents instead.
    """

    name: str
    part: Counts
    whole: Counts
    of: str = ""
    scale: float = 1.0
    by_document: bool = False

    @property
    def value(self) -> float | None:
        """The value over all documents; None where `whole` is 0."""
        [value] = self.values(np.ones((1, len(self.part))))
        return None if np.isnan(value) else float(value)

    def values(self, weights: Values) -> Values:
        """Return the value for each weighting of the documents.

        Args:
            weights: Shape ``[weightings, documents]``.

        Returns:
            Shape ``[weightings]``; NaN where it is undefined.
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
    """Return one number per document as an array of shape ``[documents, 1]``."""
    return np.fromiter(numbers, dtype=np.int64)[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The values of two systems on the same documents.

    Args:
        p: Two-sided: how often a difference as large arises when the outputs of the two
            systems are exchanged at random, document by document.
    """

    name: str
    of: str
    one: float
    other: float
    p: float


def intervals(
    measures: Sequence[Measure], *, seed: int, draws: int = DRAWS
) -> list[Interval | None]:
    """Return the bootstrap interval of each measure; None where it is undefined.

    Args:
        measures: All of the same documents.
        seed: Of the random draws.
        draws: Number of draws.
    """
    if not measures:
        return []
    random = np.random.default_rng(seed)
    size = len(measures[0].part)
    parts: list[list[Values]] = [[] for _ in measures]
    for many in _chunks(draws):
        weights = random.multinomial(size, np.full(size, 1 / size), many)
        for measure, part in zip(measures, parts, strict=True):
            part.append(measure.values(weights.astype(np.float64)))
    return [_interval(np.concatenate(part)) for part in parts]


def _interval(values: Values) -> Interval | None:
    values = values[~np.isnan(values)]
    if not values.size:
        return None
    tail = (1 - _COVER) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))


def difference(
    one: Measure, other: Measure, *, seed: int, shuffles: int = SHUFFLES
) -> Difference | None:
    """Return the difference between two systems; None where a value is undefined.

    Args:
        one: A measure of the first system.
        other: The same measure of the second, on the same documents.
        seed: Of the random exchanges.
        shuffles: Number of exchanges.

    Raises:
        ValueError: They are not the same measure of equally many documents.
    """
    if (one.name, one.of, one.part.shape) != (other.name, other.of, other.part.shape):
        raise ValueError(
            f"not comparable: {one.name} {one.of}, {other.name} {other.of}"
        )
    if one.value is None or other.value is None:
        return None
    seen = abs(one.value - other.value)
    both = _stacked(one, other)
    random = np.random.default_rng(seed)
    as_large = 0
    for many in _chunks(shuffles):
        kept = random.integers(0, 2, size=(many, len(one.part))).astype(np.float64)
        first = both.values(np.hstack([kept, 1 - kept]))
        second = both.values(np.hstack([1 - kept, kept]))
        # Sums in another order differ in the last digits.
        as_large += int((np.abs(first - second) >= seen - _ROUNDING).sum())
    p = (as_large + 1) / (shuffles + 1)
    return Difference(one.name, one.of, one.value, other.value, p)


def _stacked(one: Measure, other: Measure) -> Measure:
    return replace(
        one,
        part=np.concatenate([one.part, other.part]),
        whole=np.concatenate([one.whole, other.whole]),
    )


def _chunks(total: int) -> Iterator[int]:
    for start in range(0, total, _CHUNK):
        yield min(_CHUNK, total - start)
