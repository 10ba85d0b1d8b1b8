"""Kernels of rescoring: the best paths of a line, not only the very best."""

from __future__ import annotations

import numpy as np

from deid_core.runtime.jit import Array, Float, Int, compiled

from .viterbi import FORBIDDEN, Transitions, best_scores

_NONE = np.float32(-1e30)
_ALLOWED = FORBIDDEN / 2


@compiled
def mark_alive(
    scores: Array, transitions: Array, best: Array, gap: Float, alive: Array
) -> Int:
    """Mark the labels that lie on a path little worse than the best one.

    Only what follows on such paths is looked at on the way back, so that a sure word
    costs next to nothing.

    Args:
        scores: Emissions of one line, shape ``[words, labels]``.
        transitions: The last row is the start, shape ``[labels + 1, labels]``.
        best: As `best_scores` wrote it.
        gap: How much worse a path may be.
        alive: Written, shape ``[words or more, labels]``.

    Returns:
        Whether there is more than one such path.
    """
    size, labels = scores.shape
    least = best[size - 1].max() - gap
    after = np.zeros(labels, dtype=np.float32)
    onward = np.zeros(labels, dtype=np.float32)
    several = False
    for at in range(size - 1, -1, -1):
        count = 0
        for y in range(labels):
            alive[at, y] = best[at, y] + after[y] >= least
            count += alive[at, y]
        several |= count > 1
        if at > 0:
            onward[:] = _NONE
            for y in range(labels):
                if alive[at, y]:
                    ahead = scores[at, y] + after[y]
                    for x in range(labels):
                        onward[x] = max(onward[x], transitions[x, y] + ahead)
            after[:] = onward
    return several


@compiled
def unsure_lines(
    scores: Array,
    starts: Array,
    transitions: Transitions,
    gap: Float,
    unsure: Array,
) -> None:
    """Write which lines have more than one path within a gap of the best one.

    Args:
        scores: Emissions of all lines, shape ``[words, labels]``.
        starts: Where each line starts, and past the last.
        transitions: Of the chain.
        gap: See `mark_alive`.
        unsure: Written, shape ``[lines]``.
    """
    longest = 1
    for line in range(len(starts) - 1):
        longest = max(longest, starts[line + 1] - starts[line])
    best = np.empty((longest, scores.shape[1]), dtype=np.float32)
    alive = np.empty(best.shape, dtype=np.bool_)
    for line in range(len(starts) - 1):
        inner = scores[starts[line] : starts[line + 1]]
        unsure[line] = False
        if len(inner) > 0:
            best_scores(inner, transitions, best)
            unsure[line] = mark_alive(inner, transitions.scores, best, gap, alive)


@compiled
def keep(
    score: Float, y: Int, rank: Int, held: Array, before: Array, ranks: Array
) -> None:
    """Put a path where it belongs among those held, best first; drop the last."""
    at = len(held) - 1
    if score <= held[at]:
        return
    while at > 0 and held[at - 1] < score:
        held[at], before[at], ranks[at] = held[at - 1], before[at - 1], ranks[at - 1]
        at -= 1
    held[at], before[at], ranks[at] = score, y, rank


@compiled
def extend(
    paths: Array, step: Float, x: Int, held: Array, before: Array, ranks: Array
) -> None:
    """Put the paths to one label, each a step longer, among those to the next."""
    for rank in range(len(paths)):
        score = paths[rank] + step
        if score <= held[len(held) - 1]:
            break
        keep(score, x, rank, held, before, ranks)


@compiled
def best_paths(
    scores: Array,
    transitions: Transitions,
    gap: Float,
    totals: Array,
    paths: Array,
) -> Int:
    """Write the best paths of a line, best first; return how many there are.

    Args:
        scores: Emissions of one line, shape ``[words, labels]``.
        transitions: Of the chain.
        gap: How much worse than the best one a path may be.
        totals: Written: each path's score, shape ``[most]``.
        paths: Written, shape ``[most, words]``.
    """
    size, labels = scores.shape
    steps, most = transitions.scores, len(totals)
    totals[:] = _NONE
    best = np.empty((size, labels), dtype=np.float32)
    alive = np.empty((size, labels), dtype=np.bool_)
    best_scores(scores, transitions, best)
    mark_alive(scores, steps, best, gap, alive)
    held = np.full((size, labels, most), _NONE, dtype=np.float32)
    before = np.zeros((size, labels, most), dtype=np.int8)
    ranks = np.zeros((size, labels, most), dtype=np.int16)
    for y in range(labels):
        if alive[0, y]:
            held[0, y, 0] = steps[labels, y] + scores[0, y]
    for at in range(1, size):
        for y in range(labels):
            if alive[at, y]:
                for x in range(labels):
                    if alive[at - 1, x] and steps[x, y] > _ALLOWED:
                        step = steps[x, y] + scores[at, y]
                        extend(
                            held[at - 1, x],
                            step,
                            x,
                            held[at, y],
                            before[at, y],
                            ranks[at, y],
                        )
    return trace(held, before, ranks, gap, totals, paths)


@compiled
def trace(
    held: Array, before: Array, ranks: Array, gap: Float, totals: Array, paths: Array
) -> Int:
    """Write the paths that are held at a line's last word; return how many.

    Args:
        held: Scores of the best paths to each label, ``[words, labels, most]``.
        before: The label before, of the same shape.
        ranks: Which of that label's paths it was, of the same shape.
        gap: See `best_paths`.
        totals: See `best_paths`.
        paths: See `best_paths`.
    """
    size, labels, most = held.shape
    last = np.zeros(most, dtype=np.int8)
    last_ranks = np.zeros(most, dtype=np.int16)
    for y in range(labels):
        for rank in range(most):
            keep(held[size - 1, y, rank], y, rank, totals, last, last_ranks)
    count = 0
    while count < most and totals[count] >= totals[0] - gap:
        label, rank = last[count], last_ranks[count]
        for at in range(size - 1, -1, -1):
            paths[count, at] = label
            label, rank = before[at, label, rank], ranks[at, label, rank]
        count += 1
    return count
