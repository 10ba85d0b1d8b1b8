"""Do systems find what they have not learned by heart?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from deid_core.labels import Label

from ..corpora.corpus import GoldDocument
from ..published.recipe import known_recipes
from ..scoring.agreement import CATEGORIES, Category, Mark, in_tokens, marks_of
from ..scoring.gold_and_predicted import Sides
from ..scoring.measures import Counts, Measure
from ..scoring.tables import Table
from ..tokenizer import tokenize
from .frame.cross_validated import few
from .frame.report import Finding, Plot, Report
from .frame.runner import Bench
from .frame.scores import classes_of, sides_of
from .frame.splits import Split
from .frame.systems import Said, Variant
from .frame.verdicts import Verdict, is_greater

OURS = "meddocan"
SEEN, UNSEEN = "seen", "unseen"
_ORDER = (SEEN, UNSEEN)
_STRICT = ("preset", "classes", *(f"{n} {f}" for n in _ORDER for f in ("P", "R", "F")))
_BLIND = ("preset", *(f"{n} {f}" for n in _ORDER for f in ("P", "R", "F")), "R lost")

Tell = Callable[[str], str | None]
"""Whether a string is seen or unseen; None is neither, and counts nowhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """Counts of each document, of seen and of unseen, shape ``[documents, 2]``."""

    right: Counts
    said: Counts
    gold: Counts

    def measures(self, of: str) -> tuple[Measure, Measure, Measure]:
        """Return precision, recall and F in percent of what is seen, or is not."""
        at = _ORDER.index(of)
        right, said, gold = (
            each[:, at : at + 1] for each in (self.right, self.said, self.gold)
        )
        return (
            Measure("precision", right, said, of, 100.0),
            Measure("recall", right, gold, of, 100.0),
            Measure("F1", 2 * right, said + gold, of, 100.0),
        )

    def values(self, of: str) -> tuple[float, float, float]:
        """Return the three; 0 where there is nothing to divide by."""
        p, r, f = (each.value or 0.0 for each in self.measures(of))
        return p, r, f


def unseen(bench: Bench) -> Report:
    """Part what is scored by whether the training text holds it.

    A string is seen where a document that all systems learn from marks the same, in any
    letter case; unseen where no document of the training split does.  A token likewise,
    where the text holds it at all.
    """
    split = few(bench)
    said = {name: bench.said(Variant(name), split) for name in known_recipes()}
    said[OURS] = bench.ours(OURS, split.corpus)
    strings = _teller(_marked, split.learn, bench.meddocan.learn)
    tokens = _teller(_words, split.learn, bench.meddocan.learn)
    strict = {n: _of_strings(split, each, n, strings) for n, each in said.items()}
    blind = {n: _of_tokens(split, each, tokens) for n, each in said.items()}
    bars = {f"{n} tokens": [p.values(n)[1] for p in blind.values()] for n in _ORDER}
    title = "Recall of tokens that the training text holds, or does not"
    whole = len(bench.meddocan.learn)
    return Report(
        "unseen",
        "Are strings and tokens found that the training text does not hold?",
        (
            f"unseen: in none of the {whole} documents of the training split, from all "
            f"of which {OURS} learned; of what is scored, {_shares(blind)}",
            *bench.account(split),
        ),
        (
            Table(
                "Strings, strict, in the system's own classes", _STRICT, _rows(strict)
            ),
            Table("Tokens, blind, of all identifiers", _BLIND, _blind_rows(blind)),
        ),
        (Plot(title, "", "recall, %", bars=bars, names=list(blind)),),
        tuple(_findings(blind, bench.seed)),
    )


def _teller(
    parts: Callable[[GoldDocument], Iterator[str]],
    learned: tuple[GoldDocument, ...],
    whole: tuple[GoldDocument, ...],
) -> Tell:
    seen = {each for document in learned for each in parts(document)}
    other = {each for document in whole for each in parts(document)}

    def tell(text: str) -> str | None:
        folded = _folded(text)
        if folded in seen:
            return SEEN
        return None if folded in other else UNSEEN

    return tell


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _marked(document: GoldDocument) -> Iterator[str]:
    for each in document.spans:
        yield _folded(document.text[each.span.start : each.span.end])


def _words(document: GoldDocument) -> Iterator[str]:
    return (each.text.casefold() for each in tokenize(document.text))


def _of_strings(split: Split, said: Said, name: str, tell: Tell) -> Parted:
    category = CATEGORIES["i2b2"] if name == OURS else classes_of(name)
    return _parted(split, said, category, tell, by_token=False)


def _of_tokens(split: Split, said: Said, tell: Tell) -> Parted:
    return _parted(split, said, CATEGORIES["blind"], tell, by_token=True)


def _parted(
    split: Split, said: Said, category: Category, tell: Tell, *, by_token: bool
) -> Parted:
    conventions = split.corpus.conventions
    rows = []
    for sides in sides_of(split.corpus, said):
        gold, found = marks_of(sides, conventions, category)
        if by_token:
            tokens = tokenize(sides.document.text)
            gold, found = in_tokens(gold, tokens), in_tokens(found, tokens)
        rows.append(_counts(sides, {*gold}, {*found}, tell))
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 3, len(_ORDER))
    return Parted(*(table[:, at] for at in range(3)))


def _counts(
    sides: Sides, gold: set[Mark], said: set[Mark], tell: Tell
) -> list[list[int]]:
    text = sides.document.text
    told = {mark: tell(text[mark[0] : mark[1]]) for mark in gold | said}
    return [
        [sum(told[mark] == each for mark in marks) for each in _ORDER]
        for marks in (gold & said, said, gold)
    ]


def _rows(strict: Mapping[str, Parted]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (name, str(_classes(name)), *_cells(each)) for name, each in strict.items()
    )


def _blind_rows(blind: Mapping[str, Parted]) -> tuple[tuple[str, ...], ...]:
    return tuple((n, *_cells(each), f"{_lost(each):.2f}") for n, each in blind.items())


def _classes(name: str) -> int:
    category = CATEGORIES["i2b2"] if name == OURS else classes_of(name)
    return len({*filter(None, map(category, Label))})


def _cells(parted: Parted) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for each in _ORDER for value in parted.values(each))


def _lost(parted: Parted) -> float:
    return parted.values(SEEN)[1] - parted.values(UNSEEN)[1]


def _shares(blind: Mapping[str, Parted]) -> str:
    counts = next(iter(blind.values())).gold.sum(axis=0)
    return f"{counts[0]:,} tokens are seen, {counts[1]:,} unseen"


def _findings(blind: Mapping[str, Parted], seed: int) -> Iterator[Finding]:
    published = [name for name in blind if name != OURS]
    best = max(published, key=lambda name: blind[name].values(UNSEEN)[1])
    recall = is_greater(
        blind[OURS].measures(UNSEEN)[1], blind[best].measures(UNSEEN)[1], seed=seed
    )
    claim = "ours finds more unseen tokens than the best published system"
    yield _finding(claim, Verdict(recall.holds, f"{OURS} and {best}: {recall.figures}"))
    lost = {name: _lost(each) for name, each in blind.items()}
    words = ", ".join(f"{name} {points:.1f}" for name, points in lost.items())
    claim = "every system recalls fewer unseen tokens than seen ones"
    yield _finding(claim, Verdict(min(lost.values()) > 0, f"points lost: {words}"))
    least = min(lost, key=lambda name: lost[name])
    claim = "ours loses least recall on unseen tokens"
    words = f"{OURS} {lost[OURS]:.1f} points; least: {least} {lost[least]:.1f}"
    yield _finding(claim, Verdict(least == OURS, words))


def _finding(claim: str, verdict: Verdict) -> Finding:
    return Finding(claim, "own question", verdict.holds, verdict.figures)
