"""Every scorer by its name: what a system's predictions are worth on a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..corpora.corpus import Corpus, Prediction
from . import meddocan
from .agreement import CATEGORIES, Agree, agreement, end_within_two, exact, overlap
from .coverage import cover, coverage_measures, recall_by_kind, recall_by_label
from .gold_and_predicted import Sides, sides_of
from .measures import Measure


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a system said of a corpus.

    Args:
        predictions: One a document, in order.
        sides: The same, without what is neutral.
    """

    corpus: Corpus
    predictions: Sequence[Prediction]
    sides: Sequence[Sides]

    @classmethod
    def of(cls, corpus: Corpus, predictions: Sequence[Prediction]) -> Outcome:
        """Return the outcome of the predictions."""
        return cls(corpus, predictions, sides_of(corpus, predictions))


Scorer = Callable[[Outcome], list[Measure]]


def _coverage(outcome: Outcome) -> list[Measure]:
    covers = [cover(each) for each in outcome.sides]
    return [*coverage_measures(covers), *recall_by_label(covers)]


def _kinds(outcome: Outcome) -> list[Measure]:
    return recall_by_kind([cover(each) for each in outcome.sides])


def _spans(agree: Agree, categories: str = "i2b2") -> Scorer:
    def score(outcome: Outcome) -> list[Measure]:
        return agreement(
            outcome.sides,
            outcome.corpus.conventions,
            agree=agree,
            category=CATEGORIES[categories],
        ).measures()

    return score


def _tokens(categories: str = "i2b2") -> Scorer:
    def score(outcome: Outcome) -> list[Measure]:
        return agreement(
            outcome.sides,
            outcome.corpus.conventions,
            category=CATEGORIES[categories],
            by_token=True,
        ).measures()

    return score


def _meddocan(compare: meddocan.Compare) -> Scorer:
    def score(outcome: Outcome) -> list[Measure]:
        return meddocan.meddocan(outcome.corpus, outcome.predictions, compare)

    return score


SCORERS: Mapping[str, Scorer] = {
    "coverage": _coverage,
    "coverage by kind": _kinds,
    "span strict": _spans(exact),
    "span relaxed": _spans(end_within_two),
    "span overlap": _spans(overlap),
    "span strict, main": _spans(exact, "main"),
    "span strict, HIPAA": _spans(exact, "HIPAA"),
    "span strict, blind": _spans(exact, "blind"),
    "span overlap, blind": _spans(overlap, "blind"),
    "token": _tokens(),
    "token, main": _tokens("main"),
    "token, HIPAA": _tokens("HIPAA"),
    "token, blind": _tokens("blind"),
    "MEDDOCAN NER strict": _meddocan(meddocan.ner_strict),
    "MEDDOCAN span strict": _meddocan(meddocan.span_strict),
    "MEDDOCAN span merged": _meddocan(meddocan.span_merged),
}


def scorers_for(corpus: Corpus) -> list[str]:
    """Return the scorers that a corpus asks for.

    A task's own are for its corpus; kinds are scored where a corpus tells them.
    """
    has_kinds = any(s.kinds for d in corpus.documents for s in d.spans)
    return [
        name
        for name in SCORERS
        if (not name.startswith("MEDDOCAN") or corpus.conventions.name == "meddocan")
        and (name != "coverage by kind" or has_kinds)
    ]
