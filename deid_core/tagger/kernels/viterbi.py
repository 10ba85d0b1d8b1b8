"""Kernels of decoding: the best path of a line (Viterbi)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deid_core.runtime.jit import Array, Float, Int, compiled

FORBIDDEN = -1e9
"""The score of a transition that may not be: finite, as fast arithmetic wants it."""


class Transitions(NamedTuple):
    """Scores of transitions between labels, and what makes Viterbi skip most of them.

    Args:
        scores: The last row is the start of a line, shape ``[labels + 1, labels]``.
        leads: By how much each label's transitions lead label 0's at the most.
        closed: The transitions into labels that may not follow label 0, from and to,
            shape ``[transitions, 2]``.
    """

    scores: Array
    leads: Array
    closed: Array


def transitions_of(scores: Array) -> Transitions:
    """Return transitions by their scores, forbidden ones `FORBIDDEN`; read-only."""
    allowed = scores[:-1] > FORBIDDEN
    opened = scores[0] > FORBIDDEN
    leads = (scores[:-1, opened] - scores[0, opened]).max(axis=1)
    closed = np.ascontiguousarray(np.argwhere(allowed & ~allowed[0]))
    found = Transitions(scores.copy(), leads.astype(np.float32), closed)
    # Kernels know arrays that may be written from those that may not, such as those
    # of a file: all are of one kind, so that nothing is compiled twice.
    for array in found:
        array.flags.writeable = False
    return found


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
        leads: See `Transitions`.
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
def best_scores(scores: Array, transitions: Transitions, best: Array) -> None:
    """Write, for each word and label, the score of the best path that ends there.

    A label whose score is so far below label 0's that it can be best before none of the
    labels that may follow both is skipped: exact, and at most words nearly all are.

    Args:
        scores: Emissions of one line, shape ``[words, labels]``.
        transitions: Of the chain.
        best: Written, shape ``[words or more, labels]``.
    """
    size, labels = scores.shape
    steps, leads, closed = transitions
    for y in range(labels):
        best[0, y] = steps[labels, y] + scores[0, y]
    for at in range(1, size):
        outside = best[at - 1, 0]
        for y in range(labels):
            best[at, y] = steps[0, y] + outside
        if has_rival(best[at - 1], leads):
            raise_by_rivals(best[at], steps, best[at - 1], leads)
        for k in range(len(closed)):
            x, y = closed[k]
            best[at, y] = max(best[at, y], best[at - 1, x] + steps[x, y])
        for y in range(labels):
            best[at, y] += scores[at, y]


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
def best_path(scores: Array, transitions: Transitions, best: Array, path: Array) -> Int:
    """Write the best path of a line (Viterbi); return whether it leaves label 0.

    The way back is found by asking again which step was best: only on the best path,
    so that the way forward keeps no pointers.

    Args:
        scores: Emissions of the line, shape ``[words, labels]``.
        transitions: Of the chain.
        best: Working space.
        path: Written, shape ``[words]``.
    """
    size = len(scores)
    best_scores(scores, transitions, best)
    label = np.argmax(best[size - 1])
    found = label > 0
    path[size - 1] = label
    for at in range(size - 2, -1, -1):
        is_opened = transitions.scores[0, label] > FORBIDDEN
        if is_opened and not has_rival(best[at], transitions.leads):
            label = np.intp(0)
        else:
            label = best_before(best[at], transitions.scores, label)
        found |= label > 0
        path[at] = label
    return found
