"""Words that resemble a name, by the ratio of edits that the NUS system publishes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rapidfuzz.distance import OSA


def misspelt(
    words: Mapping[str, Collection[str]], threshold: float
) -> dict[str, tuple[str, float]]:
    """Return the words that are near one of their tokens: word to (token, score).

    R = d / min(len(token), len(word)) < threshold, the score 1 - R.  Source: Ng and
    others, the NUS system, section 3.1, with one change: d counts a swap of two
    neighbouring letters once (optimal string alignment), so that "Jonh" is near "John".
    """
    nearest = (
        (word, nearest_of(tokens, word, threshold)) for word, tokens in words.items()
    )
    return {word: found for word, found in nearest if found}


def nearest_of(
    tokens: Collection[str], word: str, threshold: float
) -> tuple[str, float] | None:
    """Return the token that one word is nearest to, and the score; None if too far."""
    best: tuple[str, float] | None = None
    most = threshold * len(word)
    for token in tokens:
        # As many edits as the lengths differ by, at the least.
        if abs(len(token) - len(word)) > most:
            continue
        shorter = min(len(token), len(word))
        distance = OSA.distance(token, word, score_cutoff=int(threshold * shorter))
        score = 1.0 - distance / shorter
        if score > max(1.0 - threshold, best[1] if best else 0.0):
            best = token, score
    return best
