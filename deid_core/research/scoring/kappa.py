"""Cohen's kappa: how far two annotators agree beyond chance."""

from __future__ import annotations

from .confusion import Confusion


def cohens_kappa(confusion: Confusion) -> float | None:
    """Return (observed - by chance) / (1 - by chance); None where that is nothing.

    Source: Cohen 1960, A coefficient of agreement for nominal scales.

    Args:
        confusion: Of units that both sides saw, unmarked ones too: by token.
    """
    total = float(confusion.counts.sum())
    if not total:
        return None
    observed = float(confusion.counts.trace()) / total
    rows, columns = confusion.counts.sum(axis=1), confusion.counts.sum(axis=0)
    chance = float((rows * columns).sum()) / total**2
    return None if chance == 1 else (observed - chance) / (1 - chance)
