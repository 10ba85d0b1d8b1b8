"""Every published system beside ours on English notes that nobody looked at."""

from __future__ import annotations

from ..corpora.corpus import Corpus
from ..published.recipe import known_recipes
from ..scoring.agreement import CATEGORIES
from ..scoring.measures import Measure
from ..scoring.resampling import difference
from ..scoring.tables import Table, shown
from .frame.report import Plot, Report
from .frame.runner import Bench
from .frame.scores import covered, figures
from .frame.splits import Split
from .frame.systems import Said, Variant

OURS = ("hybrid", "lexical")
_COLUMNS = (
    "preset",
    *("found", "p", "false in 1,000", "p", "decoys %", "specificity"),
    *("blind P", "R", "F1", "p"),
)


def english(bench: Bench) -> Report:
    """Train each published system on English notes; score all on unread ones.

    *Found* is the share of values whose every letter is covered, *false* the falsely
    redacted words in 1,000; p is of the difference to `hybrid`.
    """
    tables, bars = [], {}
    for name, corpus in bench.english_scored.items():
        said = dict(_said(bench, name, corpus))
        rows = [_row(bench, corpus, each, said) for each in said]
        tables.append(Table(f"{name} {corpus.part}", _COLUMNS, tuple(rows)))
        bars[name] = [float(row[1]) for row in rows]
    learned = len(bench.english_notes)
    scored = sum(len(each.documents) for each in bench.english_scored.values())
    line = f"English: {learned} documents learned, {scored} scored"
    names = [row[0] for row in tables[0].rows]
    title = "English values found by every preset"
    plot = Plot(title, "", "share found", bars=bars, names=names)
    return Report(
        "english",
        "How much of what identifies a patient does each system find in English notes, "
        "and what does it take with it?",
        (line, *bench.account()),
        tuple(tables),
        (plot,),
    )


def _said(bench: Bench, name: str, corpus: Corpus) -> list[tuple[str, Said]]:
    split = Split(name, "en", bench.english_notes, corpus)
    ours = [(preset, bench.ours(preset, corpus)) for preset in OURS]
    recipes = known_recipes()
    return [*ours, *((each, bench.said(Variant(each), split)) for each in recipes)]


def _row(
    bench: Bench, corpus: Corpus, name: str, said: dict[str, Said]
) -> tuple[str, ...]:
    here, best = covered(corpus, said[name]), covered(corpus, said[OURS[0]])
    category = CATEGORIES["blind"]
    blind, mine = (
        figures(corpus, said[each], category=category, by_token=True)
        for each in (name, OURS[0])
    )
    return (
        name,
        shown(here["recall"]),
        _p(here["recall"], best["recall"], bench.seed),
        shown(here["false per 1,000"]),
        _p(here["false per 1,000"], best["false per 1,000"], bench.seed),
        shown(here["decoys touched %"]),
        shown(here["specificity"]),
        *blind.cells,
        _p(blind.f1, mine.f1, bench.seed),
    )


def _p(one: Measure, other: Measure, seed: int) -> str:
    found = difference(one, other, seed=seed)
    return "-" if found is None else f"{found.p:.4f}"
