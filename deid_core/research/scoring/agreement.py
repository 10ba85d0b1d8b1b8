"""When do a gold mark and a proposed one agree?  Precision, recall and F by label.

A mark is ``(start, end, category)``: a span, or a token inside one.  Labels are put
into categories first; sources: i2b2's evaluation script and Stubbs and others 2015 (25
subcategories, 7 main ones, those that HIPAA names), Deleger and others (token, blind).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deid_core.document import Token
from deid_core.labels import Label

from ..corpora.conventions import Conventions
from ..tokenizer import tokenize
from .gold_and_predicted import Sides
from .measures import Counts, Measure

Mark = tuple[int, int, str]
Agree = Callable[[Sequence[Mark], Sequence[Mark]], Iterable[str]]
Category = Callable[[Label], str | None]
_END_SLACK = 2  # Characters; He and others, section 3.1: i2b2's "relaxed".

# HIPAA_regexes of i2b2's script, which by a stray space in a pattern never counts
# IDNUM; here it counts.
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
"""Every set of categories by its name; None leaves a label out."""


def exact(gold: Sequence[Mark], said: Sequence[Mark]) -> list[str]:
    """Return the category of each mark that both sides have."""
    return [category for _, _, category in {*gold} & {*said}]


def end_within_two(gold: Sequence[Mark], said: Sequence[Mark]) -> list[str]:
    """Return the category of each pair with one start and ends at most two apart."""
    return _pairs(
        gold, said, lambda g, s: g[0] == s[0] and abs(g[1] - s[1]) <= _END_SLACK
    )


def overlap(gold: Sequence[Mark], said: Sequence[Mark]) -> list[str]:
    """Return the category of each pair that shares a character."""
    return _pairs(gold, said, lambda g, s: g[0] < s[1] and s[0] < g[1])


def _pairs(
    gold: Sequence[Mark], said: Sequence[Mark], agree: Callable[[Mark, Mark], bool]
) -> list[str]:
    """Pair marks of one category, each at most once, from left to right."""
    found = []
    left = sorted(said)
    for mark in sorted(gold):
        partner = next((s for s in left if s[2] == mark[2] and agree(mark, s)), None)
        if partner is not None:
            left.remove(partner)
            found.append(mark[2])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """How many marks of each document agree, by category.

    Args:
        categories: The columns of the arrays.
        right: Marks on which both sides agree, shape ``[documents, categories]``.
        said: Marks that the system proposed.
        gold: Marks that it should have.
    """

    categories: tuple[str, ...]
    right: Counts
    said: Counts
    gold: Counts

    def measures(self) -> list[Measure]:
        """Return micro P, R and F1, two macro F1, and each category's P, R and F1."""
        double, both = 2 * self.right, self.said + self.gold
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
        right, said, gold = (
            each[:, at].sum(axis=1, keepdims=True)
            for each in (self.right, self.said, self.gold)
        )
        return prf(right, said, gold, of)


def prf(right: Counts, said: Counts, gold: Counts, of: str = "") -> list[Measure]:
    """Return precision, recall and F1.

    Args:
        right: Shape ``[documents, 1]``, as the others.
        said: What was proposed, the right ones among it.
        gold: What should have been.
        of: The category that they are of.
    """
    return [
        Measure("precision", right, said, of),
        Measure("recall", right, gold, of),
        Measure("F1", 2 * right, said + gold, of),
    ]


def agreement(
    sides: Sequence[Sides],
    conventions: Conventions,
    *,
    agree: Agree = exact,
    category: Category = CATEGORIES["i2b2"],
    by_token: bool = False,
) -> Agreement:
    """Return how far system and gold agree on each document.

    Args:
        sides: Of each document.
        conventions: The corpus's; proposed labels are folded into its coarser ones.
        agree: Which pairs of marks agree.
        category: A set of `CATEGORIES`.
        by_token: Marks are tokens, each with the category of the first span on it.
    """
    found: list[tuple[list[str], list[str], list[str]]] = []
    for each in sides:
        gold, said = marks_of(each, conventions, category)
        if by_token:
            tokens = tokenize(each.document.text)
            gold, said = in_tokens(gold, tokens), in_tokens(said, tokens)
        found.append((list(agree(gold, said)), _names(said), _names(gold)))
    columns = tuple(dict.fromkeys(filter(None, map(category, Label))))
    right, proposed, wanted = (
        _table([row[at] for row in found], columns) for at in range(3)
    )
    return Agreement(columns, right, proposed, wanted)


def marks_of(
    sides: Sides, conventions: Conventions, category: Category
) -> tuple[list[Mark], list[Mark]]:
    """Return the gold marks of a document and the proposed ones, each in order."""
    gold = ((g.span, category(g.label)) for g in sides.sought if g.label is not None)
    said = ((a.span, category(conventions.fold(a.label))) for a in sides.scored())
    left, right = (
        sorted({(span.start, span.end, name) for span, name in side if name})
        for side in (gold, said)
    )
    return left, right


def in_tokens(marks: Sequence[Mark], tokens: Sequence[Token]) -> list[Mark]:
    """Return a mark for each token of which a span holds a part: of the first such."""
    # Both are ordered: each mark's tokens begin where the last one's did, or later.
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
