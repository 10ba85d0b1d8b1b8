"""Support vector machines and a forest on few letters: Scheurwegs and others 2013."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from deid_core.research.corpora.corpus import CASES, GoldDocument, Prediction, in_case
from deid_core.research.published.recipe import load_recipe
from deid_core.research.scoring.agreement import Agreement, agreement
from deid_core.research.scoring.tables import Table

from .harness.figures import Figures, Scored, Verdict, classes_of, is_greater
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import Split, sample
from .harness.systems import SystemOutput, Variant

PAPER = "Scheurwegs and others 2013"
FOREST, ONE_ONE, ONE_ALL = "uza-rf10", "uza-oosvm", "uza-omsvm"
SYSTEMS = (ONE_ONE, ONE_ALL, FOREST)
_LETTERS, _HELD_OUT = 100, 10
_RUNS, _SHARED, _CURVES = 50, 4, {FOREST: 3, ONE_ONE: 1, ONE_ALL: 1}
"""A forest takes six seconds, a support vector machine twenty or forty."""
_CAPITALS = "upper"
_LOSING = ("Name", "Address")
_HALVES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The output of a system over some runs; each class has the same weight.

    Args:
        found: Counts by document, of all runs, and by class.
        seconds: Per document.
    """

    found: Agreement
    seconds: float

    def figures(self, of: str = "") -> Figures:
        """Return macro figures, or those of one class."""
        columns = [n for n, c in enumerate(self.found.categories) if of in ("", c)]
        right, predicted, gold = (
            each[:, columns]
            for each in (self.found.right, self.found.predicted, self.found.gold)
        )
        return Figures.of(right, predicted, gold, of)

    def values(self, of: str = "") -> tuple[float, float, float]:
        """Return the values of `figures`."""
        return self.figures(of).values


def uza(runner: Runner) -> Report:
    """Withhold ten of a hundred letters, repeatedly, and learn from the others.

    Figures are by token, the mean of five classes; time is per document.
    """
    shared = _runs(runner, runner.size(_SHARED, 2))
    results = {name: _over(runner, name, shared) for name in SYSTEMS}
    curves = {name: _curve(runner, name) for name in SYSTEMS}
    raised = {name: _over(runner, name, shared, _CAPITALS) for name in SYSTEMS}
    taught = {
        name: _over(runner, name, map(_half_raised, shared), _CAPITALS)
        for name in (ONE_ONE, FOREST)
    }
    many = _over(runner, FOREST, _runs(runner, runner.size(_RUNS, 4)))
    return Report(
        "uza",
        "What do limited training data suffice for, by which learner, how fast?",
        _account(runner, shared),
        (
            _by_class({**results, f"{FOREST}, all runs": many}),
            _of_curves(curves),
            _of_capitals(results, raised, taught),
        ),
        (*_plots(curves), _recall_plot(results, raised, taught)),
        (
            *_of_learners(results, runner.seed),
            *_of_sizes(curves),
            *_of_quality(results, raised, taught, runner.seed),
        ),
    )


def _account(runner: Runner, shared: Sequence[Split]) -> tuple[str, ...]:
    learn, score = len(shared[0].learn), len(shared[0].corpus.documents)
    runs = f"{len(shared)} runs each; {FOREST} also {runner.size(_RUNS, 4)}"
    curves = ", ".join(f"{name} {_count(runner, name)}" for name in SYSTEMS)
    return (
        f"MEDDOCAN train: {learn + score} letters drawn; a run learns {learn} of them "
        f"and scores {score}; {runs}",
        f"runs of the learning curve: {curves}",
        *runner.account(),
    )


def _runs(runner: Runner, count: int) -> list[Split]:
    """Return so many splits that each withhold a tenth of the letters."""
    spanish = runner.meddocan
    letters = sample(spanish.learn, runner.size(_LETTERS, 30), runner.seed)
    return [
        _run(spanish, letters, f"{runner.seed} {number}") for number in range(count)
    ]


def _run(split: Split, letters: Sequence[GoldDocument], seed: str) -> Split:
    shuffled = list(letters)
    Random(seed).shuffle(shuffled)  # noqa: S311 - no secret
    cut = len(letters) // _HELD_OUT
    corpus = replace(split.corpus, documents=tuple(shuffled[:cut]))
    return replace(split, learn=tuple(shuffled[cut:]), corpus=corpus)


def _over(
    runner: Runner, name: str, runs: Iterator[Split] | Sequence[Split], case: str = ""
) -> Result:
    """Return the result of a system over runs, with the letters in a letter case."""
    asked, predictions, seconds = list[GoldDocument](), list[Prediction](), 0.0
    for run in runs:
        corpus = in_case(run.corpus, case) if case else run.corpus
        output = runner.output(Variant(name), replace(run, corpus=corpus))
        asked += corpus.documents
        predictions += output.predictions
        seconds += output.tag_s
    whole = replace(run.corpus, documents=tuple(asked))
    output = SystemOutput(tuple(predictions), seconds)
    return Result(_agreement(name, Scored(whole, output)), seconds / len(asked))


def _agreement(name: str, scored: Scored) -> Agreement:
    return agreement(
        scored.compared,
        scored.corpus.conventions,
        category=classes_of(name),
        by_token=True,
    )


def _half_raised(run: Split) -> Split:
    """Return the run with every second training letter in capitals."""
    learn = tuple(
        replace(each, text=CASES[_CAPITALS](each.text)) if at % _HALVES else each
        for at, each in enumerate(run.learn)
    )
    return run.learning(learn)


def _count(runner: Runner, name: str) -> int:
    return runner.size(_CURVES[name], 1)


def _curve(runner: Runner, name: str) -> dict[int, Result]:
    """Return the result of a system by number of training letters."""
    runs = _runs(runner, _count(runner, name))
    most = len(runs[0].learn)
    step = runner.size(10, most // 3)
    return {
        size: _over(runner, name, [each.learning(each.learn[:size]) for each in runs])
        for size in range(step, most + 1, step)
    }


def _classes() -> tuple[str, ...]:
    """Return the five classes in the paper's order."""
    return tuple(load_recipe(FOREST).classes.labels)


def _by_class(results: Mapping[str, Result]) -> Table:
    names = _classes()
    rows = [
        (
            f"{system}: {figure}",
            *(f"{each.values(name)[at]:.1f}" for name in names),
            f"{each.values()[at]:.1f}",
            f"{1000 * each.seconds:.0f}" if at == 0 else "",
        )
        for system, each in results.items()
        for at, figure in enumerate(("precision", "recall", "F"))
    ]
    columns = ("system", *names, "macro", "ms a document")
    return Table("By class, as Table 1", columns, tuple(rows))


def _of_curves(curves: Mapping[str, Mapping[int, Result]]) -> Table:
    rows = [
        (str(size), *(f"{v:.1f}" for n in curves for v in curves[n][size].values()))
        for size in next(iter(curves.values()))
    ]
    heads = tuple(f"{name} {each}" for name in curves for each in ("P", "R", "F"))
    return Table("By letters learned", ("letters", *heads), tuple(rows))


def _plots(curves: Mapping[str, Mapping[int, Result]]) -> Iterator[Plot]:
    for at, figure in enumerate(("precision", "recall")):
        lines = {
            name: [(float(size), each.values()[at]) for size, each in curve.items()]
            for name, curve in curves.items()
        }
        title = f"Macro {figure} by letters learned"
        yield Plot(title, "letters learned", f"{figure}, %", lines=lines)


def _of_capitals(*all_of_them: Mapping[str, Result]) -> Table:
    heads = ("letters as they are", "in capitals", "in capitals, half learned so")
    rows = [
        (
            f"{system}, {head}",
            *(f"{each.values(name)[1]:.1f}" for name in _classes()),
            f"{each.values()[1]:.1f}",
            f"{each.values()[0]:.1f}",
        )
        for head, results in zip(heads, all_of_them, strict=True)
        for system, each in results.items()
    ]
    names = _classes()
    columns = ("system, letters", *(f"{n} R" for n in names), "macro R", "macro P")
    return Table("Letters of another quality", columns, tuple(sorted(rows)))


def _recall_plot(*all_of_them: Mapping[str, Result]) -> Plot:
    names = _classes()
    heads = ("as they are", "in capitals", "in capitals, half learned so")
    bars = {
        head: [results[ONE_ONE].values(name)[1] for name in names]
        for head, results in zip(heads, all_of_them, strict=True)
    }
    title = f"Recall of {ONE_ONE} on letters of another quality"
    return Plot(title, "", "recall, %", bars=bars, names=names)


def _of_learners(results: Mapping[str, Result], seed: int) -> Iterator[Finding]:
    forest = results[FOREST].figures()
    for name in (ONE_ONE, ONE_ALL):
        machine = results[name].figures()
        precise = is_greater(forest.precision, machine.precision, seed=seed)
        yield _finding(f"the forest is more precise than {name}", "3.1", precise)
        recall = is_greater(machine.recall, forest.recall, seed=seed)
        yield _finding(f"the forest recalls less than {name}", "3.1", recall)
        f1 = is_greater(machine.f1, forest.f1, seed=seed)
        yield _finding(f"{name} has the higher F", "3.1", f1)
    ms = {name: 1000 * each.seconds for name, each in results.items()}
    words = ", ".join(f"{name} {each:.0f} ms" for name, each in ms.items())
    in_order = ms[FOREST] < ms[ONE_ONE] < ms[ONE_ALL]
    fastest = Verdict(min(ms.values()) == ms[FOREST], words)
    yield _finding("the forest is the fastest", "3.4", fastest)
    yield _finding("one against all is the slowest", "3.4", Verdict(in_order, words))


def _of_sizes(curves: Mapping[str, Mapping[int, Result]]) -> Iterator[Finding]:
    for name, curve in curves.items():
        sizes = list(curve)
        first, middle, last = sizes[0], sizes[len(sizes) // 2], sizes[-1]
        p, r = ([curve[s].values()[at] for s in (first, middle, last)] for at in (0, 1))
        early, late = r[1] - r[0], r[2] - r[1]
        words = f"R {r[0]:.1f}, {r[1]:.1f}, {r[2]:.1f} at {first}, {middle}, {last}"
        claim = f"{name}: recall grows more in the first half of the letters"
        yield _finding(claim, "3.2", Verdict(early > late, words))
        words = f"from {first} to {last}: P {p[2] - p[0]:+.1f}, R {r[2] - r[0]:+.1f}"
        claim = f"{name}: precision changes less than recall"
        steadier = abs(p[2] - p[0]) < abs(r[2] - r[0])
        yield _finding(claim, "3.2", Verdict(steadier, words))


def _of_quality(
    results: Mapping[str, Result],
    raised: Mapping[str, Result],
    taught: Mapping[str, Result],
    seed: int,
) -> Iterator[Finding]:
    for system in results:
        for name in _LOSING:
            here, there = (
                each[system].figures(name).recall for each in (results, raised)
            )
            loss = is_greater(here, there, seed=seed)
            claim = f"{system}: {name} in capitals loses recall, learned from none"
            yield _finding(claim, "3.3", loss)
    for system in taught:
        one, other = (each[system].figures().recall for each in (taught, raised))
        gain = is_greater(one, other, seed=seed)
        claim = f"{system}: capitals in the training text win recall back"
        yield _finding(claim, "3.3, their explanation", gain)


def _finding(claim: str, place: str, verdict: Verdict) -> Finding:
    return Finding(claim, f"{PAPER}, {place}", verdict.holds, verdict.figures)
