"""Recall for precision, up to a maximum: Deleger and others 2013, Figure 6."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deid_core.research.scoring.tables import Table

from .harness.cross_validated import english_account, english_output
from .harness.figures import BLIND, Figures, Scored, classes_of, figures, improves
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import Variant, pipeline_output, with_tagger

SOURCE = "Deleger and others 2013, Figure 6"
_CLASSES = classes_of("mcrf2")
_BIASES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_THRESHOLDS = (0.0, 0.85, 0.87, 0.89, 0.91, 0.93, 0.95, 0.97, 0.99)
_NONE = 0.0
Run = Callable[[float], Sequence[Scored]]


@dataclass(frozen=True, slots=True)
class _Point:
    """Figures at one value: spans by class, and tokens whatever their class."""

    span: Figures
    token: Figures

    @property
    def recall(self) -> float:
        """Recall of spans, in percent."""
        return self.span.values[1]

    @property
    def f1(self) -> float:
        """F1 of spans, in percent."""
        return self.span.values[2]


Sweep = Mapping[float, _Point]


def recall_bias(runner: Runner) -> Report:
    """Sweep Minkov's bias of MIST2 and ours, and the threshold of MCRF2 and ours."""
    biases, thresholds = _values(runner, _BIASES), _values(runner, _THRESHOLDS)
    by_bias = {
        "MIST2, Spanish": _sweep(biases, _spanish(runner, "mist2", "outside_bias")),
        "ours, Spanish": _sweep(biases, _ours(runner, "outside_bias")),
        "MIST2, English": _sweep(biases, _english(runner, "mist2", "outside_bias")),
    }
    by_threshold = {
        "MCRF2, Spanish": _sweep(
            thresholds, _spanish(runner, "mcrf2", "outside_below")
        ),
        "ours, Spanish": _sweep(thresholds, _ours(runner, "outside_below")),
        "MCRF2, English": _sweep(
            thresholds, _english(runner, "mcrf2", "outside_below")
        ),
    }
    both = {"bias": by_bias, "threshold": by_threshold}
    return Report(
        "recall-bias",
        "How much recall can be bought with precision, and where does it end?",
        (
            *runner.account(runner.meddocan_sample),
            english_account(runner),
            "bias: MIST writes it with the other sign; threshold 0 is none",
        ),
        tuple(
            _table(f"{name}, {how}", each)
            for how, sweeps in both.items()
            for name, each in sweeps.items()
        ),
        (*_plots("bias", by_bias), *_plots("threshold", by_threshold)),
        (
            *(
                _rises_and_falls(f"{name}, {how}", each)
                for how, sweeps in both.items()
                for name, each in sweeps.items()
            ),
            _helps_where_few(by_threshold["MCRF2, English"], runner.seed),
        ),
    )


def _values(runner: Runner, values: Sequence[float]) -> Sequence[float]:
    return values[:: runner.size(1, 4)]


def _sweep(values: Sequence[float], run: Run) -> Sweep:
    return {value: _point(run(value)) for value in values}


def _point(each: Sequence[Scored]) -> _Point:
    return _Point(
        figures(each, category=_CLASSES), figures(each, category=BLIND, by_token=True)
    )


def _option(name: str, value: float) -> dict[str, float | None]:
    # A threshold of 0 has no effect: no probability is as low.
    is_off = name == "outside_below" and value == _NONE
    return {name: None if is_off else value}


def _spanish(runner: Runner, recipe: str, option: str) -> Run:
    split = runner.meddocan_sample

    def run(value: float) -> list[Scored]:
        output = runner.output(Variant(recipe), split, **_option(option, value))
        return [Scored(split.corpus, output)]

    return run


def _english(runner: Runner, recipe: str, option: str) -> Run:
    def run(value: float) -> list[Scored]:
        options = _option(option, value)
        return [*english_output(runner, Variant(recipe), options=options).values()]

    return run


def _ours(runner: Runner, option: str) -> Run:
    corpus = runner.meddocan_sample.corpus

    def run(value: float) -> list[Scored]:
        runner.progress(f"meddocan: {option} {value}")
        config = with_tagger("meddocan", **_option(option, value))
        return [Scored(corpus, pipeline_output(config, corpus.documents))]

    return run


def _table(title: str, sweep: Sweep) -> Table:
    rows = tuple(
        (f"{value:g}", *each.span.cells, *each.token.cells[1:])
        for value, each in sweep.items()
    )
    columns = ("value", "span P", "R", "F1", "token R, blind", "F1")
    return Table(title, columns, rows)


def _plots(how: str, sweeps: Mapping[str, Sweep]) -> list[Plot]:
    across = {"bias": "bias", "threshold": "threshold (left: none)"}[how]
    # The position of "none" is close to the lowest threshold.
    none = {"bias": 0.0, "threshold": 0.83}[how]
    lines = {
        measure: {
            name: [(v or none, getattr(each, field)) for v, each in sweep.items()]
            for name, sweep in sweeps.items()
        }
        for measure, field in (("recall", "recall"), ("F1", "f1"))
    }
    return [
        Plot(f"Span {measure} by {how}", across, f"{measure}, %", lines=each)
        for measure, each in lines.items()
    ]


def _rises_and_falls(name: str, sweep: Sweep) -> Finding:
    recalls = {value: each.recall for value, each in sweep.items()}
    first, *_, last = recalls.values()
    best = max(recalls, key=lambda value: recalls[value])
    return Finding(
        f"{name}: recall by span rises to a maximum, then falls",
        f"{SOURCE} (MIST2 93.58 at -3, MCRF2 93.66 at .93)",
        first < recalls[best] > last,
        f"recall {first:.2f} without, {recalls[best]:.2f} at {best:g}, {last:.2f} at "
        f"{[*recalls][-1]:g}; F1 {sweep[_NONE].f1:.2f} without, {sweep[best].f1:.2f} "
        "there",
    )


def _helps_where_few(sweep: Sweep, seed: int) -> Finding:
    raised = {value: each for value, each in sweep.items() if value != _NONE}
    best = max(raised, key=lambda value: raised[value].token.values[2])
    return improves(
        "English: where identifiers are few, the best threshold raises F by token, "
        "significantly",
        "Deleger and others 2013, Results (PhysioNet 70.60 to 74.61 at .97)",
        seed,
        {f"blind, {best:g}": (sweep[_NONE].token, raised[best].token)},
    )
