"""All published systems and ours on MEDDOCAN (Spanish)."""

from __future__ import annotations

from collections.abc import Mapping

from deid_core.research.corpora.corpus import Corpus
from deid_core.research.published.recipe import known_recipes
from deid_core.research.scoring.agreement import end_within_two
from deid_core.research.scoring.tables import Table

from .harness.figures import BLIND, CHANCE, Scored, classes_of, figures, p_cell
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import Split
from .harness.systems import Variant, unavailable_groups

_COLUMNS = (
    "preset",
    *("strict P", "R", "F1"),
    *("ours F1", "p"),
    *("relaxed F1", "token F1"),
    *("blind P", "blind R", "blind F1", "blind ours F1", "blind p"),
    *("train s", "documents/s", "without"),
)


def presets(runner: Runner) -> Report:
    """Train each published system on the same documents; compare it with ours.

    *Strict* is by span in the classes that the system distinguishes; ours is scored in
    the same classes.  *Blind* is by token, whatever the class, of all identifiers.
    """
    spanish = runner.meddocan
    rows = {name: _row(runner, name, spanish, "meddocan") for name in known_recipes()}
    table = Table(spanish.name, _COLUMNS, tuple(rows.values()))
    bars = {
        "published": [float(row[3]) for row in rows.values()],
        "ours, same classes": [float(row[4]) for row in rows.values()],
    }
    plot = Plot("Strict F1 of every preset", "", "F1, %", bars=bars, names=list(rows))
    return Report(
        "presets",
        "How well does each published system do, and is ours better by more than "
        "chance?",
        runner.account(spanish),
        (table,),
        (plot,),
        (
            _finding("strict, in the classes of each", rows, "F1", "ours F1", "p"),
            _finding("blind, by token", rows, "blind F1", "blind ours F1", "blind p"),
        ),
    )


def _finding(
    way: str, rows: Mapping[str, tuple[str, ...]], theirs: str, ours: str, p: str
) -> Finding:
    """Return whether ours is significantly better than all of them."""
    at = [_COLUMNS.index(name) for name in (theirs, ours, p)]
    cells = {name: [float(row[each]) for each in at] for name, row in rows.items()}
    best = max(cells, key=lambda name: cells[name][0])
    their, our, chance = cells[best]
    holds = all(f < g and p < CHANCE for f, g, p in cells.values())
    figures = f"best of them {best} {their:.2f}, ours {our:.2f}, p {chance:.4f}"
    claim = f"ours finds more than every published system: F1, {way}"
    return Finding(claim, "the project's aims", holds, figures)


def _row(runner: Runner, name: str, split: Split, ours: str) -> tuple[str, ...]:
    corpus, classes = split.corpus, classes_of(name)
    output = runner.output(Variant(name), split)
    theirs, own = [Scored(corpus, output)], [_ours(runner, corpus, ours)]
    strict, our_strict = (figures(e, category=classes) for e in (theirs, own))
    blind, our_blind = (
        figures(each, category=BLIND, by_token=True) for each in (theirs, own)
    )
    relaxed = figures(theirs, category=classes, agree=end_within_two)
    token = figures(theirs, category=classes, by_token=True)
    rate = len(corpus.documents) / output.tag_s
    return (
        name,
        *strict.cells,
        our_strict.cells[2],
        p_cell(our_strict.f1, strict.f1, runner.seed),
        relaxed.cells[2],
        token.cells[2],
        *blind.cells,
        our_blind.cells[2],
        p_cell(our_blind.f1, blind.f1, runner.seed),
        f"{output.train_s:.0f}",
        f"{rate:.0f}",
        ", ".join(unavailable_groups(name, split.language, runner.mesh)) or "-",
    )


def _ours(runner: Runner, corpus: Corpus, preset: str) -> Scored:
    return Scored(corpus, runner.preset_output(preset, corpus))
