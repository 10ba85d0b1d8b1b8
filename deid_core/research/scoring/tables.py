"""An evaluation as tables and as JSON, without text of the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .confusion import NOTHING, Confusion
from .errors import ErrorClass, ErrorClasses
from .evaluation import Evaluation
from .measures import Interval, Measure

_DETAILED = ("coverage", "span strict", "token")
_MICRO = ("precision", "recall", "F1")
_MACRO = ("macro F1 by label", "macro F1 by document")
_SHORT = ("P", "R", "F1")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text; columns after the first are aligned as numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of an evaluation, the headline first."""
    yield _coverage(evaluation)
    yield _scores(evaluation)
    yield _labels(evaluation)
    for by in ("kind", "tag"):
        if f"coverage by {by}" in evaluation.scores:
            yield _groups(evaluation, by)
    if evaluation.errors is not None and evaluation.errors.total:
        yield errors_table(f"errors: {evaluation.title}", evaluation.errors)
    if evaluation.confusion is not None and evaluation.confusion.pairs():
        title = f"taken for each other: {evaluation.title}"
        yield confusion_table(title, evaluation.confusion)
    if evaluation.against[0]:
        yield _differences(evaluation)


def brief_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return what counts for a release, of one system on several corpora.

    Recall of values, falsely redacted words in 1,000, and the share of the quiet notes
    (without a value to find) that stay untouched, as `coverage` defines them; then the
    recall of each class: the corpus's tag, or the label where tags are no finer.
    """
    columns = ("corpus", "values", "recall", "false per 1,000", "quiet untouched")
    rows = [
        (
            _corpus(each),
            f"{_whole(each.measure('coverage', 'recall')):,}",
            shown(each.measure("coverage", "recall")),
            shown(each.measure("coverage", "false per 1,000")),
            share_of(each.measure("coverage", "specificity")),
        )
        for each in evaluations
    ]
    system = evaluations[0].system
    recalls = {_corpus(each): _classes(each) for each in evaluations}
    return [
        Table(f"{system}: values, words and quiet notes", columns, tuple(rows)),
        classes_table(f"{system}: recall by class", recalls),
    ]


def classes_table(title: str, recalls: Mapping[str, Iterable[Measure]]) -> Table:
    """Return recall by class, the most frequent one first.

    Args:
        title: Of the table.
        recalls: By the name of the column, the recall of each class.
    """
    found = [
        {each.of: each for each in measures if _whole(each)}
        for measures in recalls.values()
    ]
    sizes = Counter[str]()
    for each in found:
        sizes.update({name: _whole(measure) for name, measure in each.items()})
    rows = [
        (name, *(_of_all(each.get(name)) for each in found))
        for name, _ in sizes.most_common()
    ]
    return Table(title, ("class", *recalls), tuple(rows))


def _classes(evaluation: Evaluation) -> list[Measure]:
    measures = evaluation.scores.get("coverage by tag", evaluation.scores["coverage"])
    return [each for each in measures if each.of]


def _corpus(evaluation: Evaluation) -> str:
    case = "" if evaluation.case == "as-is" else f", {evaluation.case} case"
    refused = sum(evaluation.refused.values())
    return f"{evaluation.corpus}{case}" + (f", {refused} refused" if refused else "")


def _whole(measure: Measure | None) -> int:
    return 0 if measure is None else int(measure.whole.sum())


def share_of(measure: Measure | None) -> str:
    """Return a share and the number that it is of, as tables show them."""
    if not _whole(measure) or measure is None:
        return "-"
    return f"{shown(measure)} of {_whole(measure)}"


def _of_all(measure: Measure | None) -> str:
    return "-" if measure is None else f"{measure.value:.2f} of {_whole(measure)}"


def _coverage(evaluation: Evaluation) -> Table:
    rows = [
        (
            measure.name,
            shown(measure),
            _interval(evaluation.confidence.get(("coverage", measure.name)), measure),
            f"{int(measure.part.sum()):,} / {int(measure.whole.sum()):,}",
        )
        for measure in evaluation.scores["coverage"]
        if not measure.of and measure.value is not None
    ]
    columns = ("measure", "value", "95% interval", "of")
    return Table(f"coverage: {evaluation.title}", columns, tuple(rows))


def _scores(evaluation: Evaluation) -> Table:
    rows = [
        (
            scorer,
            *(shown(evaluation.measure(scorer, name)) for name in _MICRO),
            _interval(
                evaluation.confidence.get((scorer, "F1")),
                evaluation.measure(scorer, "F1"),
            ),
            *(shown(evaluation.measure(scorer, name)) for name in _MACRO),
        )
        for scorer in evaluation.scores
        if not scorer.startswith("coverage")
    ]
    columns = ("scorer", *_SHORT, "95% of F1", "F1 by label", "by document")
    return Table(f"spans and tokens: {evaluation.title}", columns, tuple(rows))


def _labels(evaluation: Evaluation) -> Table:
    labels = {m.of for name in _DETAILED for m in evaluation.scores[name] if m.of}
    columns = ("label", "gold", "covered", *_SHORT, *(f"token {n}" for n in _SHORT))
    rows = []
    for label in sorted(labels):
        gold = evaluation.measure("span strict", "recall", label)
        rows.append(
            (
                label,
                f"{int(gold.whole.sum()):,}" if gold else "0",
                shown(evaluation.measure("coverage", "recall", label)),
                *(shown(evaluation.measure("span strict", n, label)) for n in _MICRO),
                *(shown(evaluation.measure("token", n, label)) for n in _MICRO),
            )
        )
    return Table(f"by label, spans strict: {evaluation.title}", columns, tuple(rows))


def _groups(evaluation: Evaluation, by: str) -> Table:
    rows = [
        (each.of, f"{int(each.whole.sum()):,}", shown(each))
        for each in evaluation.scores[f"coverage by {by}"]
    ]
    title = f"by {by}, covered: {evaluation.title}"
    return Table(title, (by, "gold", "covered"), tuple(rows))


def _differences(evaluation: Evaluation) -> Table:
    other, differences = evaluation.against
    rows = tuple(
        (
            f"{scorer}: {name}",
            f"{each.one:.4f}",
            f"{each.other:.4f}",
            f"{each.one - each.other:+.4f}",
            f"{each.p:.4f}",
        )
        for (scorer, name), each in differences.items()
    )
    columns = ("measure", evaluation.system, other, "difference", "p")
    title = f"approximate randomisation: {evaluation.title}"
    return Table(title, columns, rows)


def errors_table(title: str, errors: ErrorClasses) -> Table:
    """Return errors by class, a row for each category that has some."""
    of = sorted({category for _, category in errors.counts})
    rows = [
        (name or "all", *(str(errors.of(kind, name)) for kind in ErrorClass))
        for name in ("", *of)
    ]
    return Table(title, ("label", *map(str, ErrorClass)), tuple(rows))


def confusion_table(title: str, confusion: Confusion) -> Table:
    """Return gold categories by predicted ones, right ones on the diagonal.

    Only categories that were confused are shown; columns are numbered.
    """
    shown = dict.fromkeys(name for cell, _ in confusion.pairs() for name in cell)
    names = [name for name in confusion.categories if name in shown]
    at = {name: number for number, name in enumerate(confusion.categories)}
    rows = [
        (
            f"{number}: {name}" if name else "spurious",
            *(str(confusion.counts[at[name], at[each]] or "-") for each in names),
            str(confusion.counts[at[name], at[NOTHING]] or "-"),
        )
        for number, name in enumerate((*names, NOTHING), start=1)
    ]
    numbers = map(str, range(1, len(names) + 1))
    return Table(title, ("gold, by said", *numbers, "missing"), tuple(rows))


def markdown(tables: Sequence[Table]) -> str:
    """Return the tables as Markdown, each under its title."""
    return "\n".join(map(_markdown, tables))


def _markdown(table: Table) -> str:
    rule = ("---", *("---:" for _ in table.columns[1:]))
    lines = (f"| {' | '.join(row)} |" for row in (table.columns, rule, *table.rows))
    return f"## {table.title}\n\n" + "\n".join(lines) + "\n"


def shown(measure: Measure | None) -> str:
    """Return a measure's value as tables show it."""
    if measure is None or measure.value is None:
        return "-"
    return _number(measure.value, measure)


def _interval(found: Interval | None, measure: Measure | None) -> str:
    if found is None or measure is None:
        return "-"
    return f"{_number(found.low, measure)} to {_number(found.high, measure)}"


def _number(value: float, measure: Measure) -> str:
    return f"{value:.4f}" if measure.scale == 1 else f"{value:.2f}"


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return counts and values of the evaluation as JSON values."""
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
                _measure(m, evaluation.confidence.get((scorer, m.name)))
                for m in measures
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
        {"gold": gold or None, "said": predicted or None, "count": int(count)}
        for gold, row in zip(names, confusion.counts, strict=True)
        for predicted, count in zip(names, row, strict=True)
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
