"""Does a finding hold?  By figures and chance, under one rule for all of them.

A figure is greater than another when it is, and a difference as large arises by chance
in fewer than one of twenty exchanges of the documents' outputs (approximate
randomisation); when chance explains it, the corpora can't tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deid_core.research.scoring.measures import Measure
from deid_core.research.scoring.resampling import difference

CHANCE = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something holds, and by which figures.

    Args:
        holds: None where chance explains the difference, or there is no figure.
    """

    holds: bool | None
    figures: str


def is_greater(one: Measure, other: Measure, *, seed: int) -> Verdict:
    """Return whether the first figure is greater by more than chance.

    Args:
        one: Of the same documents as the other.
        other: The same measure of another system.
        seed: Of the exchanges.
    """
    found = difference(one, other, seed=seed)
    if found is None:
        return Verdict(None, "no figure")
    words = f"{found.one:.2f} and {found.other:.2f}, p {found.p:.4f}"
    return Verdict(None if found.p >= CHANCE else found.one > found.other, words)


def is_greatest(name: str, measures: Mapping[str, Measure], *, seed: int) -> Verdict:
    """Return whether one figure is the greatest of all by more than chance."""
    return _is_first(name, measures, sign=1, seed=seed)


def is_least(name: str, measures: Mapping[str, Measure], *, seed: int) -> Verdict:
    """Return whether one figure is the least of all by more than chance."""
    return _is_first(name, measures, sign=-1, seed=seed)


def _is_first(
    name: str, measures: Mapping[str, Measure], *, sign: int, seed: int
) -> Verdict:
    others = {each: m for each, m in measures.items() if each != name}
    rival = max(others, key=lambda each: sign * (others[each].value or 0.0))
    found = is_greater(measures[name], others[rival], seed=seed)
    holds = found.holds if found.holds is None or sign > 0 else not found.holds
    return Verdict(holds, f"{name} and {rival}: {found.figures}")
