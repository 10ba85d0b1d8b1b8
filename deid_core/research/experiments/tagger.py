"""Measure what the trained tagger adds to the product's own system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deid_core.pipeline import Deidentifier
from deid_core.policy import load_policy
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.scoring.coverage import cover, recall_by_kind, recall_by_label
from deid_core.research.scoring.measures import Measure
from deid_core.research.scoring.predict import cross_validated
from deid_core.research.scoring.tables import Table, shown
from deid_core.research.synthetic_notes import Half

from .harness.figures import Scored, coverage_of, p_cell
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import invented_notes
from .harness.systems import (
    SystemOutput,
    digest,
    fingerprint,
    train_tagger,
    with_tagger,
)

_FOLDS, _STRESS_SEED = 5, 1
_WITH, _WITHOUT = "hybrid", "lexical"
_COLUMNS = (
    "notes",
    *("found without", "with", "p"),
    *("false in 1,000 without", "with", "p"),
    *("decoys % without", "with", "specificity without", "with"),
)
_SOURCE = "the project's aims"
_STRESS, _CROSSED = "stress set", "aci-bench, by folds"
_ANY_NAME, _NAMES_AIM = "any name", 0.97
_AIMS = (
    (_CROSSED, "recall", 0.995),
    (_CROSSED, "false per 1,000", 0.2),
    ("aci-bench", "recall", 0.995),
    ("aci-bench", "false per 1,000", 0.2),
    ("mtsamples", "recall", 0.98),
    ("mtsamples", "false per 1,000", 0.5),
    ("mtsamples", "decoys touched %", 2.0),
    ("asq-phi", "recall", 0.99),
    ("asq-phi", "specificity", 0.97),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """The output on the same documents without the tagger and with it."""

    corpus: Corpus
    without: SystemOutput
    tagged: SystemOutput

    @property
    def scored(self) -> tuple[Scored, Scored]:
        """The corpus without the tagger and with it."""
        return Scored(self.corpus, self.without), Scored(self.corpus, self.tagged)


def tagger(runner: Runner) -> Report:
    """Score the hybrid with and without its tagger, on notes it was not trained on.

    The development part of aci-bench is cross-validated: five taggers, each trained on
    the other folds, the other corpora and synthetic notes.  The test parts of all
    corpora and the stress set are scored with the library's tagger.
    """
    pairs = dict(_pairs(runner))
    rows = tuple(_row(name, pair, runner.seed) for name, pair in pairs.items())
    kinds = _kinds(pairs[_STRESS])
    hard = [
        row for row in kinds if row[0].startswith(("NAME", "name")) or " " in row[0]
    ]
    bars = {
        "without": [float(row[2]) for row in hard],
        "with": [float(row[3]) for row in hard],
    }
    title = "Stress set by kind of value"
    return Report(
        "tagger",
        "What does the trained tagger find that rules and lexicons miss, and what does "
        "it cost?",
        runner.account(),
        (
            Table("with and without the tagger", _COLUMNS, rows),
            Table(title, ("kind", "values", "without", "with"), tuple(kinds)),
        ),
        (Plot(title, "", "share found", bars=bars, names=[r[0] for r in hard]),),
        tuple(_findings(pairs)),
    )


def _pairs(runner: Runner) -> Iterator[tuple[str, Pair]]:
    yield _CROSSED, _cross_validated(runner)
    for name, corpus in runner.english_scored.items():
        yield name, _of_the_library(runner, corpus)
    notes = invented_notes(runner.data, Half.STRESS, runner.size(400, 30), _STRESS_SEED)
    yield _STRESS, _of_the_library(runner, _plain("stress", notes))


def _of_the_library(runner: Runner, corpus: Corpus) -> Pair:
    return Pair(
        corpus,
        runner.preset_output(_WITHOUT, corpus),
        runner.preset_output(_WITH, corpus),
    )


def _cross_validated(runner: Runner) -> Pair:
    corpus = runner.english["aci-bench"]
    others = [each for name, each in runner.english.items() if name != corpus.name]
    size = runner.size(4000, 60)
    notes = invented_notes(runner.data, Half.TRAINING, size, runner.seed)
    others.append(_plain("carriers", notes))

    def system_of(learn: Sequence[GoldDocument]) -> Deidentifier:
        return _trained(runner, [replace(corpus, documents=tuple(learn)), *others])

    count = runner.size(_FOLDS, 2)
    output = cross_validated(corpus, count, runner.seed, system_of)
    return Pair(
        corpus, runner.preset_output(_WITHOUT, corpus), SystemOutput(tuple(output), 0.0)
    )


def _trained(runner: Runner, corpora: Sequence[Corpus]) -> Deidentifier:
    """Return the hybrid with a tagger that was trained on these corpora alone."""
    prints = [fingerprint(each.documents) for each in corpora]
    folder = runner.models / f"english-{digest(*prints, runner.seed)}"
    runner.progress("english: training")
    train_tagger("english", corpora, folder, runner.seed, version="laboratory")
    # The library's model of lower case was trained on the rows that are scored.
    config = with_tagger(_WITH, model=str(folder), one_case_model="")
    return Deidentifier.from_config(config, load_policy("safe-harbor"))


def _plain(name: str, notes: tuple[GoldDocument, ...]) -> Corpus:
    return Corpus(name, "all", False, conventions_for(Path(name), PLAIN), notes)


def _row(name: str, pair: Pair, seed: int) -> tuple[str, ...]:
    without, tagged = map(coverage_of, pair.scored)

    def both(measure: str) -> tuple[str, str]:
        return shown(without.get(measure)), shown(tagged.get(measure))

    def p(measure: str) -> str:
        return p_cell(without[measure], tagged[measure], seed)

    return (
        f"{name} {pair.corpus.part}",
        *both("recall"),
        p("recall"),
        *both("false per 1,000"),
        p("false per 1,000"),
        *both("decoys touched %"),
        *both("specificity"),
    )


def _kinds(pair: Pair) -> list[tuple[str, ...]]:
    """Return recall by label and by kind."""
    without, tagged = map(_by_kind, pair.scored)
    return [
        (of, f"{int(each.whole.sum()):,}", shown(each), shown(tagged[of]))
        for of, each in without.items()
    ]


def _by_kind(scored: Scored) -> Mapping[str, Measure]:
    covers = [cover(each) for each in scored.compared]
    return {
        each.of: each for each in (*recall_by_label(covers), *recall_by_kind(covers))
    }


def _findings(pairs: Mapping[str, Pair]) -> Iterator[Finding]:
    for name, measure, aim in _AIMS:
        pair = pairs[name]
        reached = coverage_of(pair.scored[1])[measure]
        if reached.value is None:
            continue
        least = measure in ("recall", "specificity")
        holds = reached.value >= aim if least else reached.value <= aim
        claim = f"{name}: {measure} {'>=' if least else '<='} {aim}"
        yield Finding(claim, _SOURCE, holds, shown(reached))
    names = _by_kind(pairs[_STRESS].scored[1])[_ANY_NAME]
    holds = (names.value or 0.0) >= _NAMES_AIM
    claim = f"{_STRESS}: recall of names >= {_NAMES_AIM}"
    yield Finding(claim, _SOURCE, holds, shown(names))
