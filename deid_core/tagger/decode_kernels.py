"""The numeric heart of tagging, second half: the best path, and how sure it is."""

from __future__ import annotations

import numpy as np

from ..jit import Array, Float, Int, compiled
from .learners.chain_kernels import exponentials, forward, normalise, retreat

FORBIDDEN = -1e9
"""The score of a transition that may not be: finite, as fast arithmetic wants it."""
_SURE_LEAD = 12.0


@compiled
def raise_to(held: Array, added: Array, base: Float) -> None:
    """Raise values to ``base + added`` where that is more."""
    for y in range(len(held)):
        score = base + added[y]
        # Not max(): this becomes one instruction for many labels.
        held[y] = score if score > held[y] else held[y]


@compiled
def has_rival(best: Array, leads: Array) -> Int:
    """Return whether a label other than 0 may be best before a label open to both.

    Args:
        best: Scores of the best paths to each label of a word.
        leads: See `leads_of`.
    """
    # Of all at once, without a branch: at most words there is none.
    most = best[1] + leads[1]
    for x in range(2, len(best)):
        most = max(most, best[x] + leads[x])
    return most >= best[0]


@compiled
def raise_by_rivals(
    held: Array, transitions: Array, before: Array, leads: Array
) -> None:
    """Raise scores to those of paths whose last step comes from a rival of label 0."""
    for x in range(1, len(before)):
        if before[x] + leads[x] >= before[0]:
            raise_to(held, transitions[x], before[x])


@compiled
def best_scores(
    scores: Array, transitions: Array, leads: Array, closed: Array, best: Array
) -> None:
    """Write, for each word and label, the score of the best path that ends there.

    A label that is so far behind label 0 that it can be best before none of the labels
    that may follow both is left out there: exact, and nearly all of them at most words.

    Args:
        scores: Emissions of one line, shape ``[words, labels]``.
        transitions: The last row is the start, shape ``[labels + 1, labels]``.
        leads: See `leads_of`.
        closed: See `closed_of`.
        best: Written, shape ``[words or more, labels]``.
    """
    size, labels = scores.shape
    for y in range(labels):
        best[0, y] = transitions[labels, y] + scores[0, y]
    for at in range(1, size):
        outside = best[at - 1, 0]
        for y in range(labels):
            best[at, y] = transitions[0, y] + outside
        if has_rival(best[at - 1], leads):
            raise_by_rivals(best[at], transitions, best[at - 1], leads)
        for k in range(len(closed)):
            x, y = closed[k]
            best[at, y] = max(best[at, y], best[at - 1, x] + transitions[x, y])
        for y in range(labels):
            best[at, y] += scores[at, y]


def leads_of(transitions: Array) -> Array:
    """Return by how much each label's transitions lead label 0's at the most.

    Args:
        transitions: Shape ``[labels + 1, labels]``.
    """
    opened = transitions[0] > FORBIDDEN
    found = transitions[:-1, opened] - transitions[0, opened]
    return np.asarray(found.max(axis=1), dtype=np.float32)


def closed_of(transitions: Array) -> Array:
    """Return the transitions into labels that may not follow label 0.

    Args:
        transitions: Shape ``[labels + 1, labels]``.

    Returns:
        From and to, shape ``[transitions, 2]``.
    """
    allowed = transitions[:-1] > FORBIDDEN
    return np.argwhere(allowed & ~allowed[0])


@compiled
def best_before(best: Array, transitions: Array, then: Int) -> Int:
    """Return the label before a label on the best path to it; the first of equals."""
    label = 0
    most = best[0] + transitions[0, then]
    for x in range(1, len(best)):
        score = best[x] + transitions[x, then]
        if score > most:
            label, most = x, score
    return label


@compiled
def best_path(
    scores: Array,
    transitions: Array,
    leads: Array,
    closed: Array,
    best: Array,
    path: Array,
) -> Int:
    """Write the best path of a line (Viterbi); return whether it leaves label 0.

    The way back is found by asking again which step was best: only on the best path,
    so that the way forward keeps no pointers.

    Args:
        scores: See `best_scores`; likewise the others.
        transitions: See there.
        leads: See there.
        closed: See there.
        best: Working space.
        path: Written, shape ``[words]``.
    """
    size = len(scores)
    best_scores(scores, transitions, leads, closed, best)
    label = np.argmax(best[size - 1])
    found = label > 0
    path[size - 1] = label
    for at in range(size - 2, -1, -1):
        is_opened = transitions[0, label] > FORBIDDEN
        if is_opened and not has_rival(best[at], leads):
            label = np.intp(0)
        else:
            label = best_before(best[at], transitions, label)
        found |= label > 0
        path[at] = label
    return found


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
        first: The first word that is asked for.
        past: Past the last that is.
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
            label = 1 + np.argmax(chances[at, 1:])
            path[at] = label
        sureness[at] = chances[at, label]


@compiled
def is_sure(scores: Array) -> Int:
    """Return whether label 0 leads by so much at a word that nothing passes it."""
    return scores[1:].max() < scores[0] - _SURE_LEAD


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

    A stretch is measured from one surely outside word to the next: what lies beyond
    changes nothing that could be seen.
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
    transitions: Array,
    leads: Array,
    closed: Array,
    outside_bias: Float,
    outside_below: Float,
    path: Array,
    sureness: Array,
) -> None:
    """Write each line's best labels and their probabilities.

    Args:
        scores: Emissions, shape ``[words, labels]``; label 0's are lowered in place.
        starts: Where each line starts, and past the last.
        transitions: Scores; forbidden ones `FORBIDDEN`.
        leads: See `leads_of`.
        closed: See `closed_of`.
        outside_bias: Taken off the score of label 0 (Minkov and others 2006).
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
    steps = np.exp(transitions)
    for at in range(len(scores)):
        scores[at, 0] -= outside_bias
        path[at] = 0
        sureness[at] = 1.0
    for line in range(len(starts) - 1):
        first, last = starts[line], starts[line + 1]
        inner = scores[first:last]
        if len(inner) == 0:
            continue
        found = best_path(inner, transitions, leads, closed, best, path[first:last])
        if outside_below >= 0.0:
            marginals(inner, labels, 0, len(inner), steps, local, best)
            choose_sure(
                best[: last - first],
                outside_below,
                path[first:last],
                sureness[first:last],
            )
        elif found:
            measure(inner, steps, local, best, path[first:last], sureness[first:last])
