"""Coverage: which values stay readable and which words are lost, whatever the label.

A value is found when every letter and digit of all its spans is covered by annotations
of any label.  Ages under 90, years alone, the corpus's neutral tags and tags without a
label are neutral: they need not be found and may be replaced.  A word is a run without
white space that has a letter or digit.  It is falsely redacted when one of these is
covered, unless it overlaps a gold span or the annotation is neutral.  Where titles are
neutral (`Conventions`), a title inside a value need not be covered, and one next to a
gold span is not falsely redacted.  A refused document counts as if nothing were found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_core.document import Span
from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldSpan

from .gold_and_predicted import Comparison, is_title
from .measures import Counts, Measure, counts

Flags = NDArray[np.bool_]
_ADJACENT = 3  # Characters between a name and its title: ", " or ". ".


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of one document by its annotations.

    Args:
        values: The label of each required value and whether it was found.
        kinds: Each kind of each required value and whether the value was found.
        tags: The corpus's tag of each required value and whether it was found.
        missed: Gold spans that are readable.
        false_words: Falsely redacted words.
        right_words: Number of redacted words that overlap a gold span.
        words: Number of words.
        touched: Decoys of which a letter or digit is covered.
        decoys: Number of decoys.
    """

    values: tuple[tuple[Label | None, bool], ...]
    kinds: tuple[tuple[str, bool], ...]
    tags: tuple[tuple[str, bool], ...]
    missed: tuple[GoldSpan, ...]
    false_words: tuple[Span, ...]
    right_words: int
    words: int
    touched: tuple[Span, ...]
    decoys: int


def cover(compared: Comparison) -> Coverage:
    """Return the coverage of a document."""
    text, decoys = compared.document.text, compared.document.decoys
    letters = _flags(map(str.isalnum, text), len(text))
    covered = letters & _mask((a.span for a in compared.annotations), len(text))
    missed = tuple(
        each
        for each in compared.required
        if _is_readable(each, compared, letters, covered)
    )
    lost = {each.value for each in missed}
    labels = {each.value: each.label for each in compared.required}
    kinds = {each.value: each.kinds for each in compared.required}
    tags = {each.value: each.tag for each in compared.required}
    right, false, words = _words(compared, letters)
    return Coverage(
        values=tuple((label, value not in lost) for value, label in labels.items()),
        kinds=tuple((k, v not in lost) for v, each in kinds.items() for k in each),
        tags=tuple((tag, value not in lost) for value, tag in tags.items()),
        missed=missed,
        false_words=false,
        right_words=right,
        words=words,
        touched=tuple(d for d in decoys if covered[d.start : d.end].any()),
        decoys=len(decoys),
    )


def coverage_measures(covers: Sequence[Coverage]) -> list[Measure]:
    """Return recall, false words, precision by words, specificity and decoys.

    Specificity is the share of documents without a falsely redacted word among those
    that have no value to find.
    """
    right = _sum(covers, lambda c: c.right_words)
    false = _sum(covers, lambda c: len(c.false_words))
    clean = _sum(covers, lambda c: not c.values and not c.false_words)
    return [
        _recall(covers),
        Measure("false per 1,000", false, _sum(covers, lambda c: c.words), scale=1000),
        Measure("precision (words)", right, right + false),
        Measure("specificity", clean, _sum(covers, lambda c: not c.values)),
        Measure(
            "decoys touched %",
            _sum(covers, lambda c: len(c.touched)),
            _sum(covers, lambda c: c.decoys),
            scale=100,
        ),
    ]


def recall_by_label(covers: Sequence[Coverage]) -> list[Measure]:
    """Return the recall of each label, by its name."""
    labels = {label for c in covers for label, _ in c.values if label is not None}
    return [_recall(covers, label) for label in sorted(labels)]


def recall_by_kind(covers: Sequence[Coverage]) -> list[Measure]:
    """Return the recall of each kind; a value can have several kinds."""
    return _recall_by([each.kinds for each in covers])


def recall_by_tag(covers: Sequence[Coverage]) -> list[Measure]:
    """Return the recall of each tag of the corpus, by its name."""
    return _recall_by([each.tags for each in covers])


def _recall_by(groups: Sequence[Sequence[tuple[str, bool]]]) -> list[Measure]:
    measures = []
    for name in sorted({name for group in groups for name, _ in group}):
        of = [[found for its, found in group if its == name] for group in groups]
        measures.append(
            Measure("recall", counts(map(sum, of)), counts(map(len, of)), of=name)
        )
    return measures


def _recall(covers: Sequence[Coverage], label: Label | None = None) -> Measure:
    def of(cover: Coverage) -> list[bool]:
        return [found for its, found in cover.values if label in (None, its)]

    found, required = (
        _sum(covers, lambda c: sum(of(c))),
        _sum(covers, lambda c: len(of(c))),
    )
    return Measure("recall", found, required, of=label or "")


def _sum(covers: Sequence[Coverage], number: Callable[[Coverage], int]) -> Counts:
    return counts(int(number(each)) for each in covers)


def _is_readable(
    gold: GoldSpan, compared: Comparison, letters: Flags, covered: Flags
) -> bool:
    start, end = gold.span.start, gold.span.end
    needed = letters[start:end].copy()
    for word in re.finditer(r"\S+", compared.document.text[start:end]):
        if compared.titles_are_neutral and is_title(word[0]):
            needed[word.start() : word.end()] = False
    if not needed.any():
        needed = letters[start:end]
    return bool((needed & ~covered[start:end]).any())


def _words(compared: Comparison, letters: Flags) -> tuple[int, tuple[Span, ...], int]:
    """Return the number of right words, the false words, and the number of words."""
    text = compared.document.text
    size = len(text)
    blank = _flags(map(str.isspace, text), size)
    gold = _mask((each.span for each in compared.document.spans), size)
    redacted = letters & _mask((each.span for each in compared.penalized), size)
    starts = np.flatnonzero(~blank & np.append(True, blank)[:-1])
    if not starts.size:
        return 0, (), 0

    def hold(flags: Flags) -> Flags:
        return np.logical_or.reduceat(flags & ~blank, starts)

    right = int((hold(redacted) & hold(gold)).sum())
    ends = np.append(starts[1:], size)
    false = []
    for at in np.flatnonzero(hold(redacted) & ~hold(gold)):
        word = text[starts[at] : ends[at]].rstrip()
        span = Span(int(starts[at]), int(starts[at]) + len(word))
        is_neutral = compared.titles_are_neutral and is_title(word)
        if not (is_neutral and _is_adjacent(span, gold)):
            false.append(span)
    return right, tuple(false), int(hold(letters).sum())


def _is_adjacent(span: Span, gold: Flags) -> bool:
    before = gold[max(span.start - _ADJACENT, 0) : span.start]
    return bool(before.any() or gold[span.end : span.end + _ADJACENT].any())


def _mask(spans: Iterable[Span], size: int) -> Flags:
    mask = np.zeros(size, dtype=bool)
    for span in spans:
        mask[span.start : span.end] = True
    return mask


def _flags(values: Iterable[bool], size: int) -> Flags:
    return np.fromiter(values, dtype=bool, count=size)
