"""Figures of a system on a split, in the classes that it tells apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from deid_core.labels import Label
from deid_core.research.corpora.corpus import Corpus
from deid_core.research.published.recipe import load_recipe
from deid_core.research.scoring.agreement import Agree, Category, agreement, exact
from deid_core.research.scoring.coverage import cover, coverage_measures
from deid_core.research.scoring.gold_and_predicted import Sides
from deid_core.research.scoring.measures import Measure
from deid_core.research.scoring.resampling import Difference, difference
from deid_core.research.scoring.scorers import Outcome

from .systems import Said

Choose = Callable[[Label], str | None]


@dataclass(frozen=True, slots=True)
class Figures:
    """Precision, recall and F1, in percent; each can be resampled."""

    precision: Measure
    recall: Measure
    f1: Measure

    @property
    def values(self) -> tuple[float, float, float]:
        """The three; 0 where there is nothing to divide by."""
        return (
            self.precision.value or 0.0,
            self.recall.value or 0.0,
            self.f1.value or 0.0,
        )

    @property
    def cells(self) -> tuple[str, str, str]:
        """The three as a table has them."""
        p, r, f = self.values
        return f"{p:.2f}", f"{r:.2f}", f"{f:.2f}"


def figures(
    corpus: Corpus,
    said: Said,
    *,
    category: Category,
    agree: Agree = exact,
    by_token: bool = False,
    of: str = "",
) -> Figures:
    """Return micro precision, recall and F1 of what was said of a corpus.

    Args:
        category: Which classes count; see `classes_of` and `CATEGORIES`.
        agree: Which pairs of spans agree.
        by_token: By token instead of by span.
        of: One class alone.
    """
    found = agreement(
        sides_of(corpus, said),
        corpus.conventions,
        agree=agree,
        category=category if not of else _only(category, of),
        by_token=by_token,
    ).measures()
    return Figures(*(replace(each, scale=100.0) for each in found[:3]))


def covered(corpus: Corpus, said: Said) -> dict[str, Measure]:
    """Return what is found whatever its class, and what is lost, by measure's name."""
    covers = [cover(each) for each in sides_of(corpus, said)]
    return {each.name: each for each in coverage_measures(covers)}


def sides_of(corpus: Corpus, said: Said) -> list[Sides]:
    """Return gold and system side by side, a pair a document."""
    return list(Outcome.of(corpus, said.predictions).sides)


def classes_of(recipe: str) -> Category:
    """Return the classes that a published system tells apart."""
    return load_recipe(recipe).classes.class_of


def significance(one: Figures, other: Figures, *, seed: int) -> Difference | None:
    """Return the difference of two systems' F1 by approximate randomisation."""
    return difference(one.f1, other.f1, seed=seed)


def _only(category: Category, of: str) -> Category:
    return lambda label: of if category(label) == of else None
