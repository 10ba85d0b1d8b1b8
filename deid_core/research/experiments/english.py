"""All published systems and ours on English notes that nobody has inspected."""

from __future__ import annotations

from deid_core.research.corpora.corpus import Corpus
from deid_core.research.published.recipe import known_recipes
from deid_core.research.scoring.tables import Table, shown

from .harness.figures import BLIND, Scored, coverage_of, figures, p_cell
from .harness.report import Plot, Report
from .harness.runner import Runner
from .harness.splits import Split
from .harness.systems import Variant

OURS = ("hybrid", "lexical")
_COLUMNS = (
    "preset",
    *("found", "p", "false in 1,000", "p", "decoys %", "specificity"),
    *("blind P", "R", "F1", "p"),
)


def english(runner: Runner) -> Report:
    """Train each published system on English notes; score all on uninspected ones.

    *Found* is the share of values whose every letter is covered, *false* the falsely
    redacted words in 1,000; p is that of the difference to `hybrid`.
    """
    tables, bars = [], {}
    for name, corpus in runner.english_scored.items():
        scored = _scored(runner, name, corpus)
        rows = [_row(each, scored, runner.seed) for each in scored]
        tables.append(Table(f"{name} {corpus.part}", _COLUMNS, tuple(rows)))
        bars[name] = [float(row[1]) for row in rows]
    learned = len(runner.english_notes)
    count = sum(len(each.documents) for each in runner.english_scored.values())
    line = f"English: {learned} documents learned, {count} scored"
    names = [row[0] for row in tables[0].rows]
    title = "English values found by every preset"
    plot = Plot(title, "", "share found", bars=bars, names=names)
    return Report(
        "english",
        "How much of what identifies a patient does each system find in English notes, "
        "and what does it take with it?",
        (line, *runner.account()),
        tuple(tables),
        (plot,),
    )


def _scored(runner: Runner, name: str, corpus: Corpus) -> dict[str, Scored]:
    split = Split(name, "en", runner.english_notes, corpus)
    return {
        **{each: Scored(corpus, runner.preset_output(each, corpus)) for each in OURS},
        **{
            each: Scored(corpus, runner.output(Variant(each), split))
            for each in known_recipes()
        },
    }


def _row(name: str, scored: dict[str, Scored], seed: int) -> tuple[str, ...]:
    theirs, ours = coverage_of(scored[name]), coverage_of(scored[OURS[0]])
    blind, our_blind = (
        figures([scored[each]], category=BLIND, by_token=True)
        for each in (name, OURS[0])
    )
    return (
        name,
        shown(theirs["recall"]),
        p_cell(theirs["recall"], ours["recall"], seed),
        shown(theirs["false per 1,000"]),
        p_cell(theirs["false per 1,000"], ours["false per 1,000"], seed),
        shown(theirs["decoys touched %"]),
        shown(theirs["specificity"]),
        *blind.cells,
        p_cell(blind.f1, our_blind.f1, seed),
    )
