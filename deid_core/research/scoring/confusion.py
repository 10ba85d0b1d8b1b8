"""Confusion matrices of gold and predicted categories, and Cohen's kappa.

Sources: He and others 2015, Table 7 (spans with equal offsets; a span without a partner
is missing or spurious); Cohen 1960 (kappa, by token).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deid_core.labels import Label
from deid_core.research.corpora.conventions import Conventions
from deid_core.research.tokenizer import tokenize

from .agreement import CATEGORIES, Category, in_tokens, marks_of
from .gold_and_predicted import Comparison
from .measures import Counts

NOTHING = ""
"""The category of unmarked text: a row of spurious, a column of missing marks."""
Cell = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Counts of marks by gold and predicted category.

    Args:
        categories: Of rows and columns; the last is `NOTHING`.
        counts: Shape ``[gold, predicted]``.
    """

    categories: tuple[str, ...]
    counts: Counts

    def pairs(self) -> list[tuple[Cell, int]]:
        """Return how often two categories were confused, either way, most first."""
        of_both = self.counts + self.counts.T
        size = len(self.categories) - 1
        cells = [
            ((self.categories[one], self.categories[other]), int(of_both[one, other]))
            for one in range(size)
            for other in range(one + 1, size)
            if of_both[one, other]
        ]
        return sorted(cells, key=lambda cell: (-cell[1], cell[0]))


def confusion_of_spans(
    compared: Sequence[Comparison],
    conventions: Conventions,
    category: Category = CATEGORIES["i2b2"],
) -> Confusion:
    """Return the confusion matrix of spans with equal offsets."""
    cells = Counter(
        cell for each in compared for cell in _of_spans(each, conventions, category)
    )
    return _confusion(cells, category)


def confusion_of_tokens(
    compared: Sequence[Comparison],
    conventions: Conventions,
    category: Category = CATEGORIES["i2b2"],
) -> Confusion:
    """Return the confusion matrix of tokens, with unmarked ones."""
    cells: Counter[Cell] = Counter()
    for each in compared:
        tokens = tokenize(each.document.text)
        gold, predicted = (
            {mark[:2]: mark[2] for mark in in_tokens(marks, tokens)}
            for marks in marks_of(each, conventions, category)
        )
        cells.update(
            (gold.get(place, NOTHING), predicted.get(place, NOTHING))
            for place in ((token.start, token.end) for token in tokens)
        )
    return _confusion(cells, category)


def _of_spans(
    compared: Comparison, conventions: Conventions, category: Category
) -> Iterator[Cell]:
    gold, predicted = (
        {mark[:2]: mark[2] for mark in marks}
        for marks in marks_of(compared, conventions, category)
    )
    for place in sorted({*gold, *predicted}):
        yield gold.get(place, NOTHING), predicted.get(place, NOTHING)


def _confusion(cells: Counter[Cell], category: Category) -> Confusion:
    names = (*dict.fromkeys(filter(None, map(category, Label))), NOTHING)
    table = [[cells[row, column] for column in names] for row in names]
    return Confusion(names, np.array(table, dtype=np.int64))


def cohens_kappa(confusion: Confusion) -> float | None:
    """Return (observed - chance) / (1 - chance); None where it is undefined.

    Args:
        confusion: By token.
    """
    total = float(confusion.counts.sum())
    if not total:
        return None
    observed = float(confusion.counts.trace()) / total
    rows, columns = confusion.counts.sum(axis=1), confusion.counts.sum(axis=0)
    chance = float((rows * columns).sum()) / total**2
    return None if chance == 1 else (observed - chance) / (1 - chance)
