"""What is taken for what: a matrix of gold categories by proposed ones.

Source: He and others 2015, Table 7 (spans of one extent; what has no partner is missing
or spurious).  By token, the matrix is what Cohen's kappa is counted from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deid_core.labels import Label

from ..corpora.conventions import Conventions
from ..tokenizer import tokenize
from .agreement import CATEGORIES, Category, in_tokens, marks_of
from .gold_and_predicted import Sides
from .measures import Counts

NOTHING = ""
"""The category of what is not marked: spurious in a row, missing in a column."""
Cell = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Counts of marks by what they are and what they are taken for.

    Args:
        categories: Of rows and columns; the last is `NOTHING`.
        counts: Shape ``[gold, said]``.
    """

    categories: tuple[str, ...]
    counts: Counts

    def pairs(self) -> list[tuple[Cell, int]]:
        """Return how often two categories were taken for each other, most first."""
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
    sides: Sequence[Sides],
    conventions: Conventions,
    category: Category = CATEGORIES["i2b2"],
) -> Confusion:
    """Return how spans of one extent are categorised by both sides.

    Args:
        sides: Of each document.
        conventions: The corpus's.
        category: A set of `CATEGORIES`; what it leaves out is not counted.
    """
    cells = Counter(
        cell for each in sides for cell in _of_spans(each, conventions, category)
    )
    return _confusion(cells, category)


def confusion_of_tokens(
    sides: Sequence[Sides],
    conventions: Conventions,
    category: Category = CATEGORIES["i2b2"],
) -> Confusion:
    """Return how tokens are categorised by both sides, unmarked ones too."""
    cells: Counter[Cell] = Counter()
    for each in sides:
        tokens = tokenize(each.document.text)
        gold, said = (
            {mark[:2]: mark[2] for mark in in_tokens(marks, tokens)}
            for marks in marks_of(each, conventions, category)
        )
        cells.update(
            (gold.get(place, NOTHING), said.get(place, NOTHING))
            for place in ((token.start, token.end) for token in tokens)
        )
    return _confusion(cells, category)


def _of_spans(
    sides: Sides, conventions: Conventions, category: Category
) -> Iterator[Cell]:
    gold, said = (
        {mark[:2]: mark[2] for mark in marks}
        for marks in marks_of(sides, conventions, category)
    )
    for place in sorted({*gold, *said}):
        yield gold.get(place, NOTHING), said.get(place, NOTHING)


def _confusion(cells: Counter[Cell], category: Category) -> Confusion:
    names = (*dict.fromkeys(filter(None, map(category, Label))), NOTHING)
    table = [[cells[row, column] for column in names] for row in names]
    return Confusion(names, np.array(table, dtype=np.int64))
