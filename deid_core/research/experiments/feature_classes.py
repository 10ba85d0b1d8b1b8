"""Feature classes of Stat De-id, alone and left out: Tafvizi and Pacula, 5.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deid_core.research.scoring.measures import Measure

from .harness.figures import Scored, Verdict, is_greatest, is_least
from .harness.phi import (
    RECIPE,
    Phi,
    Results,
    bars,
    english_split,
    finding,
    phi_of,
    table,
)
from .harness.report import Finding, Report
from .harness.runner import Runner
from .harness.splits import Split
from .harness.systems import Variant, unavailable_groups

WORD, ORTHOGRAPHY, BIGRAMS = "word", "orthography", "lexical bigrams"
LINKS, HEADINGS = "syntactic bigrams", "headings"
CLASSES: Mapping[str, tuple[str, ...]] = {
    WORD: ("word",),
    ORTHOGRAPHY: ("capitalised", "punctuation", "is_number", "characters"),
    BIGRAMS: ("lexical_bigrams",),
    LINKS: ("syntactic_bigrams",),
    "part of speech": ("part_of_speech",),
    HEADINGS: ("heading",),
    "MeSH": ("mesh",),
    "dictionaries": ("dictionary",),
}
"""Sections 4.2 to 4.4."""
NOTHING_OUT, BOTH = "all classes", "word, orthography"
_UNAFFECTED = 0.5
"""Points; the paper has "not affected" for non-PHI, without figures."""
_ALONE, _WITHOUT = "One feature class alone", "One feature class left out"


def feature_classes(runner: Runner) -> Report:
    """Train Stat De-id on one class of features alone, and on all but one.

    On Spanish and on English notes, with Link Grammar and MeSH where they are
    installed.
    """
    splits = (runner.meddocan, english_split(runner))
    tables, plots, findings = [], [], list[Finding]()
    for split in splits:
        every = {NOTHING_OUT: _phi(runner, split, Variant(RECIPE))}
        alone, without = _alone(runner, split), _left_out(runner, split)
        for title, results in ((_ALONE, alone), (_WITHOUT, without)):
            named = f"{title}, {split.name}"
            tables.append(table(named, "features", {**every, **results}))
            plots.append(bars(named, {**every, **results}))
        findings += _of_one_alone(alone, split.name, runner.seed)
        findings += _of_one_left_out(
            every[NOTHING_OUT], without, split.name, runner.seed
        )
    return Report(
        "feature-classes",
        "Which features tell the words of PHI from others?",
        runner.account(*splits),
        tuple(tables),
        tuple(plots),
        tuple(findings),
    )


def _phi(runner: Runner, split: Split, variant: Variant) -> Phi:
    return phi_of(Scored(split.corpus, runner.output(variant, split)))


def _available(runner: Runner, split: Split) -> dict[str, tuple[str, ...]]:
    """Return the classes that are available in the language of the split."""
    missing = {*unavailable_groups(RECIPE, split.language, runner.mesh)}
    return {n: groups for n, groups in CLASSES.items() if missing.isdisjoint(groups)}


def _alone(runner: Runner, split: Split) -> dict[str, Phi]:
    return {
        name: _phi(runner, split, Variant(RECIPE, only=groups))
        for name, groups in _available(runner, split).items()
    }


def _left_out(runner: Runner, split: Split) -> dict[str, Phi]:
    chosen = {
        **_available(runner, split),
        BOTH: (*CLASSES[WORD], *CLASSES[ORTHOGRAPHY]),
    }
    return {
        name: _phi(runner, split, Variant(RECIPE, without=groups))
        for name, groups in chosen.items()
    }


def _of_one_alone(alone: Results, name: str, seed: int) -> Iterator[Finding]:
    f1 = {each: phi.phi.f1 for each, phi in alone.items()}
    best = is_greatest(BIGRAMS, f1, seed=seed)
    yield finding("lexical bigrams alone are the best class", "5.4.1", best, name)
    p, r, _ = alone[HEADINGS].phi.values
    nothing = Verdict(p == r == 0.0, f"P {p:.2f}, R {r:.2f}")
    yield finding("headings alone find nothing", "5.4.1", nothing, name)
    if LINKS in alone:
        links = is_least(
            LINKS, {n: alone[n].phi.recall for n in (LINKS, BIGRAMS)}, seed=seed
        )
        claim = "syntactic bigrams alone recall somewhat less than lexical ones"
        yield finding(claim, "5.4.1", links, name)


def _of_one_left_out(
    every: Phi, without: Results, name: str, seed: int
) -> Iterator[Finding]:
    singles = {each: phi.phi for each, phi in without.items() if each != BOTH}
    precision = {each: found.precision for each, found in singles.items()}
    worst = is_least(WORD, precision, seed=seed)
    yield finding("leaving out the word costs most precision", "5.4.2", worst, name)
    recall = {each: found.recall for each, found in singles.items()}
    lost = _least_of((WORD, ORTHOGRAPHY), recall, seed)
    claim = "leaving out the word or the orthography costs most recall"
    yield finding(claim, "5.4.2", lost, name)
    yield finding(
        "non-PHI precision and recall are not affected by leaving out one class",
        "5.4.2",
        _unaffected(every, [phi for n, phi in without.items() if n != BOTH]),
        name,
    )


def _least_of(
    names: tuple[str, ...], measures: Mapping[str, Measure], seed: int
) -> Verdict:
    """Return whether one of these is the least, ignoring the others of them."""
    lowest = min(names, key=lambda each: measures[each].value or 0.0)
    others = {n: m for n, m in measures.items() if n not in names}
    return is_least(lowest, {lowest: measures[lowest], **others}, seed=seed)


def _unaffected(every: Phi, without: list[Phi]) -> Verdict:
    whole = every.rest.values[:2]
    most = max(
        abs(one - other)
        for phi in without
        for one, other in zip(whole, phi.rest.values[:2], strict=True)
    )
    words = f"{most:.2f} points at most; held to be none below {_UNAFFECTED}"
    return Verdict(most < _UNAFFECTED, words)
