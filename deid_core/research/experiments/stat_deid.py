"""Kernels, training size, confusion of Stat De-id: Tafvizi and Pacula, 5.3 to 5.6."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from deid_core.research.scoring.tables import Table

from .harness.figures import Scored, Verdict, is_greater, is_greatest, is_least
from .harness.phi import (
    COLUMNS,
    RECIPE,
    Phi,
    Results,
    bars,
    english_split,
    finding,
    phi_of,
    row,
    table,
)
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import Split, sample
from .harness.systems import SystemOutput, Variant

KERNELS = ("linear", "quadratic", "gaussian")
_TABLE_3 = {
    "linear": ("89.1", "79.7", "-", "98.8", "99.4", "-"),
    "quadratic": ("98.7", "59.3", "-", "97.6", "99.9", "-"),
    "gaussian": ("95.0", "74.2", "-", "98.5", "99.8", "-"),
}
_KERNEL_DOCUMENTS = 50
SHARES = (3.125, 6.25, 12.5, 25.0, 50.0, 100.0)
"""Percent of the training text; figures 6 and 7."""
_PRINTED = (9013, 243, 625, 158_838)
"""Table 2: PHI found, PHI missed, false PHI, other words left."""
_SWAPPED = (9013, 625, 243, 158_838)
_FIGURES = (97.37, 93.52, 99.61, 99.85)
"""Section 5.3: precision and recall of PHI, precision and recall of non-PHI."""
_HUMAN_RECALL = 81.0
_CONFUSION = ("words", "are PHI", "are none")


def kernels(runner: Runner) -> Report:
    """Train Stat De-id with three kernels on the same 50 documents."""
    spanish = runner.meddocan
    learn = sample(spanish.learn, runner.size(_KERNEL_DOCUMENTS, 15), runner.seed)
    split = spanish.learning(learn)
    output = {
        each: runner.output(Variant(f"stat-deid-{each}"), split) for each in KERNELS
    }
    found = {each: phi_of(Scored(split.corpus, output[each])) for each in KERNELS}
    theirs = tuple((each, *_TABLE_3[each]) for each in KERNELS)
    return Report(
        "kernels",
        "Do kernels other than the linear one serve, on little text?",
        runner.account(split),
        (
            table("Kernels", "kernel", found),
            Table("Table 3, their corpus", ("kernel", *COLUMNS), theirs),
            _speed(output),
        ),
        (bars("PHI by kernel", found),),
        tuple(_of_kernels(found, split.name, runner.seed)),
    )


def _speed(output: dict[str, SystemOutput]) -> Table:
    rows = tuple(
        (
            name,
            # A model of an earlier run has no time.
            f"{each.train_s:.1f}" if each.train_s else "-",
            f"{len(each.predictions) / each.tag_s:.1f}",
        )
        for name, each in output.items()
    )
    return Table("Time", ("kernel", "train s", "documents/s"), rows)


def _of_kernels(found: Results, name: str, seed: int) -> Iterator[Finding]:
    linear, gaussian = (found[each].phi for each in ("linear", "gaussian"))
    precise = is_greater(gaussian.precision, linear.precision, seed=seed)
    claim = "the gaussian kernel is more precise than the linear one"
    yield finding(claim, "5.5, Table 3", precise, name)
    gain = gaussian.values[0] - linear.values[0]
    loss = linear.values[1] - gaussian.values[1]
    words = f"P {gain:+.2f}, R {-loss:+.2f}"
    claim = "it loses less recall than it gains precision"
    yield finding(claim, "5.5, Table 3", Verdict(gain > 0 and loss < gain, words), name)
    best = is_greatest(
        "quadratic", {n: p.phi.precision for n, p in found.items()}, seed=seed
    )
    yield finding("the quadratic kernel is the most precise", "Table 3", best, name)
    least = is_least(
        "quadratic", {n: p.phi.recall for n, p in found.items()}, seed=seed
    )
    yield finding("the quadratic kernel recalls least", "Table 3", least, name)
    f1 = is_greatest("linear", {n: p.phi.f1 for n, p in found.items()}, seed=seed)
    yield finding("the linear kernel's F is the highest", "Table 3", f1, name)


def training_size(runner: Runner) -> Report:
    """Train Stat De-id on 3.125 % of the training text, then on ever twice as much.

    Each part includes all smaller ones.
    """
    spanish = runner.meddocan
    found = {
        f"{share:g} %": phi_of(
            Scored(spanish.corpus, runner.output(Variant(RECIPE), part))
        )
        for share, part in _parts(spanish, runner.seed).items()
    }
    sizes = [len(part.learn) for part in _parts(spanish, runner.seed).values()]
    figures = [phi.phi.values for phi in found.values()]
    lines = {
        name: [(x, each[at]) for x, each in zip(sizes, figures, strict=True)]
        for at, name in enumerate(("precision", "recall", "F"))
    }
    rows = tuple(
        row(name, phi, str(size))
        for (name, phi), size in zip(found.items(), sizes, strict=True)
    )
    title = "PHI by size of the training text"
    return Report(
        "training-size",
        "How do precision and recall grow with the training text?",
        runner.account(spanish),
        (Table("Training text", ("share", *COLUMNS, "documents"), rows),),
        (Plot(title, "documents learned", "words, %", lines=lines, scale="log"),),
        tuple(_of_sizes(list(found.values()), spanish.name, runner.seed)),
    )


def _parts(split: Split, seed: int) -> dict[float, Split]:
    documents = list(split.learn)
    Random(seed).shuffle(documents)  # noqa: S311 - no secret
    return {
        share: split.learning(documents[: max(1, round(len(documents) * share / 100))])
        for share in SHARES
    }


def _of_sizes(found: list[Phi], name: str, seed: int) -> Iterator[Finding]:
    least, before, most = found[0].phi, found[-2].phi, found[-1].phi
    place = "5.6, figures 6 and 7"
    for at, claim in enumerate(("precision", "recall")):
        one, other = ((each.precision, each.recall)[at] for each in (most, least))
        grows = is_greater(one, other, seed=seed)
        yield finding(f"{claim} grows with the training text", place, grows, name)
    p, r = (most.values[at] - least.values[at] for at in (0, 1))
    more = Verdict(r > p, f"R {r:+.2f}, P {p:+.2f}")
    yield finding("recall grows more than precision", place, more, name)
    last = is_greater(most.recall, before.recall, seed=seed)
    claim = "the last doubling still raises recall: more text would help"
    yield finding(claim, place, last, name)


def phi_confusion(runner: Runner) -> Report:
    """Count words by what they are and what Stat De-id predicts."""
    splits = (runner.meddocan, english_split(runner))
    output = {each.name: runner.output(Variant(RECIPE), each) for each in splits}
    found = {
        each.name: phi_of(Scored(each.corpus, output[each.name])) for each in splits
    }
    cells = [_confusion(f"Confusion, {n}", phi.table) for n, phi in found.items()]
    findings = [_of_table_2()]
    for name, phi in found.items():
        findings += _of_errors(phi, output[name], name)
    return Report(
        "phi-confusion",
        "What is taken for what, and are errors of both kinds alike?",
        runner.account(*splits),
        (
            table("PHI or not", "corpus", found),
            *cells,
            _confusion("Their Table 2, as printed", _PRINTED),
            _confusion("Their Table 2, as their figures ask for", _SWAPPED),
        ),
        (bars("PHI by corpus", found),),
        tuple(findings),
    )


def _confusion(title: str, cells: tuple[int, int, int, int]) -> Table:
    right, missed, falsely, left = (f"{each:,}" for each in cells)
    rows = (("taken for PHI", right, falsely), ("taken for none", missed, left))
    return Table(title, _CONFUSION, rows)


def _of_table_2() -> Finding:
    """Return which reading of Table 2 agrees with the figures of the text."""
    printed, swapped = map(_shares, (_PRINTED, _SWAPPED))
    words = f"as printed {printed}; swapped {swapped}; in the text {_FIGURES}"
    claim = "Table 2 has its two kinds of error swapped"
    verdict = Verdict(swapped == _FIGURES and printed != _FIGURES, words)
    return finding(claim, "5.3, Table 2", verdict, "P and R of PHI and non-PHI")


def _shares(cells: tuple[int, int, int, int]) -> tuple[float, ...]:
    right, missed, falsely, left = cells
    pairs = ((right, falsely), (right, missed), (left, missed), (left, falsely))
    return tuple(round(100 * one / (one + other), 2) for one, other in pairs)


def _of_errors(phi: Phi, output: SystemOutput, name: str) -> Iterator[Finding]:
    p, r, _ = phi.phi.values
    missed, falsely = phi.table[1:3]
    words = f"P {p:.2f}, R {r:.2f}; {missed:,} words missed, {falsely:,} falsely taken"
    yield finding(
        "recall is lower than precision: more is missed than falsely taken",
        "5.3",
        Verdict(r < p, words),
        name,
    )
    claim = f"recall above a person's {_HUMAN_RECALL:g} %"
    yield finding(claim, "5.3", Verdict(r > _HUMAN_RECALL, f"R {r:.2f}"), name)
    rate = len(output.predictions) / output.tag_s
    claim = "a document a second or more"
    yield finding(claim, "5.3", Verdict(rate >= 1, f"{rate:.1f} a second"), name)
