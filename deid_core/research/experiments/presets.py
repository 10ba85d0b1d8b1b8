"""Every published system beside ours, on one Spanish and three English corpora."""

from __future__ import annotations

from collections.abc import Mapping

from ..corpora.corpus import Corpus
from ..published.recipe import known_recipes
from ..scoring.agreement import CATEGORIES, end_within_two
from ..scoring.tables import Table
from .frame.report import Finding, Plot, Report
from .frame.runner import Bench
from .frame.scores import Figures, classes_of, figures, significance
from .frame.splits import Split
from .frame.systems import Said, Variant, absent

_CHANCE = 0.05
_COLUMNS = (
    "preset",
    *("strict P", "R", "F1"),
    *("ours F1", "p"),
    *("relaxed F1", "token F1"),
    *("blind P", "blind R", "blind F1", "blind ours F1", "blind p"),
    *("train s", "documents/s", "without"),
)


def presets(bench: Bench) -> Report:
    """Train each published system on the same documents; score it beside ours.

    *Strict* is by span in the classes that the system tells apart; ours is scored in
    the same classes.  *Blind* is by token, whatever the class, of all identifiers.
    """
    spanish = bench.meddocan
    rows = {name: _row(bench, name, spanish, "meddocan") for name in known_recipes()}
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
        bench.account(spanish),
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
    """Return whether ours is better than all of them by more than chance."""
    at = [_COLUMNS.index(name) for name in (theirs, ours, p)]
    cells = {name: [float(row[each]) for each in at] for name, row in rows.items()}
    best = max(cells, key=lambda name: cells[name][0])
    their, our, chance = cells[best]
    holds = all(f < g and p < _CHANCE for f, g, p in cells.values())
    figures = f"best of them {best} {their:.2f}, ours {our:.2f}, p {chance:.4f}"
    claim = f"ours finds more than every published system: F1, {way}"
    return Finding(claim, "the project's aims", holds, figures)


def _row(bench: Bench, name: str, split: Split, ours: str) -> tuple[str, ...]:
    theirs = bench.said(Variant(name), split)
    own = bench.ours(ours, split.corpus)
    strict, mine = (_strict(name, split.corpus, each) for each in (theirs, own))
    blind, mine_blind = (_blind(split.corpus, each) for each in (theirs, own))
    classes = classes_of(name)
    relaxed = figures(split.corpus, theirs, category=classes, agree=end_within_two)
    token = figures(split.corpus, theirs, category=classes, by_token=True)
    rate = len(split.corpus.documents) / theirs.tag_s
    return (
        name,
        *strict.cells,
        mine.cells[2],
        _p(mine, strict, bench.seed),
        relaxed.cells[2],
        token.cells[2],
        *blind.cells,
        mine_blind.cells[2],
        _p(mine_blind, blind, bench.seed),
        f"{theirs.train_s:.0f}",
        f"{rate:.0f}",
        ", ".join(absent(name, split.language, bench.mesh)) or "-",
    )


def _strict(name: str, corpus: Corpus, said: Said) -> Figures:
    return figures(corpus, said, category=classes_of(name))


def _blind(corpus: Corpus, said: Said) -> Figures:
    return figures(corpus, said, category=CATEGORIES["blind"], by_token=True)


def _p(one: Figures, other: Figures, seed: int) -> str:
    found = significance(one, other, seed=seed)
    return "-" if found is None else f"{found.p:.4f}"
