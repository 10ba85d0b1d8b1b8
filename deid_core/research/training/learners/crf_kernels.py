"""One epoch of stochastic gradient descent for a linear-chain CRF, compiled by numba.

The model is the conditional random field of Lafferty and others 2001.  The step size is
AdaGrad's (Duchi and others 2011).  The forward pass is the tagger's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deid_core.research.training.encoding import Encoded
from deid_core.runtime.jit import Array, Float, Int, compiled
from deid_core.tagger.kernels.chain import forward, normalise, retreat

_WIDTH = 7
_REACH = 3
_TINY = np.float32(1e-30)
_NEGLIGIBLE = np.float32(1e-9)
_MAX_ROWS = 400
"""Rows of one word; further ones are left out."""
_MIN_GRADIENT = 1e-5


class Lines(NamedTuple):
    """The arrays of `Encoded`, in a form that numba reads."""

    starts: Array
    types: Array
    labels: Array
    pointers: Array
    rows: Array
    joined: Array

    @classmethod
    def of(cls, encoded: Encoded) -> Lines:
        """Return the arrays of encoded lines."""
        return cls(
            encoded.starts,
            encoded.types,
            encoded.labels,
            encoded.pointers,
            encoded.rows,
            encoded.joined,
        )


class Parameters(NamedTuple):
    """The weights of the chain and AdaGrad's sums of squared gradients.

    Args:
        weights: Shape ``[rows, labels]``.
        squares: The sums for `weights`.
        transitions: Shape ``[labels + 1, labels]``; the last row is the start.
        transition_squares: The sums for `transitions`.
    """

    weights: Array
    squares: Array
    transitions: Array
    transition_squares: Array


class Settings(NamedTuple):
    """The settings of one epoch; `CrfOptions` explains them.

    Args:
        first_rate: Step size at the first line.
        last_rate: Step size after the last line.
        decay: L2 decay of every weight that is touched.
        dropout: Share of rows that are left out.
        certain: A line with a smaller loss gives no gradient.
        sure: A word whose gold label is more probable gives no gradient.
    """

    first_rate: float
    last_rate: float
    decay: float
    dropout: float
    certain: float
    sure: float


class Buffers(NamedTuple):
    """Working memory for the words of one line.

    Args:
        taken: The rows of each word, shape ``[words, rows]``.
        counts: How many rows each word has, shape ``[words]``.
        scores: Emissions, shape ``[words, labels]``.
        local: Exponentials of the emissions, the largest of each word 1.
        alpha: Forward probabilities, each row normalised.
        beta: Marginals, then their gradient.
    """

    taken: Array
    counts: Array
    scores: Array
    local: Array
    alpha: Array
    beta: Array


@compiled
def buffers(words: Int, labels: Int) -> Buffers:
    """Return working memory for lines of up to `words` words."""
    return Buffers(
        np.empty((words, _MAX_ROWS), dtype=np.int32),
        np.empty(words, dtype=np.int32),
        np.empty((words, labels), dtype=np.float32),
        np.empty((words, labels), dtype=np.float32),
        np.empty((words, labels), dtype=np.float32),
        np.empty((words, labels), dtype=np.float32),
    )


@compiled
def random_bits(state: Array) -> Int:
    """Return 32 random bits and advance the generator (xorshift64)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64(x >> np.uint64(32))


@compiled
def take(row: Int, dropped: Int, state: Array, taken: Array, count: Int) -> Int:
    """Append a row unless it is -1 or dropped; return the new count."""
    if row < 0 or count >= len(taken):
        return count
    if dropped > 0 and random_bits(state) < dropped:
        return count
    taken[count] = row
    return count + 1


@compiled
def gather(lines: Lines, line: Int, dropped: Int, state: Array, to: Buffers) -> None:
    """Write the rows of a line's words to `to.taken`, their number to `to.counts`.

    Each row is left out with probability ``dropped / 2 ** 32``.
    """
    types, pointers, rows, joined = (
        lines.types,
        lines.pointers,
        lines.rows,
        lines.joined,
    )
    first, last = lines.starts[line], lines.starts[line + 1]
    for at in range(first, last):
        found = to.taken[at - first]
        count = 0
        for slot in range(_WIDTH):
            place = at + slot - _REACH
            cell = (types[place] if first <= place < last else 0) * _WIDTH + slot
            for k in range(pointers[cell], pointers[cell + 1]):
                count = take(rows[k], dropped, state, found, count)
        for c in range(joined.shape[1]):
            count = take(joined[at, c], dropped, state, found, count)
        to.counts[at - first] = count


@compiled
def emissions(size: Int, weights: Array, scale: Float, to: Buffers) -> None:
    """Write the scaled sum of the weights of each word's rows to `to.scores`."""
    taken, counts, scores = to.taken, to.counts, to.scores
    labels = weights.shape[1]
    for at in range(size):
        for y in range(labels):
            scores[at, y] = 0.0
        for k in range(counts[at]):
            row = taken[at, k]
            for y in range(labels):
                scores[at, y] += weights[row, y]
        for y in range(labels):
            scores[at, y] *= scale


@compiled
def add_margins(gold: Array, margins: Array, scores: Array) -> None:
    """Add the margins by which each word's gold label must exceed the others."""
    for at in range(len(gold)):
        for y in range(scores.shape[1]):
            scores[at, y] += margins[gold[at], y]


@compiled
def gold_score(gold: Array, scores: Array, transitions: Array) -> Float:
    """Return the score of the gold path of a line."""
    total = 0.0
    before = scores.shape[1]
    for at in range(len(gold)):
        total += scores[at, gold[at]] + transitions[before, gold[at]]
        before = gold[at]
    return total


@compiled
def backward(
    size: Int, local: Array, steps: Array, alpha: Array, beta: Array, pairs: Array
) -> None:
    """Write marginals to `beta` and add the expected transitions to `pairs`.

    Args:
        size: Number of words.
        local: As written by `forward`.
        steps: Exponentials of the transitions, as read by `forward`.
        alpha: As written by `forward`.
        beta: Written: the probability of each label, shape ``[words, labels]``.
        pairs: Added to: shape ``[labels + 1, labels]``.
    """
    labels = local.shape[1]
    after = np.ones(labels, dtype=np.float32)
    onward = np.zeros(labels, dtype=np.float32)
    for at in range(size - 1, -1, -1):
        for y in range(labels):
            beta[at, y] = alpha[at, y] * after[y]
            onward[y] = local[at, y] * after[y]
        normalise(beta[at])
        if at > 0:
            add_pairs(alpha[at - 1], steps, onward, pairs)
            retreat(steps, onward, after)
    for y in range(labels):
        pairs[labels, y] += beta[0, y]


@compiled
def add_pairs(before: Array, steps: Array, onward: Array, pairs: Array) -> None:
    """Add the probability of each transition between two words to `pairs`."""
    labels = len(before)
    whole = _TINY
    for x in range(labels):
        if before[x] > _NEGLIGIBLE:
            inner = np.float32(0.0)
            for y in range(labels):
                inner += steps[x, y] * onward[y]
            whole += before[x] * inner
    for x in range(labels):
        share = before[x] / whole
        if before[x] > _NEGLIGIBLE:
            for y in range(labels):
                pairs[x, y] += share * steps[x, y] * onward[y]


@compiled
def update_row(
    to: Parameters, row: Int, gradient: Array, rate: Float, decay: Float
) -> None:
    """Update one row of weights by AdaGrad."""
    weights, squares = to.weights, to.squares
    for y in range(gradient.shape[0]):
        g = gradient[y] + decay * weights[row, y]
        squares[row, y] += g * g
        weights[row, y] -= rate * g / np.sqrt(squares[row, y])


@compiled
def update_transitions(
    to: Parameters, gradient: Array, allowed: Array, rate: Float, steps: Array
) -> None:
    """Update the allowed transitions by AdaGrad, and their exponentials."""
    transitions, squares = to.transitions, to.transition_squares
    for x in range(gradient.shape[0]):
        for y in range(gradient.shape[1]):
            g = gradient[x, y]
            if allowed[x, y] and abs(g) > _MIN_GRADIENT:
                squares[x, y] += g * g
                transitions[x, y] -= rate * g / np.sqrt(squares[x, y])
                steps[x, y] = np.exp(transitions[x, y])


@compiled
def epoch(
    lines: Lines,
    order: Array,
    to: Parameters,
    allowed: Array,
    margins: Array,
    certain: Array,
    settings: Settings,
    state: Array,
) -> Float:
    """Visit lines once and update the parameters after each; return the mean loss.

    Args:
        lines: All lines.
        order: The lines to visit, in order.
        to: Updated.
        allowed: Which transitions are allowed; see `Bio.allowed`.
        margins: Added to each label's score where another is gold, shape
            ``[gold, labels]``; 0 for the gold label.
        certain: Written: whether the loss of a line was below `settings.certain`.
        settings: Of this epoch.
        state: Of the random generator; updated.
    """
    labels = to.weights.shape[1]
    longest = 0
    for line in order:
        longest = max(longest, lines.starts[line + 1] - lines.starts[line])
    work = buffers(longest, labels)
    beta = work.beta
    steps = np.exp(to.transitions) * allowed
    pairs = np.empty_like(steps)
    dropped = np.int64(settings.dropout * 4294967296.0)
    scale = np.float32(1.0 / (1.0 - settings.dropout))
    decay = np.float32(settings.decay)
    loss = 0.0
    for visit in range(len(order)):
        line = order[visit]
        share = visit / len(order)
        rate = np.float32(
            settings.first_rate * (1.0 - share) + settings.last_rate * share
        )
        gold = lines.labels[lines.starts[line] : lines.starts[line + 1]]
        size = len(gold)
        gather(lines, line, dropped, state, work)
        emissions(size, to.weights, scale, work)
        add_margins(gold, margins, work.scores)
        lost = forward(size, work.scores, labels, steps, work.local, work.alpha)
        lost -= gold_score(gold, work.scores, to.transitions)
        loss += lost
        certain[line] = lost < settings.certain
        if certain[line]:
            continue
        pairs[:] = 0.0
        backward(size, work.local, steps, work.alpha, beta, pairs)
        before = labels
        for at in range(size):
            label = gold[at]
            pairs[before, label] -= 1.0
            before = label
            if beta[at, label] > settings.sure:
                continue
            beta[at, label] -= 1.0
            for y in range(labels):
                beta[at, y] *= scale
            for k in range(work.counts[at]):
                update_row(to, work.taken[at, k], beta[at], rate, decay)
        update_transitions(to, pairs, allowed, rate, steps)
    return loss / max(1, len(order))
