"""PHI or not, word by word, as Tafvizi and Pacula score (section 5.2, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus
from deid_core.research.published.sentences import words
from deid_core.research.scoring.agreement import in_tokens, marks_of
from deid_core.research.scoring.measures import Counts
from deid_core.research.scoring.tables import Table
from deid_core.research.tokenizer import Token

from .figures import Figures, Scored, Verdict, classes_of
from .report import Finding, Plot
from .runner import Runner
from .splits import Split, sample

PAPER = "Tafvizi and Pacula"
RECIPE = "stat-deid-linear"
COLUMNS = ("PHI P", "R", "F", "non-PHI P", "R", "F")


@dataclass(frozen=True, slots=True, eq=False)
class Phi:
    """Counts of words by document, shape ``[documents, 1]``.

    Args:
        right: PHI that was predicted.
        predicted: Predicted as PHI.
        gold: PHI.
        words: All words: between white space, without the marks at their ends.
    """

    right: Counts
    predicted: Counts
    gold: Counts
    words: Counts

    @property
    def phi(self) -> Figures:
        """Figures of PHI."""
        return Figures.of(self.right, self.predicted, self.gold)

    @property
    def rest(self) -> Figures:
        """Figures of all other words, "defined analogously"."""
        both = self.words - self.predicted - self.gold + self.right
        return Figures.of(both, self.words - self.predicted, self.words - self.gold)

    @property
    def table(self) -> tuple[int, int, int, int]:
        """Number of words: PHI found, PHI missed, false PHI, other words left."""
        right, predicted, gold, words = (
            int(each.sum())
            for each in (self.right, self.predicted, self.gold, self.words)
        )
        missed, false = gold - right, predicted - right
        return right, missed, false, words - predicted - gold + right


Results = Mapping[str, Phi]


def phi_of(scored: Scored) -> Phi:
    """Return the counts of a corpus and a system's output."""
    category, conventions = classes_of(RECIPE), scored.corpus.conventions
    rows = []
    for each in scored.compared:
        text = each.document.text
        tokens = [
            Token(place.start, place.stop, text[place.start : place.stop])
            for place in words(text, 0, len(text))
        ]
        gold, predicted = (
            {mark[:2] for mark in in_tokens(marks, tokens)}
            for marks in marks_of(each, conventions, category)
        )
        rows.append((len(gold & predicted), len(predicted), len(gold), len(tokens)))
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 4)
    return Phi(*(table[:, at : at + 1] for at in range(4)))


def english_split(runner: Runner) -> Split:
    """Return English notes, three quarters to learn from: the paper's share (5.1).

    They are drawn from the corpora's development parts and synthetic notes together.
    """
    notes = sample(runner.english_notes, runner.size(300, 16), runner.seed)
    cut = len(notes) * 3 // 4
    conventions = conventions_for(Path("english"), PLAIN)
    corpus = Corpus("English notes", "a quarter", False, conventions, notes[cut:])
    return Split("English notes", "en", notes[:cut], corpus)


def row(name: str, phi: Phi, *more: str) -> tuple[str, ...]:
    """Return a row of `COLUMNS` after a name, and more cells."""
    return (name, *phi.phi.cells, *phi.rest.cells, *more)


def table(title: str, first: str, results: Results) -> Table:
    """Return a row for each system."""
    rows = tuple(row(name, phi) for name, phi in results.items())
    return Table(title, (first, *COLUMNS), rows)


def bars(title: str, results: Results) -> Plot:
    """Return PHI precision and recall of each system, as in figures 2 to 5."""
    values = [phi.phi.values for phi in results.values()]
    heights = {"precision": [v[0] for v in values], "recall": [v[1] for v in values]}
    return Plot(title, "", "words, %", bars=heights, names=list(results))


def finding(claim: str, place: str, verdict: Verdict, corpus: str) -> Finding:
    """Return a claim at a place in the paper with its verdict on a corpus."""
    figures = f"{corpus}: {verdict.figures}"
    return Finding(claim, f"{PAPER}, {place}", verdict.holds, figures)
