"""The numeric heart of tagging, second part: the best path of a line (Viterbi)."""

from __future__ import annotations

import numpy as np

from deid_core.jit import Array, Float, Int, compiled

FORBIDDEN = -1e9
"""The score of a transition that may not be: finite, as fast arithmetic wants it."""


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
