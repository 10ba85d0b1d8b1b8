"""Words that resemble a name, by the ratio of edits that the NUS system publishes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA


def misspelt(
    tokens: tuple[str, ...], words: Collection[str], threshold: float
) -> dict[str, tuple[str, float]]:
    """Return the words that are near a token: word to (token, score).

    R = d / min(len(token), len(word)) < threshold, the score 1 - R.  Source: Ng and
    others, the NUS system, section 3.1, with one change: d counts a swap of two
    neighbouring letters once (optimal string alignment), so that "Jonh" is near "John".
    """
    if not tokens or not words:
        return {}
    forms = list(words)
    # d < threshold * len(token) follows from the definition and leaves few pairs.
    limits = np.array([threshold * len(token) for token in tokens])
    distances = process.cdist(
        tokens,
        forms,
        scorer=OSA.distance,
        score_cutoff=int(limits.max()),
        dtype=np.uint8,
    )
    nearest: dict[str, tuple[str, float]] = {}
    rows, columns = (distances < limits[:, None]).nonzero()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        token, form = tokens[row], forms[column]
        score = 1.0 - int(distances[row, column]) / min(len(token), len(form))
        if score > max(1.0 - threshold, nearest.get(form, ("", 0.0))[1]):
            nearest[form] = token, score
    return nearest


def nearest_of(
    tokens: Collection[str], word: str, threshold: float
) -> tuple[str, float] | None:
    """Return the token that one word is nearest to, and the score; None if too far."""
    best: tuple[str, float] | None = None
    for token in tokens:
        shorter = min(len(token), len(word))
        distance = OSA.distance(token, word, score_cutoff=int(threshold * shorter))
        score = 1.0 - distance / shorter
        if score > max(1.0 - threshold, best[1] if best else 0.0):
            best = token, score
    return best
