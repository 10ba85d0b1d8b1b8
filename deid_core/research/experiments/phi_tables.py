"""What the experiments on Stat De-id share: their corpora, rows and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..corpora.conventions import PLAIN, conventions_for
from ..corpora.corpus import Corpus
from ..scoring.tables import Table
from .frame.phi import Phi
from .frame.report import Finding, Plot
from .frame.runner import Bench
from .frame.splits import Split, drawn
from .frame.verdicts import Verdict

PAPER = "Tafvizi and Pacula"
COLUMNS = ("PHI P", "R", "F", "non-PHI P", "R", "F")

Results = Mapping[str, Phi]


def english_split(bench: Bench) -> Split:
    """Return English notes, three quarters learned: the paper's share (5.1).

    The corpora's rows that may be read, and invented notes, drawn together.
    """
    notes = drawn(bench.english_notes, bench.size(300, 16), bench.seed)
    cut = len(notes) * 3 // 4
    spoken = conventions_for(Path("english"), PLAIN)
    corpus = Corpus("English notes", "a quarter", False, spoken, notes[cut:])
    return Split("English notes", "en", notes[:cut], corpus)


def row(name: str, phi: Phi, *more: str) -> tuple[str, ...]:
    """Return a row of `COLUMNS` under a name, and what follows."""
    return (name, *phi.phi.cells, *phi.rest.cells, *more)


def table(title: str, first: str, results: Results) -> Table:
    """Return a row for each system."""
    rows = tuple(row(name, phi) for name, phi in results.items())
    return Table(title, (first, *COLUMNS), rows)


def bars(title: str, results: Results) -> Plot:
    """Return PHI precision and recall of each system, as the paper's figures 2 to 5."""
    values = [phi.phi.values for phi in results.values()]
    heights = {"precision": [v[0] for v in values], "recall": [v[1] for v in values]}
    return Plot(title, "", "words, %", bars=heights, names=list(results))


def finding(claim: str, place: str, verdict: Verdict, corpus: str) -> Finding:
    """Return what the paper found at a place, and how it stands on a corpus."""
    figures = f"{corpus}: {verdict.figures}"
    return Finding(claim, f"{PAPER}, {place}", verdict.holds, figures)
