"""MEDDOCAN's own three scores, in the definitions of its evaluation script.

Source: Marimon and others 2019, and ``classes.py`` of the task's script: subtrack 1
(offsets and type), subtrack 2 strict (offsets) and merged (spans with nothing between
them but what is neither letter nor digit are one).  Every mark counts, whatever its
type; a proposed label is called by the task's type for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from deid_core.document import Span

from ..corpora.corpus import Corpus, GoldDocument, Prediction
from .agreement import prf
from .measures import Measure, counts

Triple = tuple[int, int, int]
Compare = Callable[[Corpus, GoldDocument, Prediction], Triple]


def meddocan(
    corpus: Corpus, predictions: Sequence[Prediction], compare: Compare
) -> list[Measure]:
    """Return micro precision, recall and F1 of one of the three comparisons below."""
    pairs = zip(corpus.documents, predictions, strict=True)
    rows = [compare(corpus, gold, said) for gold, said in pairs]
    right, proposed, wanted = (counts(row[at] for row in rows) for at in range(3))
    return prf(right, proposed, wanted)


def ner_strict(corpus: Corpus, gold: GoldDocument, said: Prediction) -> Triple:
    """Return how many ``(type, start, end)`` are right, said and gold."""
    tag_of = corpus.conventions.tag_of
    wanted = {(each.tag, each.span) for each in gold.spans}
    proposed = {(a.tag or tag_of(a.label), a.span) for a in said.annotations}
    return len(wanted & proposed), len(proposed), len(wanted)


def span_strict(_: Corpus, gold: GoldDocument, said: Prediction) -> Triple:
    """Return how many ``(start, end)`` are right, said and gold."""
    wanted, proposed = _spans(gold, said)
    return len(wanted & proposed), len(proposed), len(wanted)


def span_merged(_: Corpus, gold: GoldDocument, said: Prediction) -> Triple:
    """Return how many spans are right, said and gold, where merged ones agree.

    Right are the spans that agree as they are or merged; a span inside a right one is
    neither missed nor false.
    """
    wanted, proposed = _spans(gold, said)
    right = (wanted & proposed) | (
        merged(gold.text, wanted) & merged(gold.text, proposed)
    )
    false = sum(not _is_inside(each, right) for each in proposed)
    missed = sum(not _is_inside(each, right) for each in wanted)
    return len(right), len(right) + false, len(right) + missed


def merged(text: str, spans: Collection[Span]) -> set[Span]:
    """Return the spans, joined where no letter or digit stands between two."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and not any(map(str.isalnum, text[joined[-1].end : span.start])):
            # As the script has it: the later span's end, be it the nearer one.
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return {*joined}


def _spans(gold: GoldDocument, said: Prediction) -> tuple[set[Span], set[Span]]:
    return {g.span for g in gold.spans}, {a.span for a in said.annotations}


def _is_inside(span: Span, others: Collection[Span]) -> bool:
    return any(o.start <= span.start and span.end <= o.end for o in others)
