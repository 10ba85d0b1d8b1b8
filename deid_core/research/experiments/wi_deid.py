"""Three runs of WI-deId, and ours: He and others 2015, Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_core.labels import Label
from deid_core.research.scoring.agreement import (
    CATEGORIES,
    Agree,
    agreement,
    end_within_two,
    exact,
)
from deid_core.research.scoring.tables import Table

from .harness.cross_validated import english_account, english_output
from .harness.figures import Figures, Scored, figures, gold_of, improves, pairs_table
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import Variant

SOURCE = "He and others 2015"
RUNS = ("wi-deid-official", "wi-deid-1", "wi-deid")
FOLDS = 2
"""Folds of the English corpora: training these systems takes long."""
_OFFICIAL, _FIRST, _FULL = RUNS
_OURS = "ours"
_I2B2, _HIPAA = CATEGORIES["i2b2"], CATEGORIES["HIPAA"]
_LEVELS: Mapping[str, tuple[Agree, bool]] = {
    "token": (exact, True),
    "strict": (exact, False),
    "relaxed": (end_within_two, False),
}
_SETS = {"i2b2": _I2B2, "HIPAA": _HIPAA}

By = Mapping[str, Sequence[Scored]]


def wi_deid(runner: Runner) -> Report:
    """Score WI-deId's three runs: strict, relaxed, token; types of i2b2, of HIPAA."""
    split = runner.meddocan_sample
    spanish: dict[str, Sequence[Scored]] = {
        name: [Scored(split.corpus, runner.output(Variant(name), split))]
        for name in RUNS
    }
    spanish[_OURS] = [
        Scored(split.corpus, runner.preset_output("meddocan", split.corpus))
    ]
    english: dict[str, Sequence[Scored]] = {
        name: [*english_output(runner, Variant(name), FOLDS).values()] for name in RUNS
    }
    languages: Mapping[str, By] = {"Spanish": spanish, "English": english}
    tables = [
        t for name, each in languages.items() for t in _tables(name, each, runner)
    ]
    return Report(
        "wi-deid",
        "What do tokenizing by patterns and more features give, at each level of "
        "agreement?",
        (
            *runner.account(split),
            "ours as it comes: its tagger learned all 500 documents",
            english_account(runner, FOLDS),
        ),
        tuple(tables),
        tuple(_plot(name, each) for name, each in languages.items()),
        tuple(
            f for n, each in languages.items() for f in _findings(n, each, runner.seed)
        ),
    )


def _at(each: Sequence[Scored], types: str, level: str) -> Figures:
    agree, by_token = _LEVELS[level]
    return figures(each, category=_SETS[types], agree=agree, by_token=by_token)


def _tables(language: str, by: By, runner: Runner) -> list[Table]:
    strict = {name: _at(each, "i2b2", "strict") for name, each in by.items()}
    return [
        _levels(language, by),
        _macro(language, by),
        _types(language, by),
        pairs_table(
            f"{language}: approximate randomisation, strict", strict, runner.seed
        ),
    ]


def _levels(language: str, by: By) -> Table:
    rows = tuple(
        (
            f"{types} {level}",
            *(cell for each in by.values() for cell in _at(each, types, level).cells),
        )
        for types in _SETS
        for level in _LEVELS
    )
    columns = ("types, level", *(c for name in by for c in (f"{name} P", "R", "F1")))
    return Table(f"{language}: micro", columns, rows)


def _macro(language: str, by: By) -> Table:
    rows = tuple(
        (
            f"{types} {level}",
            *(f"{_by_record(each, types, level):.2f}" for each in by.values()),
        )
        for types in _SETS
        for level in _LEVELS
    )
    title = f"{language}: macro, F1 of each record and their mean"
    return Table(title, ("types, level", *by), rows)


def _by_record(each: Sequence[Scored], types: str, level: str) -> float:
    """Return the mean F1 of records with a gold or predicted mark, in percent."""
    agree, by_token = _LEVELS[level]
    total = records = 0.0
    for scored in each:
        found = agreement(
            scored.compared,
            scored.corpus.conventions,
            agree=agree,
            category=_SETS[types],
            by_token=by_token,
        )
        right, both = (
            found.right.sum(axis=1),
            (found.predicted + found.gold).sum(axis=1),
        )
        there = both > 0
        total += float((2 * right[there] / both[there]).sum())
        records += int(there.sum())
    return 100 * total / records if records else 0.0


def _types(language: str, by: By) -> Table:
    first = next(iter(by.values()))
    rows = []
    for label in Label:
        if gold := gold_of(first, _I2B2, label.value):
            scored = (figures(e, category=_I2B2, of=label.value) for e in by.values())
            rows.append((label.value, str(gold), *(one.cells[2] for one in scored)))
    return Table(f"{language}: strict F1 by type", ("type", "gold", *by), tuple(rows))


def _plot(language: str, by: By) -> Plot:
    names = [f"{types} {level}" for types in _SETS for level in _LEVELS]
    bars = {
        name: [_at(each, t, level).values[2] for t in _SETS for level in _LEVELS]
        for name, each in by.items()
    }
    title = f"{language}, micro F1 of WI-deId"
    return Plot(title, "", "F1, %", bars=bars, names=names)


def _findings(language: str, by: By, seed: int) -> list[Finding]:
    strict = {name: _at(by[name], "i2b2", "strict") for name in RUNS}
    table = f"{SOURCE}, Table 3"
    found = [
        improves(
            f"{language}: patterns and all features of Table 2 beat the official run",
            f"{table} (.8852, .9232)",
            seed,
            {"strict": (strict[_OFFICIAL], strict[_FULL])},
        ),
        improves(
            f"{language}: the neighbours' orthography and dictionaries help",
            f"{table} (.9180, .9232)",
            seed,
            {"strict": (strict[_FIRST], strict[_FULL])},
        ),
        _levels_rise(language, by[_FULL]),
        _hipaa_higher(language, by[_FULL]),
    ]
    if _OURS in by:
        mine = {"strict": (strict[_FULL], _at(by[_OURS], "i2b2", "strict"))}
        claim = f"{language}: ours is better than WI-deId (it learned more documents)"
        found.append(improves(claim, "not of the paper", seed, mine))
    return found


def _levels_rise(language: str, each: Sequence[Scored]) -> Finding:
    f1 = {level: _at(each, "i2b2", level).values[2] for level in _LEVELS}
    return Finding(
        f"{language}: F is higher relaxed than strict, and higher still by token",
        f"{SOURCE}, Table 3 (.9232, .9256, .9514)",
        f1["strict"] < f1["relaxed"] < f1["token"],
        ", ".join(f"{level} {value:.2f}" for level, value in f1.items()),
    )


def _hipaa_higher(language: str, each: Sequence[Scored]) -> Finding:
    i2b2, hipaa = (_at(each, types, "strict").values[2] for types in _SETS)
    return Finding(
        f"{language}: F is higher on HIPAA's types than on i2b2's",
        f"{SOURCE}, Table 3 (.9490, .9232)",
        hipaa > i2b2,
        f"strict: HIPAA {hipaa:.2f}, i2b2 {i2b2:.2f}",
    )
