"""The nearest cue to each side of every word of a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deid_core.runtime.jit import Array, compiled

Ints = NDArray[np.int32]

NOTHING = "-"
"""What the columns say where a line has no cue on that side."""
_BUCKETS = np.array([0, 0, 1, 2, 3, 3, 4, 4, 4, 5], dtype=np.int32)
_BUCKET_COUNT = 6


@compiled
def nearest_cues(
    cues: Array,
    starts: Array,
    buckets: Array,
    left: Array,
    right: Array,
) -> None:
    """Write each word's nearest cue to the left and to the right, with its distance.

    Args:
        cues: The cue class of each word, 0 for none, shape ``[words]``.
        starts: Where each line starts, and past the last, shape ``[lines + 1]``.
        buckets: The bucket of each distance; the last is of all beyond.
        left: Written: ``cue * 6 + bucket``, 0 for none, shape ``[words]``.
        right: Written: the same of the nearest cue to the right.
    """
    far = len(buckets) - 1
    for line in range(len(starts) - 1):
        first, last = starts[line], starts[line + 1]
        cue, seen = 0, 0
        for at in range(first, last):
            left[at] = cue * 6 + buckets[min(at - seen, far)] if cue else 0
            if cues[at] > 0:
                cue, seen = cues[at], at
        cue = 0
        for at in range(last - 1, first - 1, -1):
            right[at] = cue * 6 + buckets[min(seen - at, far)] if cue else 0
            if cues[at] > 0:
                cue, seen = cues[at], at


def cue_columns(cues: Ints, starts: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Return `nearest_cues` of all lines: to the left, and to the right."""
    left, right = np.empty_like(cues), np.empty_like(cues)
    nearest_cues(cues, starts, _BUCKETS, left, right)
    return left, right


def cue_values(classes: list[str]) -> list[str]:
    """Return the values of `left` and `right` by their numbers: ``street/0``.

    Args:
        classes: Cue classes by their numbers; the first is none.
    """
    values = [f"{cue}/{bucket}" for cue in classes for bucket in range(_BUCKET_COUNT)]
    return [NOTHING, *values[1:]]


def cue_class_values(classes: list[str]) -> list[str]:
    """Return the values of `left_cue` and `right_cue`: ``left // 6``."""
    return [NOTHING, *classes[1:]]


def without_distance(columns: Ints) -> Ints:
    """Return the numbers of `left_cue` from those of `left`."""
    return columns // np.int32(_BUCKET_COUNT)
