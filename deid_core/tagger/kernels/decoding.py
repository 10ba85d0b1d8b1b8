"""Kernels of decoding: the labels of lines, and their probabilities."""

from __future__ import annotations

import numpy as np

from deid_core.runtime.jit import Array, Float, Int, compiled

from .chain import exponentials, forward, normalise, retreat
from .viterbi import Transitions, best_path

_SURE_LEAD = 12.0


@compiled
def marginals(
    scores: Array,
    start: Int,
    first: Int,
    past: Int,
    steps: Array,
    local: Array,
    alpha: Array,
) -> None:
    """Write the probability of some words' labels into `alpha` (forward-backward).

    Args:
        scores: Emissions of words in a row, shape ``[words, labels]``.
        start: The row of `steps` that leads to the first of them.
        first: The first word whose probabilities are wanted.
        past: Past the last of them.
        steps: Exponentials of the transitions.
        local: Working space.
        alpha: Written, shape ``[words or more, labels]``.
    """
    size, labels = scores.shape
    forward(past, scores, start, steps, local, alpha)
    for at in range(past, size):
        exponentials(scores[at], local[at])
    after = np.ones(labels, dtype=np.float32)
    onward = np.empty(labels, dtype=np.float32)
    for at in range(size - 1, first - 1, -1):
        for y in range(labels):
            onward[y] = local[at, y] * after[y]
        if at < past:
            for y in range(labels):
                alpha[at, y] *= after[y]
            normalise(alpha[at])
        if at > first:
            retreat(steps, onward, after)


@compiled
def choose_sure(chances: Array, below: Float, path: Array, sureness: Array) -> None:
    """Write each word's probability, and tag what is not surely outside.

    Args:
        chances: Of one line, shape ``[words, labels]``.
        below: A word of label 0 whose probability is not above becomes the most
            probable other label.
        path: The best path; changed.
        sureness: Written: the probability of each word's label.
    """
    for at in range(len(path)):
        label = path[at]
        if label == 0 and chances[at, 0] <= below:
            label = np.int8(1)
            for other in range(2, chances.shape[1]):
                if chances[at, other] > chances[at, label]:
                    label = np.int8(other)
            path[at] = label
        sureness[at] = chances[at, label]


@compiled
def is_sure(scores: Array) -> Int:
    """Return whether label 0 leads by so much at a word that nothing passes it."""
    most = scores[1]
    for label in range(2, len(scores)):
        most = max(most, scores[label])
    return most < scores[0] - _SURE_LEAD


@compiled
def measure(
    scores: Array,
    steps: Array,
    local: Array,
    alpha: Array,
    path: Array,
    sureness: Array,
) -> None:
    """Write the probabilities of a line's labels where its path leaves label 0.

    A stretch is measured from one surely outside word to the next: words beyond
    change nothing that could be seen.
    """
    size = len(path)
    at = 0
    while at < size:
        if path[at] == 0:
            at += 1
            continue
        first = at
        while first > 0 and not (path[first - 1] == 0 and is_sure(scores[first - 1])):
            first -= 1
        last = at + 1
        while last < size and not (path[last - 1] == 0 and is_sure(scores[last - 1])):
            last += 1
        left, right = first, last
        while path[left] == 0:
            left += 1
        while path[right - 1] == 0:
            right -= 1
        start = 0 if first > 0 else scores.shape[1]
        inner, past = scores[first:last], right - first
        marginals(inner, start, left - first, past, steps, local, alpha)
        for place in range(left, right):
            sureness[place] = alpha[place - first, path[place]]
        at = last


@compiled
def decode(
    scores: Array,
    starts: Array,
    transitions: Transitions,
    outside_bias: Array,
    outside_below: Float,
    path: Array,
    sureness: Array,
) -> None:
    """Write each line's best labels and their probabilities.

    Args:
        scores: Emissions, shape ``[words, labels]``; label 0's are lowered in place.
        starts: Where each line starts, and past the last.
        transitions: Of the chain.
        outside_bias: Taken off the score of label 0 (Minkov and others 2006), for each
            line, shape ``[lines]``.
        outside_below: A word of label 0 whose probability is not above becomes the
            most probable other label (Deleger and others 2013, MCRF); below 0 for no
            such thing.
        path: Written, shape ``[words]``.
        sureness: Written: the probability of each word's label; 1 for those of lines
            that are label 0 throughout.
    """
    labels = scores.shape[1]
    longest = 1
    for line in range(len(starts) - 1):
        longest = max(longest, starts[line + 1] - starts[line])
    best = np.empty((longest, labels), dtype=np.float32)
    local = np.empty_like(best)
    steps = np.exp(transitions.scores)
    for at in range(len(scores)):
        path[at] = 0
        sureness[at] = 1.0
    for line in range(len(starts) - 1):
        first, last = starts[line], starts[line + 1]
        for at in range(first, last):
            scores[at, 0] -= outside_bias[line]
        inner = scores[first:last]
        if len(inner) == 0:
            continue
        found = best_path(inner, transitions, best, path[first:last])
        if outside_below >= 0.0:
            marginals(inner, labels, np.int64(0), len(inner), steps, local, best)
            choose_sure(
                best[: last - first],
                outside_below,
                path[first:last],
                sureness[first:last],
            )
        elif found:
            measure(inner, steps, local, best, path[first:last], sureness[first:last])
