"""Missed names and false identifiers: Deleger and others 2013, Discussion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from deid_core.document import Annotation, Span
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.scoring.coverage import cover, recall_by_kind
from deid_core.research.scoring.gold_and_predicted import Comparison
from deid_core.research.scoring.tables import Table
from deid_core.research.synthetic_notes import Half, generate

from .harness.cross_validated import (
    english_account,
    english_folds,
    english_output,
    meddocan_scored,
)
from .harness.figures import Scored
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import Split, invented_notes
from .harness.systems import Variant

SOURCE = "Deleger and others 2013, Discussion"
_SYSTEMS = ("mist2", "mcrf2")
_OURS = "ours"
_FORMS = (
    *("full name", "full name with title", "surname first", "initial and surname"),
    *("surname with title", "surname alone", "given name alone", "initials"),
)
_GIVEN = "given name alone"
_FULL = ("full name", "full name with title")
_LEAST = 20
_FRACTION = re.compile(r"(?<![\d/])\d{1,2}/\d{1,2}(?![\d/])")
_DECOY, _SCORE, _CAPITAL = "device or eponym", "score (2/10)", "capitalised word"
_NUMBER, _OTHER = "other number", "other"
_FALSE = (_DECOY, _CAPITAL, _SCORE, _NUMBER, _OTHER)

By = Mapping[str, Sequence[Scored]]
Lengths = Counter[tuple[bool, bool]]


def missed(runner: Runner) -> Report:
    """Count missed names by kind, and false identifiers by kind of word."""
    stress = _stress(runner)
    real = {
        name: [*english_output(runner, Variant(name)).values()] for name in _SYSTEMS
    }
    real[_OURS] = [
        Scored(e.corpus, runner.preset_output("hybrid", e.corpus))
        for e in real[_SYSTEMS[0]]
    ]
    spanish = meddocan_scored(runner, _SYSTEMS, _OURS)
    sizes = f"{len(stress[_OURS].corpus.documents)} invented notes"
    return Report(
        "missed",
        "Which kinds of names are missed most, and what is falsely taken for an "
        "identifier?  Counts alone.",
        (
            f"stress set: {sizes}; published systems as trained for the first fold",
            english_account(runner),
            *runner.account(runner.meddocan_sample),
        ),
        (
            _by_kind(stress),
            _lengths("English: names missed by length", real),
            _lengths("Spanish: names missed by length", spanish),
            _false_table(real),
        ),
        (_plot(stress),),
        (
            *(_given_missed(name, each) for name, each in stress.items()),
            *(_given_beside_full(name, each) for name, each in stress.items()),
            *(_single(f"English, {name}", each) for name, each in real.items()),
            *(_single(f"Spanish, {name}", each) for name, each in spanish.items()),
            *(f for name, each in real.items() for f in _false_findings(name, each)),
        ),
    )


def _stress(runner: Runner) -> dict[str, Scored]:
    conventions = conventions_for(runner.data, PLAIN)
    corpus = Corpus("stress", "all", False, conventions, _stress_notes(runner))
    learn = next(iter(english_folds(runner).values()))[0].learn
    split = Split("stress", "en", learn, corpus)
    found = {
        name: Scored(corpus, runner.output(Variant(name), split)) for name in _SYSTEMS
    }
    return {**found, _OURS: Scored(corpus, runner.preset_output("hybrid", corpus))}


def _stress_notes(runner: Runner) -> tuple[GoldDocument, ...]:
    if runner.quick:
        return tuple(generate(Half.STRESS, [], 30, runner.seed))
    return invented_notes(runner.data, Half.STRESS, 400, runner.seed)


def _recalls(each: Scored) -> dict[str, tuple[int, float]]:
    """Return, for each kind, the number of values and the recall in percent."""
    covers = [cover(compared) for compared in each.compared]
    return {
        one.of: (int(one.whole.sum()), 100 * (one.value or 0.0))
        for one in recall_by_kind(covers)
    }


def _by_kind(stress: Mapping[str, Scored]) -> Table:
    recalls = {name: _recalls(each) for name, each in stress.items()}
    required = next(iter(recalls.values()))
    rows = [
        (kind, str(count), *(f"{each[kind][1]:.2f}" for each in recalls.values()))
        for kind, (count, _) in sorted(
            required.items(), key=lambda pair: recalls["mcrf2"][pair[0]][1]
        )
    ]
    title = "Stress set: recall by kind, the most missed by MCRF2 first"
    return Table(title, ("kind", "sought", *stress), tuple(rows))


def _forms(each: Scored) -> dict[str, float]:
    return {
        kind: recall
        for kind, (count, recall) in _recalls(each).items()
        if kind in _FORMS and count >= _LEAST
    }


def _plot(stress: Mapping[str, Scored]) -> Plot:
    forms = {name: _forms(each) for name, each in stress.items()}
    kinds = sorted(next(iter(forms.values())), key=lambda kind: forms["mcrf2"][kind])
    bars = {name: [each[kind] for kind in kinds] for name, each in forms.items()}
    return Plot("Recall by form of name", "", "recall, %", bars=bars, names=kinds)


def _given_missed(name: str, each: Scored) -> Finding:
    recall = _forms(each)
    least = min(recall, key=lambda kind: recall[kind], default="")
    return Finding(
        f"{name}: of all forms of names, given names alone are missed most",
        SOURCE,
        least == _GIVEN if _GIVEN in recall else None,
        "recall: " + ", ".join(f"{kind} {value:.1f}" for kind, value in recall.items()),
    )


def _given_beside_full(name: str, each: Scored) -> Finding:
    recalls = _recalls(each)
    full = [recalls[kind] for kind in _FULL if kind in recalls]
    required = sum(count for count, _ in full)
    overall = sum(count * recall for count, recall in full) / max(1, required)
    given = recalls.get(_GIVEN, (0, 0.0))[1]
    return Finding(
        f"{name}: given names alone are missed more often than full names",
        f"{SOURCE} (single first names more often than first and last)",
        given < overall if required and _GIVEN in recalls else None,
        f"recall of given names {given:.1f}, of full names {overall:.1f}",
    )


def _counted(each: Sequence[Scored]) -> Lengths:
    """Return the number of names by (of one word, missed)."""
    found: Lengths = Counter()
    for scored in each:
        for compared in scored.compared:
            lost = {gold.span for gold in cover(compared).missed}
            for gold in compared.required:
                if gold.label is not None and gold.label.main == "NAME":
                    text = compared.document.text[gold.span.start : gold.span.end]
                    found[len(text.split()) == 1, gold.span in lost] += 1
    return found


def _lengths(title: str, by: By) -> Table:
    rows = []
    for name, each in by.items():
        found = _counted(each)
        cells = [
            str(number)
            for single in (True, False)
            for number in (
                found[single, True] + found[single, False],
                found[single, True],
            )
        ]
        rows.append((name, *cells))
    columns = ("system", "of one word", "missed", "of more words", "missed")
    return Table(title, columns, tuple(rows))


def _single(name: str, each: Sequence[Scored]) -> Finding:
    found = _counted(each)
    lost = found[True, True] + found[False, True]
    rates = {
        single: found[single, True] / max(1, found[single, True] + found[single, False])
        for single in (True, False)
    }
    return Finding(
        f"{name}: names of one word are missed more often than longer ones, and are "
        "most of what is missed",
        f"{SOURCE} (58.9% of false negatives are single tokens)",
        rates[True] > rates[False] and 2 * found[True, True] > lost if lost else None,
        f"{found[True, True]} of {lost} missed are of one word; missed "
        f"{rates[True]:.1%} of those, {rates[False]:.1%} of longer ones",
    )


def _false(each: Sequence[Scored]) -> Counter[tuple[str, str]]:
    """Return the number of false annotations by (main category, kind)."""
    return Counter(
        (annotation.label.main, _kind_of(compared, annotation))
        for scored in each
        for compared in scored.compared
        for annotation in compared.penalized
        if not any(annotation.span.overlaps(g.span) for g in compared.document.spans)
    )


def _kind_of(compared: Comparison, annotation: Annotation) -> str:
    span = annotation.span
    text = compared.document.text[span.start : span.end]
    if any(map(span.overlaps, compared.document.decoys)):
        return _DECOY
    if _FRACTION.search(text):
        return _SCORE
    if any(map(str.isdigit, text)):
        return _NUMBER
    return _CAPITAL if text[:1].isupper() else _OTHER


def _fractions(each: Sequence[Scored]) -> tuple[int, int]:
    """Return the number of unmarked fractions, and how many of them are redacted."""
    there = taken = 0
    for scored in each:
        for compared in scored.compared:
            for found in _FRACTION.finditer(compared.document.text):
                span = Span(*found.span())
                if not any(span.overlaps(g.span) for g in compared.document.spans):
                    there += 1
                    taken += any(span.overlaps(a.span) for a in compared.annotations)
    return there, taken


def _false_table(by: By) -> Table:
    rows = []
    for name, each in by.items():
        found = _false(each)
        for main in sorted({main for main, _ in found}):
            cells = (str(found[main, kind]) for kind in _FALSE)
            rows.append((f"{name}, {main}", *cells))
    title = "English: what is falsely taken, by what it is taken for"
    return Table(title, ("system, taken for", *_FALSE), tuple(rows))


def _false_findings(name: str, each: Sequence[Scored]) -> list[Finding]:
    found = _false(each)
    names = sum(count for (main, _), count in found.items() if main == "NAME")
    usual = found["NAME", _DECOY] + found["NAME", _CAPITAL]
    there, taken = _fractions(each)
    dates = sum(count for (main, _), count in found.items() if main == "DATE")
    return [
        Finding(
            f"{name}: most false NAMEs are devices, eponyms or capitalised words",
            f"{SOURCE} (a majority)",
            2 * usual > names if names else None,
            f"{usual} of {names}, {found['NAME', _DECOY]} of them devices or eponyms",
        ),
        Finding(
            f"{name}: scores like 2/10 are often taken for a DATE: a tenth of them",
            SOURCE,
            10 * taken >= there if there else None,
            f"{taken} of {there} such fractions taken; {found['DATE', _SCORE]} of "
            f"{dates} false DATEs",
        ),
    ]
