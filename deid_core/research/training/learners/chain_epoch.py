"""One epoch of the own learner."""

from __future__ import annotations

import numpy as np

from deid_core.jit import Array, Float, Int, compiled
from deid_core.tagger.kernels.chain import (
    backward,
    emissions,
    forward,
    gather,
    gold_score,
    step,
)

_MOST_ROWS = 400
"""Of one word; what comes after is left out."""
_NO_CHANGE = 1e-5


@compiled
def epoch(
    order: Array,
    starts: Array,
    types: Array,
    gold: Array,
    pointers: Array,
    rows: Array,
    joined: Array,
    weights: Array,
    squares: Array,
    transitions: Array,
    transition_squares: Array,
    allowed: Array,
    margins: Array,
    certain: Array,
    settings: Array,
    state: Array,
) -> Float:
    """Go once over lines, and update the weights after each; return the mean loss.

    Args:
        order: Lines in the order in which they are visited.
        starts: See `Encoded`; likewise `types`, `gold`, `pointers`, `rows`, `joined`.
        types: See there.
        gold: See there.
        pointers: See there.
        rows: See there.
        joined: See there.
        weights: Shape ``[rows, labels]``; updated.
        squares: AdaGrad's sums; updated.
        transitions: Shape ``[labels + 1, labels]``; updated.
        transition_squares: Likewise.
        allowed: Which transitions may be, as `Bio.allowed` has them.
        margins: What is added to each label's score where another is gold, shape
            ``[gold, labels]``; 0 for itself.
        certain: Of each line, whether its gold path was certain; updated.
        settings: First rate, last rate, decay, dropout, certain below, sure above.
        state: Of the generator.
    """
    labels = weights.shape[1]
    longest = 0
    for line in order:
        longest = max(longest, starts[line + 1] - starts[line])
    taken = np.empty((longest, _MOST_ROWS), dtype=np.int32)
    counts = np.empty(longest, dtype=np.int32)
    scores = np.empty((longest, labels), dtype=np.float32)
    local, alpha = np.empty_like(scores), np.empty_like(scores)
    beta = np.empty_like(scores)
    steps = np.exp(transitions) * allowed
    pairs = np.empty_like(steps)
    dropped = np.int64(settings[3] * 4294967296.0)
    scale = np.float32(1.0 / (1.0 - settings[3]))
    decay = np.float32(settings[2])
    loss = 0.0
    for visit in range(len(order)):
        line = order[visit]
        share = visit / len(order)
        rate = np.float32(settings[0] * (1.0 - share) + settings[1] * share)
        first, last = starts[line], starts[line + 1]
        size = last - first
        gather(
            first, last, types, pointers, rows, joined, dropped, state, taken, counts
        )
        emissions(size, taken, counts, weights, scale, scores)
        widen(first, size, gold, margins, scores)
        lost = forward(size, scores, labels, steps, local, alpha)
        lost -= gold_score(first, size, gold, scores, transitions)
        loss += lost
        certain[line] = lost < settings[4]
        if certain[line]:
            continue
        pairs[:] = 0.0
        backward(size, local, steps, alpha, beta, pairs)
        before = labels
        for at in range(size):
            label = gold[first + at]
            pairs[before, label] -= 1.0
            before = label
            if beta[at, label] > settings[5]:
                continue
            beta[at, label] -= 1.0
            for y in range(labels):
                beta[at, y] *= scale
            for k in range(counts[at]):
                step(weights, squares, taken[at, k], beta[at], rate, decay)
        move_transitions(pairs, allowed, rate, transitions, transition_squares, steps)
    return loss / max(1, len(order))


@compiled
def widen(first: Int, size: Int, gold: Array, margins: Array, scores: Array) -> None:
    """Add what the gold label of each word must exceed the other labels by."""
    for at in range(size):
        for y in range(scores.shape[1]):
            scores[at, y] += margins[gold[first + at], y]


@compiled
def move_transitions(
    gradient: Array,
    allowed: Array,
    rate: Float,
    transitions: Array,
    squares: Array,
    steps: Array,
) -> None:
    """Move the transitions that may be, by AdaGrad, and their exponentials."""
    for x in range(gradient.shape[0]):
        for y in range(gradient.shape[1]):
            g = gradient[x, y]
            if allowed[x, y] and abs(g) > _NO_CHANGE:
                squares[x, y] += g * g
                transitions[x, y] -= rate * g / np.sqrt(squares[x, y])
                steps[x, y] = np.exp(transitions[x, y])


@compiled
def loss_and_gradient(
    starts: Array,
    types: Array,
    gold: Array,
    pointers: Array,
    rows: Array,
    joined: Array,
    weights: Array,
    transitions: Array,
    allowed: Array,
    gradient: Array,
    transition_gradient: Array,
) -> Float:
    """Return the negative log-likelihood of all lines, and add its gradient.

    What `epoch` follows, without any short cut: for tests.

    Args:
        starts: See `Encoded`; likewise `types`, `gold`, `pointers`, `rows`, `joined`.
        types: See there.
        gold: See there.
        pointers: See there.
        rows: See there.
        joined: See there.
        weights: Shape ``[rows, labels]``.
        transitions: Shape ``[labels + 1, labels]``.
        allowed: Which transitions may be.
        gradient: Added to: of the weights.
        transition_gradient: Added to: of the transitions.
    """
    labels = weights.shape[1]
    steps = np.exp(transitions) * allowed
    state = np.ones(1, dtype=np.uint64)
    total = 0.0
    for line in range(len(starts) - 1):
        first, last = starts[line], starts[line + 1]
        size = last - first
        taken = np.empty((size, _MOST_ROWS), dtype=np.int32)
        counts = np.empty(size, dtype=np.int32)
        scores = np.empty((size, labels), dtype=np.float32)
        local, alpha = np.empty_like(scores), np.empty_like(scores)
        beta = np.empty_like(scores)
        gather(first, last, types, pointers, rows, joined, 0, state, taken, counts)
        emissions(size, taken, counts, weights, np.float32(1.0), scores)
        total += forward(size, scores, labels, steps, local, alpha)
        total -= gold_score(first, size, gold, scores, transitions)
        backward(size, local, steps, alpha, beta, transition_gradient)
        before = labels
        for at in range(size):
            label = gold[first + at]
            transition_gradient[before, label] -= 1.0
            beta[at, label] -= 1.0
            before = label
            for k in range(counts[at]):
                for y in range(labels):
                    gradient[taken[at, k], y] += beta[at, y]
    return total
