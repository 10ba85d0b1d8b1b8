"""The name lexicon as feature and as rule, two other rules: Deleger and others 2013."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from deid_core.research.scoring.tables import Table

from .harness.cross_validated import english_account, english_output
from .harness.figures import Figures, Scored, classes_of, figures, improves
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import Variant

SOURCE = "Deleger and others 2013, De-identification systems"
_RECIPE = "mcrf2"
_RULES = ("email", "name_lexicon", "name_everywhere")
_WORDS = {"email": "EMAIL", "name_lexicon": "lexicon", "name_everywhere": "everywhere"}
_CLASSES = classes_of(_RECIPE)
_COLUMNS = (
    "lexicon as feature, rules",
    *("all P", "R", "F1", "NAME P", "R", "F1", "EMAIL P", "R", "F1"),
)
Setting = tuple[bool, tuple[str, ...]]
_LEXICON, _EVERYWHERE = ("name_lexicon",), ("name_everywhere",)


def post_rules(runner: Runner) -> Report:
    """Switch MCRF2's lexicon feature and three rules on and off, in all ways."""
    subsets = [each for each in _subsets() if not runner.quick or len(each) != 2]
    settings = [(feature, rules) for feature in (False, True) for rules in subsets]
    languages = {
        "Spanish": {each: _spanish(runner, *each) for each in settings},
        "English": {each: _english(runner, *each) for each in settings},
    }
    return Report(
        "post-rules",
        "What does the name lexicon give as a feature, what as a rule, and what do the "
        "other two rules give?",
        (*runner.account(runner.meddocan_sample), english_account(runner)),
        tuple(_table(name, each) for name, each in languages.items()),
        tuple(_plot(name, each) for name, each in languages.items()),
        tuple(
            finding
            for name, each in languages.items()
            for finding in _findings(name, each, runner.seed)
        ),
    )


def _subsets() -> list[tuple[str, ...]]:
    sizes = range(len(_RULES) + 1)
    return [rules for size in sizes for rules in combinations(_RULES, size)]


def _variant(*, feature: bool) -> Variant:
    return Variant(_RECIPE, without=() if feature else ("dictionary",))


def _spanish(runner: Runner, feature: bool, rules: tuple[str, ...]) -> list[Scored]:
    split = runner.meddocan_sample
    output = runner.output(_variant(feature=feature), split, post_rules=rules)
    return [Scored(split.corpus, output)]


def _english(runner: Runner, feature: bool, rules: tuple[str, ...]) -> list[Scored]:
    variant = _variant(feature=feature)
    return [*english_output(runner, variant, options={"post_rules": rules}).values()]


def _name_of(setting: Setting) -> str:
    feature, rules = setting
    words = ["all rules"] if rules == _RULES else [_WORDS[each] for each in rules]
    return " + ".join([*(["feature"] if feature else []), *words]) or "neither"


def _table(language: str, by: dict[Setting, list[Scored]]) -> Table:
    rows = tuple(
        (
            _name_of(setting),
            *_all(each).cells,
            *_of(each, "NAME").cells,
            *_of(each, "EMAIL").cells,
        )
        for setting, each in by.items()
    )
    return Table(f"{language}: span", _COLUMNS, rows)


def _plot(language: str, by: dict[Setting, list[Scored]]) -> Plot:
    shown = {
        setting: each
        for setting, each in by.items()
        if setting[1] in ((), _LEXICON, _EVERYWHERE, _RULES)
    }
    bars = {
        "all": [_all(each).values[2] for each in shown.values()],
        "NAME": [_of(each, "NAME").values[2] for each in shown.values()],
    }
    title = f"{language}, span F1 with lexicon and rules"
    return Plot(title, "", "F1, %", bars=bars, names=[*map(_name_of, shown)])


def _findings(
    language: str, by: dict[Setting, list[Scored]], seed: int
) -> list[Finding]:
    feature, with_rule = by[True, ()], by[True, _LEXICON]
    return [
        improves(
            f"{language}: the lexicon as a rule helps significantly beyond the feature",
            SOURCE,
            seed,
            {
                "NAME": (_of(feature, "NAME"), _of(with_rule, "NAME")),
                "all": (_all(feature), _all(with_rule)),
            },
        ),
        improves(
            f"{language}: the lexicon as a feature helps significantly",
            SOURCE,
            seed,
            {"NAME": (_of(by[False, ()], "NAME"), _of(feature, "NAME"))},
        ),
        _more(language, "NAME", "a name everywhere", feature, by[True, _EVERYWHERE]),
        _more(language, "EMAIL", "the EMAIL pattern", feature, by[True, ("email",)]),
    ]


def _more(
    language: str, of: str, what: str, without: list[Scored], with_it: list[Scored]
) -> Finding:
    """Return whether a rule raises the recall of a class."""
    before, after = _of(without, of).values[1], _of(with_it, of).values[1]
    there = bool(_of(without, of).recall.whole.sum())
    return Finding(
        f"{language}: the rule of {what} raises the recall of {of}",
        SOURCE,
        after > before if there else None,
        f"recall {before:.2f} to {after:.2f}" if there else f"no {of} is marked",
    )


def _all(each: Sequence[Scored]) -> Figures:
    return figures(each, category=_CLASSES)


def _of(each: Sequence[Scored], tag: str) -> Figures:
    return figures(each, category=_CLASSES, of=tag)
