"""The forward and backward steps of a linear-chain CRF (Lafferty and others 2001).

Probabilities are scaled at each word, so that nothing underflows.  Tagging and training
share them.
"""

from __future__ import annotations

import numpy as np

from deid_core.runtime.jit import Array, Float, Int, compiled

_TINY = np.float32(1e-30)
_NEGLIGIBLE = np.float32(1e-9)


@compiled
def exponentials(scores: Array, local: Array) -> Float:
    """Write one word's exponentials, the largest 1; return the score that became 1."""
    most = scores[0]
    for y in range(1, len(scores)):
        most = max(most, scores[y])
    for y in range(len(scores)):
        local[y] = np.exp(scores[y] - most)
    return most


@compiled
def advance(before: Array, steps: Array, after: Array) -> None:
    """Write ``before @ steps``, of the rows that are labels."""
    labels = len(after)
    for y in range(labels):
        after[y] = 0.0
    for x in range(labels):
        share = before[x]
        if share > _NEGLIGIBLE:
            for y in range(labels):
                after[y] += share * steps[x, y]


@compiled
def retreat(steps: Array, onward: Array, before: Array) -> None:
    """Write ``steps @ onward``, of the rows that are labels, the largest 1."""
    labels = len(before)
    most = _TINY
    for x in range(labels):
        inner = np.float32(0.0)
        for y in range(labels):
            inner += steps[x, y] * onward[y]
        before[x] = inner
        most = max(most, inner)
    for x in range(labels):
        before[x] /= most


@compiled
def normalise(values: Array) -> Float:
    """Make values sum to 1; return what they summed to."""
    norm = np.float32(0.0)
    for y in range(len(values)):
        norm += values[y]
    norm = max(norm, _TINY)
    for y in range(len(values)):
        values[y] /= norm
    return norm


@compiled
def forward(
    size: Int, scores: Array, start: Int, steps: Array, local: Array, alpha: Array
) -> Float:
    """Write scaled forward probabilities; return the log of the partition function.

    Args:
        size: How many words.
        scores: Emissions, shape ``[words, labels]``.
        start: The row of `steps` that leads to the first word.
        steps: Exponentials of the transitions, 0 where forbidden; the last row is the
            start of a line, shape ``[labels + 1, labels]``.
        local: Written: exponentials of the emissions, the largest of a word 1.
        alpha: Written: each row sums to 1.
    """
    labels = scores.shape[1]
    total = 0.0
    for at in range(size):
        total += exponentials(scores[at], local[at])
        if at == 0:
            for y in range(labels):
                alpha[0, y] = steps[start, y]
        else:
            advance(alpha[at - 1], steps, alpha[at])
        for y in range(labels):
            alpha[at, y] *= local[at, y]
        total += np.log(normalise(alpha[at]))
    return total
