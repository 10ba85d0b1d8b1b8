"""Precision, recall and F1 of systems, pooled over corpora; findings on differences.

A figure is greater than another if it is, and if a difference as large arises by chance
in fewer than one of twenty random exchanges of the documents' outputs (approximate
randomisation).  If chance explains the difference, the corpora cannot decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np

from deid_core.research.corpora.corpus import Corpus
from deid_core.research.published.recipe import load_recipe
from deid_core.research.scoring.agreement import (
    CATEGORIES,
    Agree,
    Category,
    agreement,
    exact,
    prf,
)
from deid_core.research.scoring.coverage import cover, coverage_measures
from deid_core.research.scoring.gold_and_predicted import Comparison, comparisons_of
from deid_core.research.scoring.measures import Counts, Measure, difference
from deid_core.research.scoring.tables import Table

from .report import Finding
from .systems import SystemOutput

CHANCE = 0.05
"""A difference with a smaller p is more than chance."""
BLIND = CATEGORIES["blind"]


@dataclass(frozen=True, slots=True)
class Scored:
    """A corpus and the output of a system on it."""

    corpus: Corpus
    output: SystemOutput

    @property
    def compared(self) -> list[Comparison]:
        """Gold and predicted annotations of each document."""
        return comparisons_of(self.corpus, self.output.predictions)


@dataclass(frozen=True, slots=True)
class Figures:
    """Precision, recall and F1 in percent; each can be resampled."""

    precision: Measure
    recall: Measure
    f1: Measure

    @classmethod
    def of(
        cls, right: Counts, predicted: Counts, gold: Counts, category: str = ""
    ) -> Self:
        """Return the figures of counts by document and class."""
        return cls(*prf(right, predicted, gold, category, 100.0))

    @property
    def values(self) -> tuple[float, float, float]:
        """The three values; 0 where one is undefined."""
        return (
            self.precision.value or 0.0,
            self.recall.value or 0.0,
            self.f1.value or 0.0,
        )

    @property
    def cells(self) -> tuple[str, str, str]:
        """The three values as table cells."""
        p, r, f = self.values
        return f"{p:.2f}", f"{r:.2f}", f"{f:.2f}"


def figures(
    scored: Sequence[Scored],
    *,
    category: Category,
    agree: Agree = exact,
    by_token: bool = False,
    of: str = "",
) -> Figures:
    """Return micro figures over corpora, each by its own conventions.

    Args:
        scored: The output of one system.
        category: The classes that count; see `classes_of` and `CATEGORIES`.
        agree: Which pairs of spans agree.
        by_token: By token instead of by span.
        of: One class alone.
    """
    found = [
        agreement(
            each.compared,
            each.corpus.conventions,
            agree=agree,
            category=_only(category, of) if of else category,
            by_token=by_token,
        )
        for each in scored
    ]
    right, predicted, gold = (
        np.concatenate([counts.sum(axis=1, keepdims=True) for counts in several])
        for several in (
            [each.right for each in found],
            [each.predicted for each in found],
            [each.gold for each in found],
        )
    )
    return Figures.of(right, predicted, gold)


def _only(category: Category, of: str) -> Category:
    return lambda label: of if category(label) == of else None


def gold_of(scored: Sequence[Scored], category: Category, of: str = "") -> int:
    """Return the number of gold spans, of all classes or of one."""
    return int(figures(scored, category=category, of=of).recall.whole.sum())


def coverage_of(scored: Scored) -> dict[str, Measure]:
    """Return the measures of coverage by name."""
    covers = [cover(each) for each in scored.compared]
    return {each.name: each for each in coverage_measures(covers)}


def classes_of(recipe: str) -> Category:
    """Return the classes that a published system distinguishes."""
    return load_recipe(recipe).classes.class_of


def p_of(one: Measure, other: Measure, seed: int) -> float | None:
    """Return the p of the difference of two measures; None where it is undefined."""
    found = difference(one, other, seed=seed)
    return None if found is None else found.p


def p_cell(one: Measure, other: Measure, seed: int, *, star: bool = False) -> str:
    """Return `p_of` as a table cell; a star marks more than chance."""
    p = p_of(one, other, seed)
    if p is None:
        return "-"
    return f"{p:.4f}{'*' if star and p < CHANCE else ''}"


def pairs_table(title: str, systems: Mapping[str, Figures], seed: int) -> Table:
    """Return the differences of F1 between all pairs of systems."""
    rows = []
    for (one, first), (other, second) in combinations(systems.items(), 2):
        change = second.values[2] - first.values[2]
        rows.append(
            (
                f"{one} and {other}",
                first.cells[2],
                second.cells[2],
                f"{change:+.2f}",
                p_cell(first.f1, second.f1, seed, star=True),
            )
        )
    return Table(title, ("systems", "F1", "F1", "difference", "p"), tuple(rows))


def improves(
    claim: str, source: str, seed: int, pairs: Mapping[str, tuple[Figures, Figures]]
) -> Finding:
    """Return the finding that in every pair the second F1 is significantly higher."""
    holds, words = [], []
    for name, (without, with_it) in pairs.items():
        before, after = without.values[2], with_it.values[2]
        p = p_of(without.f1, with_it.f1, seed)
        holds.append(p is not None and p < CHANCE and after > before)
        shown = "-" if p is None else f"{p:.4f}"
        words.append(f"{name} {before:.2f} to {after:.2f} (p {shown})")
    return Finding(claim, source, all(holds), f"F1: {'; '.join(words)}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a claim, and the figures that decide it.

    Args:
        holds: None where the corpora cannot decide.
    """

    holds: bool | None
    figures: str


def is_greater(one: Measure, other: Measure, *, seed: int) -> Verdict:
    """Return whether the first of two comparable measures is significantly greater."""
    found = difference(one, other, seed=seed)
    if found is None:
        return Verdict(None, "no figure")
    words = f"{found.one:.2f} and {found.other:.2f}, p {found.p:.4f}"
    return Verdict(None if found.p >= CHANCE else found.one > found.other, words)


def is_greatest(name: str, measures: Mapping[str, Measure], *, seed: int) -> Verdict:
    """Return whether one measure is significantly greater than all others."""
    return _is_first(name, measures, sign=1, seed=seed)


def is_least(name: str, measures: Mapping[str, Measure], *, seed: int) -> Verdict:
    """Return whether one measure is significantly smaller than all others."""
    return _is_first(name, measures, sign=-1, seed=seed)


def _is_first(
    name: str, measures: Mapping[str, Measure], *, sign: int, seed: int
) -> Verdict:
    others = {each: m for each, m in measures.items() if each != name}
    rival = max(others, key=lambda each: sign * (others[each].value or 0.0))
    found = is_greater(measures[name], others[rival], seed=seed)
    holds = found.holds if found.holds is None or sign > 0 else not found.holds
    return Verdict(holds, f"{name} and {rival}: {found.figures}")
