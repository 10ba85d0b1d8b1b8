"""The numeric heart of the own learner: a line's scores, probabilities and gradient.

A linear-chain conditional random field (Lafferty and others 2001) with AdaGrad (Duchi
and others 2011).  Forward-backward is scaled at each word, so that nothing underflows.
"""

from __future__ import annotations

import numpy as np

from deid_core.jit import Array, Float, Int, compiled

_WIDTH = 7
_REACH = 3
_TINY = np.float32(1e-30)
_NEGLIGIBLE = np.float32(1e-9)


@compiled
def random_bits(state: Array) -> Int:
    """Return 32 random bits, and move the generator (xorshift64) on."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64(x >> np.uint64(32))


@compiled
def take(row: Int, dropped: Int, state: Array, taken: Array, count: Int) -> Int:
    """Append a row to `taken` if it is one and not dropped; return the new count."""
    if row < 0 or count >= len(taken):
        return count
    if dropped > 0 and random_bits(state) < dropped:
        return count
    taken[count] = row
    return count + 1


@compiled
def gather(
    first: Int,
    last: Int,
    types: Array,
    pointers: Array,
    rows: Array,
    joined: Array,
    dropped: Int,
    state: Array,
    taken: Array,
    counts: Array,
) -> None:
    """Write the rows of a line's words into `taken`, and how many into `counts`.

    Args:
        first: The line's first word.
        last: Past its last.
        types: See `Encoded`.
        pointers: See `Encoded`.
        rows: See `Encoded`.
        joined: See `Encoded`.
        dropped: Rows are left out with probability ``dropped / 2 ** 32``.
        state: Of the generator.
        taken: Shape ``[words, rows]``.
        counts: Shape ``[words]``.
    """
    for at in range(first, last):
        found = taken[at - first]
        count = 0
        for slot in range(_WIDTH):
            place = at + slot - _REACH
            cell = (types[place] if first <= place < last else 0) * _WIDTH + slot
            for k in range(pointers[cell], pointers[cell + 1]):
                count = take(rows[k], dropped, state, found, count)
        for c in range(joined.shape[1]):
            count = take(joined[at, c], dropped, state, found, count)
        counts[at - first] = count


@compiled
def emissions(
    size: Int, taken: Array, counts: Array, weights: Array, scale: Float, scores: Array
) -> None:
    """Write the scaled sum of each word's rows of weights."""
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


@compiled
def backward(
    size: Int, local: Array, steps: Array, alpha: Array, beta: Array, pairs: Array
) -> None:
    """Write marginals into `beta`, and add the expected transitions to `pairs`.

    Args:
        size: How many words.
        local: As `forward` wrote it.
        steps: As `forward` read it.
        alpha: As `forward` wrote it.
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
    """Add the probability of each step between two words to `pairs`."""
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
def gold_score(
    first: Int, size: Int, gold: Array, scores: Array, transitions: Array
) -> Float:
    """Return the score of the gold path of a line."""
    total = 0.0
    before = scores.shape[1]
    for at in range(size):
        label = gold[first + at]
        total += scores[at, label] + transitions[before, label]
        before = label
    return total


@compiled
def step(
    weights: Array, squares: Array, row: Int, gradient: Array, rate: Float, decay: Float
) -> None:
    """Move one row against its gradient, by AdaGrad."""
    for y in range(gradient.shape[0]):
        g = gradient[y] + decay * weights[row, y]
        squares[row, y] += g * g
        weights[row, y] -= rate * g / np.sqrt(squares[row, y])
