"""Errors by class: type, extent, missing, spurious.

Source: He and others 2015, section 3.4, Tables 6 to 8, after Wellner and others 2007:
"type errors (entity is correct but type is wrong), extent errors (entity in system
output has an additional or a missing part), missing errors [...] and spurious errors".

Each gold mark that is not found as it stands is one error, by what shares a character
with it; each proposed mark that shares none with any gold mark is one more.  Where both
extent and type are wrong, which the paper gives no class, the error is of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..corpora.conventions import Conventions
from .agreement import CATEGORIES, Category, Mark, marks_of
from .gold_and_predicted import Sides


class ErrorClass(StrEnum):
    """What is wrong with a mark; extents are those of what was proposed."""

    TYPE = "type"
    SHORT = "extent, short"
    LONG = "extent, long"
    SHORT_AND_LONG = "extent, short and long"
    TYPE_AND_EXTENT = "type and extent"
    MISSING = "missing"
    SPURIOUS = "spurious"

    @property
    def is_extent(self) -> bool:
        """Whether only the extent is wrong."""
        return self in (self.SHORT, self.LONG, self.SHORT_AND_LONG)


@dataclass(frozen=True, slots=True)
class ErrorClasses:
    """How many errors of each class a system makes.

    Args:
        counts: By class and category: the gold mark's, a spurious one's own.
    """

    counts: Counter[tuple[ErrorClass, str]]

    @property
    def total(self) -> int:
        """All errors."""
        return self.counts.total()

    def of(self, kind: ErrorClass, category: str = "") -> int:
        """Return how many there are of a class, and of a category if one is named."""
        return sum(
            count
            for (its, name), count in self.counts.items()
            if its is kind and category in ("", name)
        )

    def share(self, *kinds: ErrorClass) -> float | None:
        """Return the share of some classes in all errors; None where there is none."""
        return sum(map(self.of, kinds)) / self.total if self.total else None


def error_classes(
    sides: Sequence[Sides],
    conventions: Conventions,
    category: Category = CATEGORIES["i2b2"],
) -> ErrorClasses:
    """Return the errors of a system.

    Args:
        sides: Of each document.
        conventions: The corpus's.
        category: A set of `CATEGORIES`; what it leaves out is not counted.
    """
    return ErrorClasses(
        Counter(
            error
            for each in sides
            for error in _errors(*marks_of(each, conventions, category))
        )
    )


def _errors(
    gold: Sequence[Mark], said: Sequence[Mark]
) -> Iterator[tuple[ErrorClass, str]]:
    for mark in gold:
        near = [each for each in said if _overlap(mark, each)]
        if mark not in near:
            yield _class_of(mark, near), mark[2]
    for mark in said:
        if not any(_overlap(mark, each) for each in gold):
            yield ErrorClass.SPURIOUS, mark[2]


def _overlap(one: Mark, other: Mark) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _class_of(mark: Mark, near: Sequence[Mark]) -> ErrorClass:
    if not near:
        return ErrorClass.MISSING
    start, end, category = mark
    if any(each[:2] == (start, end) for each in near):
        return ErrorClass.TYPE
    same = [each for each in near if each[2] == category]
    if not same:
        return ErrorClass.TYPE_AND_EXTENT
    exceeds = any(each[0] < start or each[1] > end for each in same)
    covered = sum(min(each[1], end) - max(each[0], start) for each in same)
    if not exceeds:
        return ErrorClass.SHORT
    return ErrorClass.LONG if covered >= end - start else ErrorClass.SHORT_AND_LONG
