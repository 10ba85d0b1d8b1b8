"""The weights that a linear learner returns, and those that a model keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_core.tagger.model import Weights

Progress = Callable[[float, str], None]
"""Called with the share done, 0 to 1, and a word on how it goes."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainWeights:
    """A linear chain's weights.

    Args:
        state: Of each feature's row and label, shape ``[rows, labels]``.
        transitions: From label to label; the last row is the start of a line; forbidden
            is ``-inf``.  Shape ``[labels + 1, labels]``.
    """

    state: NDArray[np.float32]
    transitions: NDArray[np.float32]


def no_progress(_: float, __: str) -> None:
    """Report to nobody."""


def named_weights(
    names: Sequence[str], weights: ChainWeights, *, least: float = 0.0
) -> Weights:
    """Return a learner's weights without those that are nearly 0.

    Args:
        names: The feature of each row.
        weights: What was learned.
        least: Smaller weights, by their absolute value, are dropped.
    """
    kept = np.abs(weights.state) > least
    rows = np.flatnonzero(kept.any(axis=1))
    # Sorted by name, so that the same weights make the same file.
    rows = np.array(sorted(rows.tolist(), key=names.__getitem__), dtype=np.int64)
    at, labels = np.nonzero(kept[rows])
    pointers = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum(np.bincount(at, minlength=len(rows)), out=pointers[1:])
    return Weights(
        [names[row] for row in rows.tolist()],
        pointers,
        labels.astype(np.uint8),
        weights.state[rows[at], labels],
        weights.transitions,
    )


def mean_of(several: Sequence[Weights], *, least: float = 0.0) -> Weights:
    """Return the mean weights of learners of the same labels, name by name.

    A feature that one of them lacks counts as 0 there.

    Args:
        several: At least one.
        least: Smaller mean weights are dropped.
    """
    numbers: dict[str, int] = {}
    for each in several:
        for name in each.names:
            numbers.setdefault(name, len(numbers))
    total = np.zeros((len(numbers), several[0].transitions.shape[1]), np.float32)
    for each in several:
        total[[numbers[name] for name in each.names]] += each.dense()
    transitions = np.mean([each.transitions for each in several], axis=0)
    mean = ChainWeights(
        (total / len(several)).astype(np.float32), transitions.astype(np.float32)
    )
    return named_weights(list(numbers), mean, least=least)
