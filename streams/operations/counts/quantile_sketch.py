"""Quantiles from a histogram whose bucket bounds grow by a constant factor.

Two sketches merge by adding their counts; a quantile is off by at most 5% of its value.
Source: Masson, Rim and Lee 2019, DDSketch (VLDB 12), sections 2.1 and 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

ACCURACY = 0.05
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
MAX_MS = 7 * 24 * 60 * 60 * 1000
"""Longer durations count as one week, which bounds the number of buckets."""


def bucket_of(milliseconds: float) -> int:
    """Return the bucket of a duration; bucket 0 ends at one millisecond."""
    clipped = min(max(milliseconds, 1.0), float(MAX_MS))
    return math.ceil(math.log(clipped, GAMMA))


def value_of(bucket: int) -> float:
    """Return the milliseconds that represent a bucket."""
    return 1.0 if bucket <= 0 else 2 * GAMMA**bucket / (GAMMA + 1)


def quantiles(counts: Mapping[int, int], wanted: Iterable[float]) -> list[float | None]:
    """Return quantiles in milliseconds; None for each when the sketch is empty."""
    total = sum(counts.values())
    if not total:
        return [None for _ in wanted]
    return [value_of(_bucket_at(counts, q * (total - 1))) for q in wanted]


def _bucket_at(counts: Mapping[int, int], rank: float) -> int:
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen > rank:
            return bucket
    return max(counts)
