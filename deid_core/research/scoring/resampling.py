"""How sure is a figure, and is a difference more than chance?

Documents are the units, chance is seeded, thousands of draws are one matrix product.
Sources: Efron and Tibshirani 1993, chapter 13 (percentile interval); Noreen 1989 and
Chinchor 1992 (approximate randomisation), as Deleger and others use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .measures import Measure, Values

SHUFFLES = 10_000
DRAWS = 2_000
_CHUNK = 500
_COVER = 0.95
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """Where 95 of 100 figures of like corpora lie."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Two systems' figures on the same documents.

    Args:
        p: How often a difference as large arises when each document's two outputs are
            exchanged at random; two-sided.
    """

    name: str
    of: str
    one: float
    other: float
    p: float


def intervals(
    measures: Sequence[Measure], *, seed: int, draws: int = DRAWS
) -> list[Interval | None]:
    """Return the bootstrap interval of each measure; None where it has no value.

    Args:
        measures: All of the same documents.
        seed: Of the draws.
        draws: How many.
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
    """Return the difference between two systems; None where one has no value.

    Args:
        one: A measure of the first system.
        other: The same measure of the second, on the same documents.
        seed: Of the shuffles.
        shuffles: How many.

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
    both = _beside(one, other)
    random = np.random.default_rng(seed)
    as_large = 0
    for many in _chunks(shuffles):
        kept = random.integers(0, 2, size=(many, len(one.part))).astype(np.float64)
        first = both.values(np.hstack([kept, 1 - kept]))
        second = both.values(np.hstack([1 - kept, kept]))
        # Sums in another order differ in the last digit.
        as_large += int((np.abs(first - second) >= seen - _ROUNDING).sum())
    p = (as_large + 1) / (shuffles + 1)
    return Difference(one.name, one.of, one.value, other.value, p)


def _beside(one: Measure, other: Measure) -> Measure:
    return replace(
        one,
        part=np.concatenate([one.part, other.part]),
        whole=np.concatenate([one.whole, other.whole]),
    )


def _chunks(total: int) -> Iterator[int]:
    for start in range(0, total, _CHUNK):
        yield min(_CHUNK, total - start)
