"""Evaluate a system on a corpus: every scorer's measures with confidence intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deid_core.research.corpora.conventions import PLAIN
from deid_core.research.corpora.corpus import Corpus, Prediction

from . import meddocan
from .agreement import CATEGORIES, Agree, agreement, end_within_two, exact, overlap
from .confusion import Confusion, confusion_of_spans
from .coverage import (
    cover,
    coverage_measures,
    recall_by_kind,
    recall_by_label,
    recall_by_tag,
)
from .errors import ErrorClasses, error_classes
from .gold_and_predicted import Comparison, comparisons_of
from .measures import Difference, Interval, Measure, difference, intervals

HEADLINE = (
    ("coverage", "recall"),
    ("coverage", "false per 1,000"),
    ("coverage", "specificity"),
    ("coverage", "decoys touched %"),
    ("span strict", "F1"),
    ("span strict, blind", "F1"),
    ("token", "F1"),
    ("MEDDOCAN NER strict", "F1"),
    ("MEDDOCAN span strict", "F1"),
    ("MEDDOCAN span merged", "F1"),
)
"""The measures by which two systems are compared, with their scorers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A system's predictions for a corpus.

    Args:
        corpus: The gold documents.
        predictions: One per document, in order.
        compared: The same, without what is neutral.
    """

    corpus: Corpus
    predictions: Sequence[Prediction]
    compared: Sequence[Comparison]

    @classmethod
    def of(cls, corpus: Corpus, predictions: Sequence[Prediction]) -> Outcome:
        """Return the outcome of the predictions."""
        return cls(corpus, predictions, comparisons_of(corpus, predictions))


Scorer = Callable[[Outcome], list[Measure]]


def _coverage(outcome: Outcome) -> list[Measure]:
    covers = [cover(each) for each in outcome.compared]
    return [*coverage_measures(covers), *recall_by_label(covers)]


def _kinds(outcome: Outcome) -> list[Measure]:
    return recall_by_kind([cover(each) for each in outcome.compared])


def _tags(outcome: Outcome) -> list[Measure]:
    return recall_by_tag([cover(each) for each in outcome.compared])


def _agreement(
    agree: Agree = exact, categories: str = "i2b2", *, by_token: bool = False
) -> Scorer:
    def score(outcome: Outcome) -> list[Measure]:
        return agreement(
            outcome.compared,
            outcome.corpus.conventions,
            agree=agree,
            category=CATEGORIES[categories],
            by_token=by_token,
        ).measures()

    return score


def _meddocan(compare: meddocan.Compare) -> Scorer:
    return lambda it: meddocan.meddocan(it.corpus, it.predictions, compare)


SCORERS: Mapping[str, Scorer] = {
    "coverage": _coverage,
    "coverage by kind": _kinds,
    "coverage by tag": _tags,
    "span strict": _agreement(exact),
    "span relaxed": _agreement(end_within_two),
    "span overlap": _agreement(overlap),
    "span strict, main": _agreement(exact, "main"),
    "span strict, HIPAA": _agreement(exact, "HIPAA"),
    "span strict, blind": _agreement(exact, "blind"),
    "span overlap, blind": _agreement(overlap, "blind"),
    "token": _agreement(by_token=True),
    "token, main": _agreement(categories="main", by_token=True),
    "token, HIPAA": _agreement(categories="HIPAA", by_token=True),
    "token, blind": _agreement(categories="blind", by_token=True),
    "MEDDOCAN NER strict": _meddocan(meddocan.ner_strict),
    "MEDDOCAN span strict": _meddocan(meddocan.span_strict),
    "MEDDOCAN span merged": _meddocan(meddocan.span_merged),
}


def scorers_for(corpus: Corpus) -> list[str]:
    """Return the scorers of a corpus.

    MEDDOCAN's are for its corpus alone.  Kinds are scored where a corpus has them, tags
    where several are scored as one label.
    """
    labels = [given[0] for given in corpus.conventions.tags.values() if given]
    has_finer_tags = len({*labels}) < len(labels) and corpus.conventions.name != PLAIN
    has_kinds = any(s.kinds for d in corpus.documents for s in d.spans)
    return [
        name
        for name in SCORERS
        if (not name.startswith("MEDDOCAN") or corpus.conventions.name == "meddocan")
        and (name != "coverage by kind" or has_kinds)
        and (name != "coverage by tag" or has_finer_tags)
    ]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of a system on a corpus.

    Args:
        system: The preset's name.
        corpus: Its name and part: ``aci-bench dev 1-43``.
        case: The letter case of the texts; a name in `CASES`.
        documents: Number of scored documents.
        refused: Number of refused documents by reason.
        unscored: Number of spans by tag without a label.
        scores: Measures by scorer.
        confidence: Intervals by scorer and measure, of all labels together.
        errors: Strict errors by class; He and others 2015, Tables 6 and 8.
        confusion: Confusion of spans; He and others 2015, Table 7.
        against: Name of another system and the differences to it; empty without one.
    """

    system: str
    corpus: str
    case: str
    documents: int
    refused: Mapping[str, int]
    unscored: Mapping[str, int]
    scores: Mapping[str, Sequence[Measure]]
    confidence: Mapping[tuple[str, str], Interval | None] = field(default_factory=dict)
    errors: ErrorClasses | None = None
    confusion: Confusion | None = None
    against: tuple[str, Mapping[tuple[str, str], Difference]] = ("", {})

    @property
    def title(self) -> str:
        """System, corpus and size on one line."""
        case = "" if self.case == "as-is" else f", {self.case} case"
        refused = f", {sum(self.refused.values())} refused" if self.refused else ""
        counted = f"{self.documents} documents{refused}"
        return f"{self.system} on {self.corpus}{case}, {counted}"

    def measure(self, scorer: str, name: str, of: str = "") -> Measure | None:
        """Return one measure of a scorer, or None."""
        measures = self.scores.get(scorer, ())
        return next((m for m in measures if (m.name, m.of) == (name, of)), None)


def evaluate(
    corpus: Corpus,
    predictions: Sequence[Prediction],
    *,
    system: str,
    case: str = "as-is",
    seed: int = 0,
) -> Evaluation:
    """Return the evaluation of a system's predictions for a corpus.

    Args:
        corpus: The gold documents.
        predictions: One per document, in order.
        system: The system's name, for titles.
        case: The letter case of the corpus, for titles.
        seed: Of the intervals.
    """
    outcome = Outcome.of(corpus, predictions)
    scores = {name: SCORERS[name](outcome) for name in scorers_for(corpus)}
    overall = [(n, m) for n, measures in scores.items() for m in measures if not m.of]
    bounds = intervals([measure for _, measure in overall], seed=seed)
    return Evaluation(
        system=system,
        corpus=f"{corpus.name} {corpus.part}",
        case=case,
        documents=len(corpus.documents),
        refused=Counter(each.refusal for each in predictions if each.refusal),
        unscored=_unscored(corpus),
        scores=scores,
        confidence={
            (scorer, measure.name): found
            for (scorer, measure), found in zip(overall, bounds, strict=True)
        },
        errors=error_classes(outcome.compared, corpus.conventions),
        confusion=confusion_of_spans(outcome.compared, corpus.conventions),
    )


def compare(
    one: Evaluation, other: Evaluation, *, seed: int = 0
) -> Mapping[tuple[str, str], Difference]:
    """Return the headline differences between two systems on the same documents."""
    found = {}
    for scorer, name in HEADLINE:
        mine, others = one.measure(scorer, name), other.measure(scorer, name)
        if mine is not None and others is not None:
            between = difference(mine, others, seed=seed)
            if between is not None:
                found[scorer, name] = between
    return found


def _unscored(corpus: Corpus) -> Mapping[str, int]:
    spans = (each for document in corpus.documents for each in document.spans)
    return Counter(each.tag for each in spans if each.label is None)
