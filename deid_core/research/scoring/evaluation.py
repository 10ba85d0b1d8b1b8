"""One system on one corpus: every scorer's measures, and how sure they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..corpora.corpus import Corpus, Prediction
from .confusion import Confusion, confusion_of_spans
from .error_classes import ErrorClasses, error_classes
from .measures import Measure
from .resampling import Difference, Interval, difference, intervals
from .scorers import SCORERS, Outcome, scorers_for

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
"""Scorer and measure: the figures that two systems are compared by."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a system did on a corpus.

    Args:
        system: The preset's name.
        corpus: Its name and part: ``aci-bench dev 1-43``.
        case: The letter case of the texts; a name in `CASES`.
        documents: How many were scored.
        refused: Why the system refused some of these, and how many.
        unscored: Tags without counterpart, with how many spans bear them.
        scores: By scorer, what it measured.
        sureness: By scorer and measure, the interval of what is of all labels.
        errors: Strict errors by class; He and others 2015, Tables 6 and 8.
        confusion: Spans by what they are and what they are taken for; Table 7.
        against: The other system's name, and the differences to it; empty when there
            is none.
    """

    system: str
    corpus: str
    case: str
    documents: int
    refused: Mapping[str, int]
    unscored: Mapping[str, int]
    scores: Mapping[str, Sequence[Measure]]
    sureness: Mapping[tuple[str, str], Interval | None] = field(default_factory=dict)
    errors: ErrorClasses | None = None
    confusion: Confusion | None = None
    against: tuple[str, Mapping[tuple[str, str], Difference]] = ("", {})

    @property
    def title(self) -> str:
        """What was measured, on one line."""
        case = "" if self.case == "as-is" else f", {self.case} case"
        refused = f", {sum(self.refused.values())} refused" if self.refused else ""
        counted = f"{self.documents} documents{refused}"
        return f"{self.system} on {self.corpus}{case}, {counted}"

    def measure(self, scorer: str, name: str, of: str = "") -> Measure | None:
        """Return one measure of a scorer, or None where it has none such."""
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
    """Return what the scorers say of a system's predictions for a corpus.

    Args:
        corpus: What is right.
        predictions: What the system says of each document, in order.
        system: Its name, for titles.
        case: The letter case that the corpus is in, for titles.
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
        sureness={
            (scorer, measure.name): found
            for (scorer, measure), found in zip(overall, bounds, strict=True)
        },
        errors=error_classes(outcome.sides, corpus.conventions),
        confusion=confusion_of_spans(outcome.sides, corpus.conventions),
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
