"""What the trained tagger gives the product's own system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deid_core.pipeline import Deidentifier
from deid_core.policy import load_policy
from deid_core.tagger.model_files import save_model

from ..corpora.conventions import PLAIN, conventions_for
from ..corpora.corpus import Corpus, GoldDocument
from ..scoring.coverage import cover, recall_by_kind, recall_by_label
from ..scoring.cross_validation import cross_validated
from ..scoring.measures import Measure
from ..scoring.resampling import difference
from ..scoring.tables import Table, shown
from ..synthetic_notes import Half
from ..training.recipe import load_recipe
from ..training.training import train
from .frame.our_tagger import with_tagger
from .frame.report import Finding, Plot, Report
from .frame.runner import Bench
from .frame.scores import covered, sides_of
from .frame.splits import carrier_notes
from .frame.systems import Said, digest, fingerprint

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
    """The same documents, without the tagger and with it."""

    corpus: Corpus
    without: Said
    tagged: Said


def tagger(bench: Bench) -> Report:
    """Score the hybrid with and without its tagger, on notes that it never saw.

    aci-bench's readable rows by cross-validation: five taggers, each trained on the
    other folds, the other corpora and invented notes.  The other corpora's unread rows
    and the stress set by the tagger that the library brings.
    """
    pairs = dict(_pairs(bench))
    rows = tuple(_row(name, pair, bench.seed) for name, pair in pairs.items())
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
        bench.account(),
        (
            Table("with and without the tagger", _COLUMNS, rows),
            Table(title, ("kind", "values", "without", "with"), tuple(kinds)),
        ),
        (Plot(title, "", "share found", bars=bars, names=[r[0] for r in hard]),),
        tuple(_findings(pairs)),
    )


def _pairs(bench: Bench) -> Iterator[tuple[str, Pair]]:
    yield _CROSSED, _cross_validated(bench)
    for name, corpus in bench.english_scored.items():
        yield name, _of_the_library(bench, corpus)
    notes = carrier_notes(bench.data, Half.STRESS, bench.size(400, 30), _STRESS_SEED)
    yield _STRESS, _of_the_library(bench, _plain("stress", notes))


def _of_the_library(bench: Bench, corpus: Corpus) -> Pair:
    return Pair(corpus, bench.ours(_WITHOUT, corpus), bench.ours(_WITH, corpus))


def _cross_validated(bench: Bench) -> Pair:
    corpus = bench.english["aci-bench"]
    others = [each for name, each in bench.english.items() if name != corpus.name]
    size = bench.size(4000, 60)
    notes = carrier_notes(bench.data, Half.TRAINING, size, bench.seed)
    others.append(_plain("carriers", notes))

    def system_of(learn: Sequence[GoldDocument]) -> Deidentifier:
        return _trained(bench, [replace(corpus, documents=tuple(learn)), *others])

    count = bench.size(_FOLDS, 2)
    said = cross_validated(corpus, count, bench.seed, system_of)
    return Pair(corpus, bench.ours(_WITHOUT, corpus), Said(tuple(said), 0.0))


def _trained(bench: Bench, corpora: list[Corpus]) -> Deidentifier:
    """Return the hybrid with a tagger that learned from these alone."""
    prints = [fingerprint(each.documents) for each in corpora]
    folder = bench.models / f"english-{digest(*prints, bench.seed)}"
    if not folder.exists():
        bench.tell("english: training")
        recipe = load_recipe("english")
        model = train(recipe, corpora, seed=bench.seed, version="laboratory")
        save_model(model, folder)
    # The library's model of small letters has learned from the rows that are scored.
    config = with_tagger(_WITH, model=str(folder), one_case_model="")
    return Deidentifier.from_config(config, load_policy("safe-harbor"))


def _plain(name: str, notes: tuple[GoldDocument, ...]) -> Corpus:
    return Corpus(name, "all", False, conventions_for(Path(name), PLAIN), notes)


def _row(name: str, pair: Pair, seed: int) -> tuple[str, ...]:
    without, tagged = (
        covered(pair.corpus, each) for each in (pair.without, pair.tagged)
    )

    def both(measure: str) -> tuple[str, str]:
        return shown(without.get(measure)), shown(tagged.get(measure))

    def p(measure: str) -> str:
        found = difference(without[measure], tagged[measure], seed=seed)
        return "-" if found is None else f"{found.p:.4f}"

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
    """Return recall by label and by what makes a value hard."""
    without, tagged = (_by_kind(pair.corpus, e) for e in (pair.without, pair.tagged))
    return [
        (of, f"{int(each.whole.sum()):,}", shown(each), shown(tagged[of]))
        for of, each in without.items()
    ]


def _by_kind(corpus: Corpus, said: Said) -> Mapping[str, Measure]:
    covers = [cover(each) for each in sides_of(corpus, said)]
    return {
        each.of: each for each in (*recall_by_label(covers), *recall_by_kind(covers))
    }


def _findings(pairs: Mapping[str, Pair]) -> Iterator[Finding]:
    for name, measure, aim in _AIMS:
        pair = pairs[name]
        reached = covered(pair.corpus, pair.tagged)[measure]
        if reached.value is None:
            continue
        least = measure in ("recall", "specificity")
        holds = reached.value >= aim if least else reached.value <= aim
        claim = f"{name}: {measure} {'>=' if least else '<='} {aim}"
        yield Finding(claim, _SOURCE, holds, shown(reached))
    names = _by_kind(pairs[_STRESS].corpus, pairs[_STRESS].tagged)[_ANY_NAME]
    holds = (names.value or 0.0) >= _NAMES_AIM
    claim = f"{_STRESS}: recall of names >= {_NAMES_AIM}"
    yield Finding(claim, _SOURCE, holds, shown(names))
