"""The three scores of MEDDOCAN, as its evaluation script defines them.

Source: Marimon and others 2019, and ``classes.py`` of the task's script: subtrack 1
(offsets and type), subtrack 2 strict (offsets) and merged (spans without a letter or
digit between them are one).  Every mark counts, whatever its type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from deid_core.document import Span
from deid_core.research.corpora.corpus import Corpus, GoldDocument, Prediction

from .agreement import prf
from .measures import Measure, counts

Triple = tuple[int, int, int]
Compare = Callable[[Corpus, GoldDocument, Prediction], Triple]


def meddocan(
    corpus: Corpus, predictions: Sequence[Prediction], compare: Compare
) -> list[Measure]:
    """Return micro precision, recall and F1 by one of the three comparisons below."""
    pairs = zip(corpus.documents, predictions, strict=True)
    rows = [compare(corpus, gold, predicted) for gold, predicted in pairs]
    right, proposed, wanted = (counts(row[at] for row in rows) for at in range(3))
    return prf(right, proposed, wanted)


def ner_strict(corpus: Corpus, gold: GoldDocument, predicted: Prediction) -> Triple:
    """Return the numbers of right, predicted and gold ``(type, start, end)``."""
    tag_of = corpus.conventions.tag_of
    wanted = {(each.tag, each.span) for each in gold.spans}
    proposed = {(a.tag or tag_of(a.label), a.span) for a in predicted.annotations}
    return len(wanted & proposed), len(proposed), len(wanted)


def span_strict(_: Corpus, gold: GoldDocument, predicted: Prediction) -> Triple:
    """Return the numbers of right, predicted and gold ``(start, end)``."""
    wanted, proposed = _spans(gold, predicted)
    return len(wanted & proposed), len(proposed), len(wanted)


def span_merged(_: Corpus, gold: GoldDocument, predicted: Prediction) -> Triple:
    """Return the numbers of right, predicted and gold spans, merged ones included.

    Spans are right that agree as they are or merged.  A span inside a right one is
    neither missing nor false.
    """
    wanted, proposed = _spans(gold, predicted)
    right = (wanted & proposed) | (
        merged(gold.text, wanted) & merged(gold.text, proposed)
    )
    false = sum(not _is_inside(each, right) for each in proposed)
    missed = sum(not _is_inside(each, right) for each in wanted)
    return len(right), len(right) + false, len(right) + missed


def merged(text: str, spans: Collection[Span]) -> set[Span]:
    """Return the spans, joined where no letter or digit is between two."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and not any(map(str.isalnum, text[joined[-1].end : span.start])):
            # As in the script: the end of the later span, even if it is smaller.
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return {*joined}


def _spans(gold: GoldDocument, predicted: Prediction) -> tuple[set[Span], set[Span]]:
    return {g.span for g in gold.spans}, {a.span for a in predicted.annotations}


def _is_inside(span: Span, others: Collection[Span]) -> bool:
    return any(o.start <= span.start and span.end <= o.end for o in others)
