"""Precision, recall and F1 of spans and tokens, by label.

A mark is ``(start, end, category)``: a span, or a token inside one.  Categories are
those of i2b2's evaluation script and Stubbs and others 2015 (25 subcategories, 7 main
categories, those that HIPAA names), and tag-blind as in Deleger and others 2013.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deid_core.labels import Label
from deid_core.research.corpora.conventions import Conventions
from deid_core.research.tokenizer import Token, tokenize

from .gold_and_predicted import Comparison
from .measures import Counts, Measure

Mark = tuple[int, int, str]
Agree = Callable[[Sequence[Mark], Sequence[Mark]], Iterable[str]]
Category = Callable[[Label], str | None]
_END_SLACK = 2  # Characters; He and others, section 3.1: i2b2's "relaxed".

# HIPAA_regexes of i2b2's script, where a stray space in a pattern excludes IDNUM.  It
# counts here.
_HIPAA = frozenset(
    {
        *(Label.PATIENT, Label.AGE, Label.DATE),
        *(Label.CITY, Label.STREET, Label.ZIP, Label.ORGANIZATION),
        *(Label.PHONE, Label.FAX, Label.EMAIL),
        *(Label.SSN, Label.MEDICALRECORD, Label.HEALTHPLAN, Label.ACCOUNT),
        *(Label.LICENSE, Label.VEHICLE, Label.DEVICE, Label.BIOID, Label.IDNUM),
    }
)

CATEGORIES: Mapping[str, Category] = {
    "i2b2": lambda label: label.value,
    "main": lambda label: label.main,
    "HIPAA": lambda label: label.value if label in _HIPAA else None,
    "blind": lambda _: "PHI",
}
"""Every set of categories by its name; a label with None is left out."""


def exact(gold: Sequence[Mark], predicted: Sequence[Mark]) -> list[str]:
    """Return the category of each mark that is in both."""
    return [category for _, _, category in {*gold} & {*predicted}]


def end_within_two(gold: Sequence[Mark], predicted: Sequence[Mark]) -> list[str]:
    """Return the category of each pair with equal starts and ends at most two apart."""
    return _pairs(
        gold, predicted, lambda g, s: g[0] == s[0] and abs(g[1] - s[1]) <= _END_SLACK
    )


def overlap(gold: Sequence[Mark], predicted: Sequence[Mark]) -> list[str]:
    """Return the category of each pair that shares a character."""
    return _pairs(gold, predicted, lambda g, s: g[0] < s[1] and s[0] < g[1])


def _pairs(
    gold: Sequence[Mark], predicted: Sequence[Mark], agree: Callable[[Mark, Mark], bool]
) -> list[str]:
    """Pair marks of one category from left to right, each at most once."""
    found = []
    left = sorted(predicted)
    for mark in sorted(gold):
        partner = next((s for s in left if s[2] == mark[2] and agree(mark, s)), None)
        if partner is not None:
            left.remove(partner)
            found.append(mark[2])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Numbers of marks by document and category.

    Args:
        categories: The columns of the arrays.
        right: Marks that agree, shape ``[documents, categories]``.
        predicted: Predicted marks.
        gold: Gold marks.
    """

    categories: tuple[str, ...]
    right: Counts
    predicted: Counts
    gold: Counts

    def measures(self) -> list[Measure]:
        """Return micro P, R and F1, two macro F1, and P, R and F1 of each category."""
        double, both = 2 * self.right, self.predicted + self.gold
        measures = [
            *self._prf(slice(None)),
            Measure("macro F1 by label", double, both),
            Measure("macro F1 by document", double, both, by_document=True),
        ]
        for at, category in enumerate(self.categories):
            if both[:, at].any():
                measures += self._prf(slice(at, at + 1), category)
        return measures

    def _prf(self, at: slice, of: str = "") -> list[Measure]:
        right, predicted, gold = (
            each[:, at].sum(axis=1, keepdims=True)
            for each in (self.right, self.predicted, self.gold)
        )
        return prf(right, predicted, gold, of)


def prf(
    right: Counts, predicted: Counts, gold: Counts, of: str = "", scale: float = 1.0
) -> list[Measure]:
    """Return precision, recall and F1 of counts by document and class."""
    return [
        Measure("precision", right, predicted, of, scale),
        Measure("recall", right, gold, of, scale),
        Measure("F1", 2 * right, predicted + gold, of, scale),
    ]


def agreement(
    compared: Sequence[Comparison],
    conventions: Conventions,
    *,
    agree: Agree = exact,
    category: Category = CATEGORIES["i2b2"],
    by_token: bool = False,
) -> Agreement:
    """Return how many gold and predicted marks of each document agree.

    Args:
        compared: The documents.
        conventions: Of the corpus; predicted labels are mapped to its coarser ones.
        agree: Which pairs of marks agree.
        category: A set of `CATEGORIES`.
        by_token: Marks are tokens, each with the category of the first span on it.
    """
    found: list[tuple[list[str], list[str], list[str]]] = []
    for each in compared:
        gold, predicted = marks_of(each, conventions, category)
        if by_token:
            tokens = tokenize(each.document.text)
            gold, predicted = in_tokens(gold, tokens), in_tokens(predicted, tokens)
        found.append((list(agree(gold, predicted)), _names(predicted), _names(gold)))
    columns = tuple(dict.fromkeys(filter(None, map(category, Label))))
    right, proposed, wanted = (
        _table([row[at] for row in found], columns) for at in range(3)
    )
    return Agreement(columns, right, proposed, wanted)


def marks_of(
    compared: Comparison, conventions: Conventions, category: Category
) -> tuple[list[Mark], list[Mark]]:
    """Return the gold marks and the predicted marks of a document, each in order."""
    gold = (
        (g.span, category(g.label)) for g in compared.required if g.label is not None
    )
    predicted = (
        (a.span, category(conventions.map_label(a.label))) for a in compared.scored()
    )
    left, right = (
        sorted({(span.start, span.end, name) for span, name in side if name})
        for side in (gold, predicted)
    )
    return left, right


def in_tokens(marks: Sequence[Mark], tokens: Sequence[Token]) -> list[Mark]:
    """Return a mark for each token that a mark overlaps, with its category."""
    # Both are ordered: the tokens of a mark do not begin before those of the last one.
    found: dict[Token, str] = {}
    at = 0
    for start, end, name in marks:
        while at < len(tokens) and tokens[at].end <= start:
            at += 1
        inside = at
        while inside < len(tokens) and tokens[inside].start < end:
            found.setdefault(tokens[inside], name)
            inside += 1
    return [(token.start, token.end, name) for token, name in found.items()]


def _names(marks: Sequence[Mark]) -> list[str]:
    return [name for _, _, name in marks]


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> Counts:
    counted = map(Counter, rows)
    table = [[each[column] for column in columns] for each in counted]
    return np.array(table, dtype=np.int64).reshape(len(rows), len(columns))
