"""Deleger and others 2013, Figure 6: recall bought with precision, until it falls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..scoring.tables import Table
from .frame.cross_validated import english_account, english_crossed, few
from .frame.joint import BLIND, Scored, better, joint
from .frame.our_tagger import with_tagger
from .frame.report import Finding, Plot, Report
from .frame.runner import Bench
from .frame.scores import Figures, classes_of
from .frame.systems import Variant, pipeline_says

SOURCE = "Deleger and others 2013, Figure 6"
_CLASSES = classes_of("mcrf2")
_BIASES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_THRESHOLDS = (0.0, 0.85, 0.87, 0.89, 0.91, 0.93, 0.95, 0.97, 0.99)
_NONE = 0.0
Say = Callable[[float], Sequence[Scored]]


@dataclass(frozen=True, slots=True)
class _Point:
    """Figures at one value: spans by class, tokens whatever their class."""

    span: Figures
    token: Figures

    @property
    def recall(self) -> float:
        """Of spans, in percent."""
        return self.span.values[1]

    @property
    def f1(self) -> float:
        """Likewise."""
        return self.span.values[2]


Sweep = Mapping[float, _Point]


def recall_bias(bench: Bench) -> Report:
    """Sweep Minkov's bias (MIST2, ours) and the threshold of MCRF2 (ours, too)."""
    biases, thresholds = _values(bench, _BIASES), _values(bench, _THRESHOLDS)
    by_bias = {
        "MIST2, Spanish": _sweep(biases, _spanish(bench, "mist2", "outside_bias")),
        "ours, Spanish": _sweep(biases, _ours(bench, "outside_bias")),
        "MIST2, English": _sweep(biases, _english(bench, "mist2", "outside_bias")),
    }
    by_threshold = {
        "MCRF2, Spanish": _sweep(thresholds, _spanish(bench, "mcrf2", "outside_below")),
        "ours, Spanish": _sweep(thresholds, _ours(bench, "outside_below")),
        "MCRF2, English": _sweep(thresholds, _english(bench, "mcrf2", "outside_below")),
    }
    both = {"bias": by_bias, "threshold": by_threshold}
    return Report(
        "recall-bias",
        "How much recall can be bought with precision, and where does it end?",
        (
            *bench.account(few(bench)),
            english_account(bench),
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
            _helps_where_few(by_threshold["MCRF2, English"], bench.seed),
        ),
    )


def _values(bench: Bench, values: Sequence[float]) -> Sequence[float]:
    return values[:: bench.size(1, 4)]


def _sweep(values: Sequence[float], say: Say) -> Sweep:
    return {value: _point(say(value)) for value in values}


def _point(each: Sequence[Scored]) -> _Point:
    return _Point(
        joint(each, category=_CLASSES), joint(each, category=BLIND, by_token=True)
    )


def _option(name: str, value: float) -> dict[str, float | None]:
    # A threshold of 0 is none: no probability is as low.
    is_off = name == "outside_below" and value == _NONE
    return {name: None if is_off else value}


def _spanish(bench: Bench, recipe: str, option: str) -> Say:
    split = few(bench)

    def say(value: float) -> list[Scored]:
        said = bench.said(Variant(recipe), split, **_option(option, value))
        return [Scored(split.corpus, said)]

    return say


def _english(bench: Bench, recipe: str, option: str) -> Say:
    def say(value: float) -> list[Scored]:
        asked = _option(option, value)
        return [*english_crossed(bench, Variant(recipe), options=asked).values()]

    return say


def _ours(bench: Bench, option: str) -> Say:
    corpus = few(bench).corpus

    def say(value: float) -> list[Scored]:
        bench.tell(f"meddocan: {option} {value}")
        config = with_tagger("meddocan", **_option(option, value))
        return [Scored(corpus, pipeline_says(config, corpus.documents))]

    return say


def _table(title: str, sweep: Sweep) -> Table:
    rows = tuple(
        (f"{value:g}", *each.span.cells, *each.token.cells[1:])
        for value, each in sweep.items()
    )
    columns = ("value", "span P", "R", "F1", "token R, blind", "F1")
    return Table(title, columns, rows)


def _plots(how: str, sweeps: Mapping[str, Sweep]) -> list[Plot]:
    across = {"bias": "bias", "threshold": "threshold (left: none)"}[how]
    # So that none stands beside the lowest threshold, and not far from it.
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
    return better(
        "English: where identifiers are few, the best threshold raises F by token, "
        "significantly",
        "Deleger and others 2013, Results (PhysioNet 70.60 to 74.61 at .97)",
        seed,
        {f"blind, {best:g}": (sweep[_NONE].token, raised[best].token)},
    )
