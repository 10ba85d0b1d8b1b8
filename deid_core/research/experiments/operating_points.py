"""Recall against falsely redacted words: our presets, what lies between, and others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deid_core.config import load_preset
from deid_core.document import Annotation, Span
from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.research.corpora.corpus import (
    CASES,
    Corpus,
    Prediction,
    in_case,
    without_records,
)
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring.coverage import cover, coverage_measures, recall_by_tag
from deid_core.research.scoring.gold_and_predicted import comparisons_of
from deid_core.research.scoring.measures import Measure, intervals
from deid_core.research.scoring.tables import Table, classes_table, share_of, shown

from . import other_systems
from .harness.figures import is_greater
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import TAGGER, TaggerSweep

PRESETS = ("hybrid", "hybrid-recall")
CORPORA = {
    "written notes": "written_notes/dev",
    "dense notes, US": "dense-notes/us.txt",
    "dense notes, other countries": "dense-notes/intl.txt",
}
"""The notes by name: the path in the data folder, or in the project's tests."""
_TESTS = Path(__file__).parents[3] / "tests"
_LIBRARIES = Path(".benchmark")
_STEPS = tuple(step / 4 for step in range(-4, 7))
_OF_PRESETS = dict(enumerate(PRESETS))
# With what `TaggerOptions` and `QuietOptions` allow.
_SETTINGS = {
    "outside_bias": (-10.0, 10.0),
    "prose_bias": (-10.0, 10.0),
    "one_case_bias": (-10.0, 10.0),
    "threshold": (0.0, 1.0),
    "quiet_threshold": (0.0, 1.0),
}
_AS_IS = "as-is"
_OTHER_CASES = tuple(case for case in CASES if case != _AS_IS)
# The scales of plots have no 0, that of recall no 1.
_LEAST_FALSE, _LEAST_RECALL, _MOST_RECALL = 0.1, 0.01, 0.995
_RECALL, _FALSE, _QUIET = "recall", "false per 1,000", "specificity"


@dataclass(frozen=True, slots=True)
class _Notes:
    """Notes to score, without records.

    Args:
        by_case: The same notes in each letter case.
    """

    name: str
    by_case: Mapping[str, Corpus]


@dataclass(frozen=True, slots=True)
class _Point:
    """Coverage by a system at one setting.

    Args:
        measures: By name.
        classes: Recall by the tag of the corpus.
        refused: Number of refused notes.
    """

    measures: Mapping[str, Measure]
    classes: Sequence[Measure]
    refused: int

    @classmethod
    def of(cls, corpus: Corpus, predictions: Sequence[Prediction]) -> _Point:
        covers = [cover(each) for each in comparisons_of(corpus, predictions)]
        return cls(
            {each.name: each for each in coverage_measures(covers)},
            recall_by_tag(covers),
            sum(bool(each.refusal) for each in predictions),
        )

    @property
    def place(self) -> tuple[float, float]:
        """Falsely redacted words in 1,000, and recall, as far as plots go."""
        recall = min(_MOST_RECALL, max(_LEAST_RECALL, self.recall))
        return max(self.false, _LEAST_FALSE), recall

    @property
    def recall(self) -> float:
        return self.measures[_RECALL].value or 0.0

    @property
    def false(self) -> float:
        return self.measures[_FALSE].value or 0.0

    def cells(self, *names: str) -> tuple[str, ...]:
        """Return measures as tables show them."""
        return tuple(shown(self.measures[name]) for name in names)


Curve = Mapping[float, _Point]
"""Points by step: 0 is the first preset, 1 the second."""


@dataclass(frozen=True, slots=True)
class _Result:
    """All systems on the same notes.

    Args:
        curves: Ours by letter case.
        others: Other systems by name and letter case.
    """

    notes: _Notes
    curves: Mapping[str, Curve]
    others: Mapping[str, Mapping[str, _Point]]

    @property
    def systems(self) -> dict[str, Mapping[str, _Point]]:
        """The presets, then the other systems, each by letter case."""
        ours = {
            name: {case: curve[step] for case, curve in self.curves.items()}
            for step, name in _OF_PRESETS.items()
        }
        return {**ours, **self.others}


def operating_points(runner: Runner) -> Report:
    """Draw recall against falsely redacted words, for ours and for other systems.

    The biases and the threshold of our tagger move on the straight line through those
    of both presets: at step 0 they are those of `hybrid`, at step 1 those of
    `hybrid-recall`.  Everything else runs once.  No system is given a patient's record.
    A value counts as found when all its letters and digits are covered, whatever the
    label.
    """
    notes, absent = _notes(runner)
    if not notes:
        raise ConfigError(f"{runner.data}: no notes; needs one of {', '.join(absent)}")
    curves = [_curves(runner, each) for each in notes]
    others, lines = _others(runner, notes)
    results = [
        _Result(each, curve, {name: found[each.name] for name, found in others.items()})
        for each, curve in zip(notes, curves, strict=True)
    ]
    return Report(
        "operating-points",
        "How much of what identifies a patient is found, at how many words falsely "
        "redacted, and what do other systems reach?",
        (
            *(_account(each) for each in notes),
            *(f"left out, as it is not there: {each}" for each in absent),
            *lines,
            *runner.account(),
        ),
        tuple(table for each in results for table in _tables(each, runner.seed)),
        tuple(plot for each in results for plot in _plots(each)),
        tuple(_beaten(name, results, runner.seed) for name in others),
    )


def _notes(runner: Runner) -> tuple[list[_Notes], list[str]]:
    """Return the notes that are there, and the paths of those that are not."""
    found, absent = [], []
    for name, path in CORPORA.items():
        place = next(
            (p for p in (runner.data / path, _TESTS / path) if p.exists()), None
        )
        if place is None:
            absent.append(path)
            continue
        corpus = without_records(read_corpus(place))
        documents = corpus.documents[: runner.size(len(corpus.documents), 10)]
        corpus = replace(corpus, documents=documents)
        found.append(_Notes(name, {case: in_case(corpus, case) for case in CASES}))
    return found, absent


def _account(notes: _Notes) -> str:
    documents = notes.by_case[_AS_IS].documents
    words = sum(len(each.text.split()) for each in documents)
    return f"{notes.name}: {len(documents)} notes, {words:,} words"


def _curves(runner: Runner, notes: _Notes) -> dict[str, Curve]:
    steps = (*_OF_PRESETS, *_STEPS[:: runner.size(1, 4)])
    curves: dict[str, Curve] = {}
    for case, corpus in notes.by_case.items():
        runner.progress(f"{notes.name}, {case}: our curve")
        sweep = TaggerSweep(PRESETS[0], corpus.documents)
        curves[case] = {
            step: _Point.of(corpus, sweep.output(**settings(step)).predictions)
            for step in sorted({*map(float, steps)})
        }
    return curves


def settings(step: float) -> dict[str, float]:
    """Return the options of our tagger and of quiet notes at a step of the curve."""
    first, second = map(_settings_of, PRESETS)
    return {
        name: min(most, max(least, first[name] + step * (second[name] - first[name])))
        for name, (least, most) in _SETTINGS.items()
    }


def _settings_of(preset: str) -> dict[str, float]:
    config = load_preset(preset)
    options = config.options[TAGGER].model_dump()
    options["quiet_threshold"] = config.quiet.threshold if config.quiet else 0.0
    if options["prose_bias"] is None:
        # Prose has the bias of all notes.
        options["prose_bias"] = options["outside_bias"]
    return {name: options[name] for name in _SETTINGS}


def _others(
    runner: Runner, notes: Sequence[_Notes]
) -> tuple[dict[str, dict[str, dict[str, _Point]]], list[str]]:
    """Return the points of other systems by notes and case, and lines about them."""
    texts = {
        f"{each.name}/{case}": [document.text for document in corpus.documents]
        for each in notes
        for case, corpus in each.by_case.items()
    }
    found, lines = {}, []
    for name in other_systems.SYSTEMS:
        runner.progress(f"{name}: reading {sum(map(len, texts.values()))} notes")
        answer = other_systems.ask(
            name, texts, wanted=other_systems.SPANS, libraries=runner.libraries
        )
        if "missing" in answer:
            lines.append(f"left out: {name}: {answer['missing']}")
            continue
        lines.append(f"{name}: {answer['title']}")
        found[name] = {
            each.name: {
                case: _Point.of(
                    corpus,
                    [*map(_prediction, answer["spans"][f"{each.name}/{case}"])],
                )
                for case, corpus in each.by_case.items()
            }
            for each in notes
        }
    if len(found) < len(other_systems.SYSTEMS):
        # Apart from this environment, whose versions they would change.
        folder = runner.libraries or _LIBRARIES
        command = other_systems.how_to_install(folder)
        lines.append(f"to add what is left out: {command}; then --libraries {folder}")
    return found, lines


def _prediction(places: Sequence[tuple[int, int]] | None) -> Prediction:
    """Return what another system redacts, whatever it calls that."""
    if places is None:
        return Prediction((), refusal="failed")
    joined: list[tuple[int, int]] = []
    for start, end in sorted(map(tuple, places)):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    # As dates, so that a year alone is no error, as in ours.
    return Prediction(
        tuple(
            Annotation(Span(start, end), Label.DATE, 1.0, "other")
            for start, end in joined
            if start < end
        )
    )


def _tables(result: _Result, seed: int) -> Iterator[Table]:
    name = result.notes.name
    rows = [
        (system, case, *_row(point, seed))
        for system, cases in result.systems.items()
        for case, point in cases.items()
    ]
    columns = (
        *("system", "letters", "recall", "95% interval"),
        *("false in 1,000", "95% interval", "quiet untouched", "refused"),
    )
    yield Table(f"{name}: systems", columns, tuple(rows))
    yield _curve_table(result)
    yield classes_table(
        f"{name}: recall by class",
        {each: cases[_AS_IS].classes for each, cases in result.systems.items()},
    )
    yield classes_table(
        f"{name}: recall by class and letter case",
        {
            f"{preset}, {case}": result.systems[preset][case].classes
            for preset in PRESETS
            for case in CASES
        },
    )


def _row(point: _Point, seed: int) -> Iterator[str]:
    pair = [point.measures[each] for each in (_RECALL, _FALSE)]
    for measure, found in zip(pair, intervals(pair, seed=seed), strict=True):
        digits = 2 if measure.scale > 1 else 4
        yield shown(measure)
        yield (
            "-"
            if found is None
            else (f"{found.low:.{digits}f} to {found.high:.{digits}f}")
        )
    yield share_of(point.measures[_QUIET])
    yield str(point.refused)


def _curve_table(result: _Result) -> Table:
    used = {step: settings(step) for step in result.curves[_AS_IS]}
    names = [*used[0]]
    rows = [
        (
            f"{step:g}{_named(step)}",
            *(f"{options[name]:g}" for name in names),
            *result.curves[_AS_IS][step].cells(_RECALL, _FALSE, _QUIET),
            *(
                cell
                for case in _OTHER_CASES
                for cell in result.curves[case][step].cells(_RECALL, _FALSE)
            ),
        )
        for step, options in used.items()
    ]
    columns = (
        *("step", *names, "recall", "false in 1,000", "quiet untouched"),
        *(f"{case}: {of}" for case in _OTHER_CASES for of in ("R", "false")),
    )
    return Table(f"{result.notes.name}: our curve", columns, tuple(rows))


def _named(step: float) -> str:
    return f" ({_OF_PRESETS[int(step)]})" if step in _OF_PRESETS else ""


def _plots(result: _Result) -> list[Plot]:
    name = result.notes.name
    across, up = "falsely redacted words in 1,000", "recall of values"
    lines = {
        case: [point.place for point in curve.values()]
        for case, curve in result.curves.items()
    }
    if lines["upper"] == lines["lower"]:
        lines["upper and lower"] = lines.pop("lower")
        del lines["upper"]
    points = {each: cases[_AS_IS].place for each, cases in result.systems.items()}
    return [
        Plot(
            f"Operating points, {name}",
            across,
            up,
            lines={"ours, from few to many": lines[_AS_IS]},
            points=points,
            scale="decades",
            is_logit=True,
        ),
        Plot(
            f"Letter case, {name}",
            across,
            up,
            lines=lines,
            scale="decades",
            is_logit=True,
        ),
    ]


def _beaten(system: str, results: Sequence[_Result], seed: int) -> Finding:
    """Return whether our curve finds more than another system at fewer false words."""
    holds: list[bool | None] = []
    words = []
    for result in results:
        theirs = result.others[system][_AS_IS]
        curve = result.curves[_AS_IS]
        cheaper = [step for step, point in curve.items() if point.false < theirs.false]
        said = f"{result.notes.name}: {theirs.recall:.3f} at {theirs.false:.1f}, ours "
        if not cheaper:
            holds.append(False)
            words.append(f"{said}nowhere at fewer")
            continue
        step = max(cheaper, key=lambda each: curve[each].recall)
        found = is_greater(
            curve[step].measures[_RECALL], theirs.measures[_RECALL], seed=seed
        )
        holds.append(found.holds)
        ours = curve[step]
        words.append(f"{said}{ours.recall:.3f} at {ours.false:.1f} (step {step:g})")
    return Finding(
        f"ours finds more than {system} and redacts fewer other words, on all notes",
        "the project's aims",
        False if False in holds else None if None in holds else True,
        "; ".join(words),
    )
