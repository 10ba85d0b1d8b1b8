"""Recall of identifiers that the training text does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.published.recipe import known_recipes
from deid_core.research.scoring.agreement import (
    CATEGORIES,
    Category,
    Mark,
    in_tokens,
    marks_of,
)
from deid_core.research.scoring.gold_and_predicted import Comparison
from deid_core.research.scoring.measures import Counts
from deid_core.research.scoring.tables import Table
from deid_core.research.tokenizer import tokenize

from .harness.figures import Figures, Scored, Verdict, classes_of, is_greater
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import Split
from .harness.systems import SystemOutput, Variant

OURS = "meddocan"
SEEN, UNSEEN = "seen", "unseen"
_ORDER = (SEEN, UNSEEN)
_STRICT = ("preset", "classes", *(f"{n} {f}" for n in _ORDER for f in ("P", "R", "F")))
_BLIND = ("preset", *(f"{n} {f}" for n in _ORDER for f in ("P", "R", "F")), "R lost")

Classify = Callable[[str], str | None]
"""Return whether a string is seen or unseen; None for neither, which does not count."""


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """Counts by document of seen and unseen marks, shape ``[documents, 2]``."""

    right: Counts
    predicted: Counts
    gold: Counts

    def figures(self, of: str) -> Figures:
        """Return the figures of what is seen, or of what is unseen."""
        at = _ORDER.index(of)
        right, predicted, gold = (
            each[:, at : at + 1] for each in (self.right, self.predicted, self.gold)
        )
        return Figures.of(right, predicted, gold, of)


def unseen(runner: Runner) -> Report:
    """Split the scored marks by whether the training text has them.

    A string is seen if a training document of all systems has an equal marked string,
    whatever its letter case, and unseen if no document of the training split has
    one.  For tokens, it is the text that has them, marked or not.
    """
    split = runner.meddocan_sample
    output = {name: runner.output(Variant(name), split) for name in known_recipes()}
    output[OURS] = runner.preset_output(OURS, split.corpus)
    strings = _classifier(_marked, split.learn, runner.meddocan.learn)
    tokens = _classifier(_words, split.learn, runner.meddocan.learn)
    strict = {n: _of_strings(split, each, n, strings) for n, each in output.items()}
    blind = {n: _of_tokens(split, each, tokens) for n, each in output.items()}
    bars = {
        f"{n} tokens": [p.figures(n).values[1] for p in blind.values()] for n in _ORDER
    }
    title = "Recall of tokens that the training text holds, or does not"
    whole = len(runner.meddocan.learn)
    return Report(
        "unseen",
        "Are strings and tokens found that the training text does not hold?",
        (
            f"unseen: in none of the {whole} documents of the training split, from all "
            f"of which {OURS} learned; of what is scored, {_shares(blind)}",
            *runner.account(split),
        ),
        (
            Table(
                "Strings, strict, in the system's own classes", _STRICT, _rows(strict)
            ),
            Table("Tokens, blind, of all identifiers", _BLIND, _blind_rows(blind)),
        ),
        (Plot(title, "", "recall, %", bars=bars, names=list(blind)),),
        tuple(_findings(blind, runner.seed)),
    )


def _classifier(
    parts: Callable[[GoldDocument], Iterator[str]],
    learned: tuple[GoldDocument, ...],
    whole: tuple[GoldDocument, ...],
) -> Classify:
    seen = {each for document in learned for each in parts(document)}
    other = {each for document in whole for each in parts(document)}

    def classify(text: str) -> str | None:
        normal = _normal(text)
        if normal in seen:
            return SEEN
        return None if normal in other else UNSEEN

    return classify


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


def _marked(document: GoldDocument) -> Iterator[str]:
    for each in document.spans:
        yield _normal(document.text[each.span.start : each.span.end])


def _words(document: GoldDocument) -> Iterator[str]:
    return (each.text.casefold() for each in tokenize(document.text))


def _of_strings(
    split: Split, output: SystemOutput, name: str, classify: Classify
) -> Parted:
    category = CATEGORIES["i2b2"] if name == OURS else classes_of(name)
    return _parted(split, output, category, classify, by_token=False)


def _of_tokens(split: Split, output: SystemOutput, classify: Classify) -> Parted:
    return _parted(split, output, CATEGORIES["blind"], classify, by_token=True)


def _parted(
    split: Split,
    output: SystemOutput,
    category: Category,
    classify: Classify,
    *,
    by_token: bool,
) -> Parted:
    conventions = split.corpus.conventions
    rows = []
    for compared in Scored(split.corpus, output).compared:
        gold, found = marks_of(compared, conventions, category)
        if by_token:
            tokens = tokenize(compared.document.text)
            gold, found = in_tokens(gold, tokens), in_tokens(found, tokens)
        rows.append(_counts(compared, {*gold}, {*found}, classify))
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 3, len(_ORDER))
    return Parted(*(table[:, at] for at in range(3)))


def _counts(
    compared: Comparison, gold: set[Mark], output: set[Mark], classify: Classify
) -> list[list[int]]:
    text = compared.document.text
    classes = {mark: classify(text[mark[0] : mark[1]]) for mark in gold | output}
    return [
        [sum(classes[mark] == each for mark in marks) for each in _ORDER]
        for marks in (gold & output, output, gold)
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
    return tuple(
        f"{value:.2f}" for each in _ORDER for value in parted.figures(each).values
    )


def _lost(parted: Parted) -> float:
    return parted.figures(SEEN).values[1] - parted.figures(UNSEEN).values[1]


def _shares(blind: Mapping[str, Parted]) -> str:
    counts = next(iter(blind.values())).gold.sum(axis=0)
    return f"{counts[0]:,} tokens are seen, {counts[1]:,} unseen"


def _findings(blind: Mapping[str, Parted], seed: int) -> Iterator[Finding]:
    published = [name for name in blind if name != OURS]
    best = max(published, key=lambda name: blind[name].figures(UNSEEN).values[1])
    recall = is_greater(
        blind[OURS].figures(UNSEEN).recall,
        blind[best].figures(UNSEEN).recall,
        seed=seed,
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
