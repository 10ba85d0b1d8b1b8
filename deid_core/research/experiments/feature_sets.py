"""Tokenizing and sets of features: He and others 2015, Table 5, Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_core.research.scoring.agreement import CATEGORIES
from deid_core.research.scoring.tables import Table

from .harness.cross_validated import english_account, english_output
from .harness.figures import Figures, Scored, figures, gold_of, improves, p_cell
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import Variant
from .wi_deid import FOLDS, SOURCE

_LEXICAL = ("word", "first4", "last4", "part_of_speech")
_ORTHOGRAPHIC = (
    *("shape", "characters", "has_letter", "has_capital", "capitalised"),
    *("all_capitals", "has_digit", "all_digits", "punctuation"),
    *("letters_and_digits", "digits_and_punctuation"),
)
_LEX, _ORT, _FULL = "Lex", "Lex+Ort", "Lex+Ort+Dic"
_WORDS, _RUNS = "without pre-tokenizing", "letters and digits apart"
_VARIANTS = {
    _LEX: Variant("wi-deid", only=_LEXICAL),
    _ORT: Variant("wi-deid", only=(*_LEXICAL, *_ORTHOGRAPHIC)),
    _FULL: Variant("wi-deid"),
    _WORDS: Variant("wi-deid", tokenizer="words"),
    _RUNS: Variant("wi-deid", tokenizer="runs"),
}
_MAIN = CATEGORIES["main"]
_ALL = "all"
_TYPES = ("NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID")
_LEAST = 20
By = Mapping[str, Sequence[Scored]]


def feature_sets(runner: Runner) -> Report:
    """Train WI-deId without pre-tokenizing, with one, two and three feature sets."""
    split = runner.meddocan_sample
    languages: Mapping[str, By] = {
        "Spanish": {
            name: [Scored(split.corpus, runner.output(variant, split))]
            for name, variant in _VARIANTS.items()
        },
        "English": {
            name: [*english_output(runner, variant, FOLDS).values()]
            for name, variant in _VARIANTS.items()
        },
    }
    return Report(
        "feature-sets",
        "What do tokenizing by patterns and each set of features give, by type?",
        (*runner.account(split), english_account(runner, FOLDS)),
        tuple(_table(name, each, runner.seed) for name, each in languages.items()),
        tuple(p for name, each in languages.items() for p in _plots(name, each)),
        tuple(
            f for n, each in languages.items() for f in _findings(n, each, runner.seed)
        ),
    )


def _figures(each: Sequence[Scored], of: str) -> Figures:
    return figures(each, category=_MAIN, of="" if of == _ALL else of)


def _types(by: By, least: int = 1) -> list[str]:
    first = by[_FULL]
    return [of for of in _TYPES if gold_of(first, _MAIN, of) >= least]


def _table(language: str, by: By, seed: int) -> Table:
    rows = tuple(
        (
            of,
            str(gold_of(by[_FULL], _MAIN, "" if of == _ALL else of)),
            *(_figures(each, of).cells[2] for each in by.values()),
            p_cell(
                _figures(by[_WORDS], of).f1, _figures(by[_FULL], of).f1, seed, star=True
            ),
            p_cell(
                _figures(by[_LEX], of).f1, _figures(by[_ORT], of).f1, seed, star=True
            ),
            p_cell(
                _figures(by[_ORT], of).f1, _figures(by[_FULL], of).f1, seed, star=True
            ),
        )
        for of in (*_types(by), _ALL)
    )
    columns = ("type", "gold", *by, "p pre-tokenizing", "p Ort", "p Dic")
    return Table(f"{language}: strict F1", columns, rows)


def _plots(language: str, by: By) -> list[Plot]:
    types = [*_types(by), _ALL]
    return [
        Plot(
            f"{language}, {title}",
            "",
            "strict F1, %",
            bars={
                shown: [_figures(by[name], of).values[2] for of in types]
                for name, shown in names.items()
            },
            names=types,
        )
        for title, names in (
            ("three sets of features", {each: each for each in (_LEX, _ORT, _FULL)}),
            ("tokenizing", {_WORDS: _WORDS, _FULL: "by patterns", _RUNS: _RUNS}),
        )
    ]


def _findings(language: str, by: By, seed: int) -> list[Finding]:
    pre = {_ALL: (_figures(by[_WORDS], _ALL), _figures(by[_FULL], _ALL))}
    return [
        improves(
            f"{language}: pre-tokenizing helps, significantly",
            f"{SOURCE}, Table 5 (.8638 to .9232)",
            seed,
            pre,
        ),
        _gain_most(
            language, "pre-tokenizing", by[_WORDS], by, ("AGE",), "Table 5 (.70 to .91)"
        ),
        _gain_most(
            language,
            "orthography",
            by[_LEX],
            {**by, _FULL: by[_ORT]},
            ("LOCATION", "CONTACT", "ID"),
            "Figure 2 (5, 8 and 4 points)",
        ),
        _gain_most(language, "dictionaries", by[_ORT], by, ("LOCATION",), "Figure 2"),
    ]


def _gain_most(
    language: str,
    what: str,
    without: Sequence[Scored],
    by: By,
    most: Sequence[str],
    place: str,
) -> Finding:
    """Return whether some types gain more than all others."""
    gains = {
        of: _figures(by[_FULL], of).values[2] - _figures(without, of).values[2]
        for of in _types(by, _LEAST)
    }
    others = [gain for of, gain in gains.items() if of not in most]
    named = [gains[of] for of in most if of in gains]
    holds = min(named, default=0) > max(0.0, *others) if others else None
    return Finding(
        f"{language}: the gain from {what} is greatest in {', '.join(most)}",
        f"{SOURCE}, {place}",
        holds if len(named) == len(most) else None,
        f"points of F1, types with {_LEAST} or more: "
        + ", ".join(f"{of} {gain:+.2f}" for of, gain in gains.items()),
    )
