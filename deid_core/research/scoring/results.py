"""An evaluation as plain values for JSON; none of it is text of the corpus."""

from __future__ import annotations

from typing import Any

from .confusion import Confusion
from .error_classes import ErrorClasses
from .evaluation import Evaluation
from .measures import Measure
from .resampling import Interval


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as JSON values: counts and figures, without any text."""
    other, differences = evaluation.against
    return {
        "system": evaluation.system,
        "corpus": evaluation.corpus,
        "case": evaluation.case,
        "documents": evaluation.documents,
        "refused": dict(evaluation.refused),
        "no_counterpart": dict(evaluation.unscored),
        "scores": {
            scorer: [
                _measure(m, evaluation.sureness.get((scorer, m.name))) for m in measures
            ]
            for scorer, measures in evaluation.scores.items()
        },
        "errors": _errors(evaluation.errors),
        "confusion": _confusion(evaluation.confusion),
        "against": other or None,
        "differences": [
            {
                "scorer": scorer,
                "measure": name,
                "one": each.one,
                "other": each.other,
                "p": each.p,
            }
            for (scorer, name), each in differences.items()
        ],
    }


def _errors(errors: ErrorClasses | None) -> list[dict[str, Any]]:
    return [
        {"class": kind.value, "of": name, "count": count}
        for (kind, name), count in sorted((errors.counts if errors else {}).items())
    ]


def _confusion(confusion: Confusion | None) -> list[dict[str, Any]]:
    if confusion is None:
        return []
    names = confusion.categories
    return [
        {"gold": gold or None, "said": said or None, "count": int(count)}
        for gold, row in zip(names, confusion.counts, strict=True)
        for said, count in zip(names, row, strict=True)
        if count
    ]


def _measure(measure: Measure, found: Interval | None) -> dict[str, Any]:
    value: dict[str, Any] = {
        "measure": measure.name,
        "of": measure.of or None,
        "value": measure.value,
        "part": int(measure.part.sum()),
        "whole": int(measure.whole.sum()),
    }
    if found is not None and not measure.of:
        value |= {"low": found.low, "high": found.high}
    return value
