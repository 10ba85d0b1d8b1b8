"""Errors by class (type, extent, missing, spurious), and errors in their context.

Source of the classes: He and others 2015, section 3.4, Tables 6 to 8, after Wellner and
others 2007: "type errors (entity is correct but type is wrong), extent errors (entity
in system output has an additional or a missing part), missing errors [...] and spurious
errors".

Each gold mark without an equal predicted mark is one error, classified by the marks
that overlap it.  Each predicted mark that overlaps no gold mark is one more.  The paper
has no class for a mark with a wrong extent and a wrong type; here it has its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from deid_core.document import Span
from deid_core.research.corpora.conventions import Conventions
from deid_core.research.corpora.corpus import Corpus, Prediction

from .agreement import CATEGORIES, Category, Mark, marks_of
from .coverage import Coverage, cover
from .gold_and_predicted import Comparison, comparisons_of

_CONTEXT = 40


class ErrorClass(StrEnum):
    """The class of error of a mark; extents are those of the predicted mark."""

    TYPE = "type"
    SHORT = "extent, short"
    LONG = "extent, long"
    SHORT_AND_LONG = "extent, short and long"
    TYPE_AND_EXTENT = "type and extent"
    MISSING = "missing"
    SPURIOUS = "spurious"


@dataclass(frozen=True, slots=True)
class ErrorClasses:
    """Numbers of errors.

    Args:
        counts: By class and category: the gold mark's, or that of a spurious mark.
    """

    counts: Counter[tuple[ErrorClass, str]]

    @property
    def total(self) -> int:
        """Number of all errors."""
        return self.counts.total()

    def of(self, kind: ErrorClass, category: str = "") -> int:
        """Return the number of errors of a class, in one category or in all."""
        return sum(
            count
            for (its, name), count in self.counts.items()
            if its is kind and category in ("", name)
        )

    def share(self, *kinds: ErrorClass) -> float | None:
        """Return the share of some classes in all errors; None without errors."""
        return sum(map(self.of, kinds)) / self.total if self.total else None


def error_classes(
    compared: Sequence[Comparison],
    conventions: Conventions,
    category: Category = CATEGORIES["i2b2"],
) -> ErrorClasses:
    """Return the errors of a system by class and category."""
    return ErrorClasses(
        Counter(
            error
            for each in compared
            for error in _errors(*marks_of(each, conventions, category))
        )
    )


def _errors(
    gold: Sequence[Mark], predicted: Sequence[Mark]
) -> Iterator[tuple[ErrorClass, str]]:
    for mark in gold:
        near = [each for each in predicted if _overlap(mark, each)]
        if mark not in near:
            yield _class_of(mark, near), mark[2]
    for mark in predicted:
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


@dataclass(frozen=True, slots=True)
class ErrorInContext:
    """One error, with text of the corpus.

    Args:
        kind: ``missed``, ``false`` or ``decoy``.
        place: The document and the span.
        tag: The corpus's tag of a missed span.
    """

    kind: str
    place: str = field(repr=False)
    tag: str
    before: str = field(repr=False)
    inner: str = field(repr=False)
    after: str = field(repr=False)


def errors_in_context(
    corpus: Corpus, predictions: Sequence[Prediction]
) -> Iterator[ErrorInContext]:
    """Yield missed spans, then falsely redacted words, then touched decoys."""
    covers = [cover(each) for each in comparisons_of(corpus, predictions)]
    for kind in ("missed", "false", "decoy"):
        for document, coverage in zip(corpus.documents, covers, strict=True):
            text = document.text
            for span, tag in _spans(kind, coverage):
                yield ErrorInContext(
                    kind,
                    f"{document.id} [{span.start}, {span.end})",
                    tag,
                    text[max(span.start - _CONTEXT, 0) : span.start],
                    text[span.start : span.end],
                    text[span.end : span.end + _CONTEXT],
                )


def _spans(kind: str, coverage: Coverage) -> list[tuple[Span, str]]:
    if kind == "missed":
        return [(each.span, each.tag) for each in coverage.missed]
    spans = coverage.false_words if kind == "false" else coverage.touched
    return [(span, "") for span in spans]
