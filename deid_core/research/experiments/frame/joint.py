"""Figures over several corpora at once, and differences that are more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from deid_core.research.corpora.corpus import Corpus
from deid_core.research.scoring.agreement import CATEGORIES, Agree, Category, exact
from deid_core.research.scoring.measures import Measure
from deid_core.research.scoring.tables import Table

from .report import Finding
from .scores import Figures, figures, significance
from .systems import Said

CHANCE = 0.05
"""A difference with a p below it is more than chance."""
BLIND = CATEGORIES["blind"]


@dataclass(frozen=True, slots=True)
class Scored:
    """A corpus, and what a system said of it."""

    corpus: Corpus
    said: Said


def joint(
    several: Sequence[Scored],
    *,
    category: Category,
    agree: Agree = exact,
    by_token: bool = False,
    of: str = "",
) -> Figures:
    """Return micro figures over several corpora, each by its own conventions.

    Args:
        several: Of one system; the other arguments are those of `figures`.
    """
    found = [
        figures(
            each.corpus,
            each.said,
            category=category,
            agree=agree,
            by_token=by_token,
            of=of,
        )
        for each in several
    ]
    return Figures(
        _stacked([each.precision for each in found]),
        _stacked([each.recall for each in found]),
        _stacked([each.f1 for each in found]),
    )


def gold_of(several: Sequence[Scored], category: Category, of: str = "") -> int:
    """Return how many spans there are to be found, of all classes or of one."""
    return int(joint(several, category=category, of=of).recall.whole.sum())


def _stacked(measures: Sequence[Measure]) -> Measure:
    return replace(
        measures[0],
        part=np.concatenate([each.part for each in measures]),
        whole=np.concatenate([each.whole for each in measures]),
    )


def p_of(one: Figures, other: Figures, seed: int) -> float | None:
    """Return how often chance gives as large a difference of F1; None without any."""
    found = significance(one, other, seed=seed)
    return None if found is None else found.p


def p_cell(one: Figures, other: Figures, seed: int) -> str:
    """Return `p_of` as a table has it, a star where it is more than chance."""
    p = p_of(one, other, seed)
    return "-" if p is None else f"{p:.4f}{'*' if p < CHANCE else ''}"


def pairs_table(title: str, systems: dict[str, Figures], seed: int) -> Table:
    """Return the differences of F1 between all pairs of systems."""
    rows = tuple(_pair(one, other, systems, seed) for one, other in _pairs(systems))
    return Table(title, ("systems", "F1", "F1", "difference", "p"), rows)


def _pairs(systems: dict[str, Figures]) -> Iterator[tuple[str, str]]:
    return combinations(systems, 2)


def _pair(
    one: str, other: str, systems: dict[str, Figures], seed: int
) -> tuple[str, ...]:
    first, second = systems[one], systems[other]
    change = second.values[2] - first.values[2]
    return (
        f"{one} and {other}",
        first.cells[2],
        second.cells[2],
        f"{change:+.2f}",
        p_cell(first, second, seed),
    )


def better(
    claim: str, source: str, seed: int, pairs: dict[str, tuple[Figures, Figures]]
) -> Finding:
    """Return a finding: in every pair, the second's F1 is higher, beyond chance.

    Args:
        claim: What holds if so.
        source: Whose claim it is.
        seed: Of the shuffles.
        pairs: By what they are of, the figures without and with.
    """
    holds, words = [], []
    for name, (without, with_it) in pairs.items():
        before, after = without.values[2], with_it.values[2]
        p = p_of(without, with_it, seed)
        holds.append(p is not None and p < CHANCE and after > before)
        shown = "-" if p is None else f"{p:.4f}"
        words.append(f"{name} {before:.2f} to {after:.2f} (p {shown})")
    return Finding(claim, source, all(holds), f"F1: {'; '.join(words)}")
