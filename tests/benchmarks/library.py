"""Speed of deid_core on notes that it has never read, and on the same notes again.

    python -m tests.benchmarks.library
    python -m tests.benchmarks.library --steps --only dense
    python -m tests.benchmarks.library --against presidio,philter,deduce

Each kind of notes is read in a fresh process, after 180 notes of other sources, each
text once, in batches of the size that the service uses.  Times are processor time; a
word is a run of non-blank characters.  "Again" is the same notes once more: a stream
never repeats, so it shows only what caches hide.
"""

from __future__ import annotations

import pickle
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from deid_core import Deidentifier, Document, ScrubbedDocument
from deid_core.research.experiments import other_systems
from streams.engine import gc_tuning
from tests.benchmarks.notes import (
    BEFORE,
    DATA,
    KINDS,
    WORDS,
    NotThere,
    Plan,
    batches,
    new_words_in,
    plan_of,
    words_in,
)
from tests.benchmarks.steps import steps_of

OF_A_WORKER = 200
"""Notes that a process has read when its memory is measured."""
LIBRARIES = Path(__file__).parents[2] / ".benchmark"
READ_BY_OTHERS_BEFORE = 60
READY = """
import sys, time
from deid_core import Deidentifier, Document
Deidentifier.from_names(sys.argv[1]).deidentify(Document("d", "Mr. Roe was seen."))
print(time.process_time())
"""
WORKER = """
import pickle, sys
import streams.service.scrub
import streams.service.worker
from deid_core import Deidentifier
from streams.engine import gc_tuning
system = Deidentifier.from_names(sys.argv[1])
gc_tuning.settle()
while batch := pickle.load(sys.stdin.buffer):
    system.deidentify_batch(batch)
print("done", flush=True)
sys.stdin.read()
"""
console = Console(width=120)


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of processor time of the notes of one kind.

    Args:
        identifiers: How many were replaced.
        refused: Notes without a result.
        first: At first sight.
        again: The same notes once more.
    """

    identifiers: int
    refused: int
    first: float
    again: float


class Timed:
    """A system, the time it took, and what it returned."""

    def __init__(self, system: Deidentifier) -> None:
        self._system = system
        self.results: list[Any] = []

    def read(self, documents: Sequence[Document]) -> float:
        """Return the seconds of processor time, batch by batch as in the service."""
        self.results = []
        # Documents keep what was once found out about them: nothing is read twice.
        given = list(batches(map(replace, documents)))
        started = time.process_time()
        for batch in given:
            self.results += self._system.deidentify_batch(batch)
        return time.process_time() - started


def measured(system: Deidentifier, plan: Plan) -> Measured:
    """Read the notes before, then the plan's at first sight, then the same again."""
    timed = Timed(system)
    timed.read(plan.before)
    first = timed.read(plan.notes)
    results = timed.results
    again = timed.read(plan.notes)
    scrubbed = [each for each in results if isinstance(each, ScrubbedDocument)]
    return Measured(
        identifiers=sum(len(each.annotations) for each in scrubbed),
        refused=len(results) - len(scrubbed),
        first=first,
        again=again,
    )


def by_step(system: Deidentifier, plan: Plan) -> dict[str, tuple[float, float]]:
    """Return the seconds of each step at first sight, and again."""
    timed = Timed(system)
    timed.read(plan.before)
    with steps_of(system) as first:
        timed.read(plan.notes)
    with steps_of(system) as again:
        timed.read(plan.notes)
    return {name: (first[name], again[name]) for name, _ in first.most_common()}


def _system(preset: str) -> Deidentifier:
    system = Deidentifier.from_names(preset)
    gc_tuning.settle()
    return system


def _measured(preset: str, plan: Plan) -> Measured:
    return measured(_system(preset), plan)


def _by_step(preset: str, plan: Plan) -> dict[str, tuple[float, float]]:
    return by_step(_system(preset), plan)


def _fresh() -> ProcessPoolExecutor:
    """Return a pool that runs each call in a new process."""
    return ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)


def ready(preset: str) -> tuple[float, float]:
    """Return processor and wall time until a fresh process has its first note done."""
    started = time.perf_counter()
    with _python("-c", READY, preset) as child:
        assert child.stdout
        cpu = float(child.stdout.readline())
        return cpu, time.perf_counter() - started


def memory(preset: str, documents: list[Document], workers: int = 2) -> list[int]:
    """Return peak RSS, RSS, PSS and private memory in MB of one of several workers.

    All are alive at the end, so that PSS counts what they share once.
    """
    children = [_python("-c", WORKER, preset) for _ in range(workers)]
    for child in children:
        assert child.stdin
        for batch in (*batches(documents), []):
            pickle.dump(batch, child.stdin)
        child.stdin.flush()
    for child in children:
        assert child.stdout
        assert child.stdout.readline() == b"done\n"
    folder = Path("/proc") / str(children[0].pid)
    kilobytes = {
        name: int(value)
        for file in ("status", "smaps_rollup")
        for name, value in re.findall(
            r"^(\w+):\s+(\d+) kB", (folder / file).read_text(), re.MULTILINE
        )
    }
    for child in children:
        child.communicate()
    private = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    found = (*(kilobytes[name] for name in ("VmHWM", "Rss", "Pss")), private)
    return [each // 1024 for each in found]


def _python(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def table_of_speed(plans: list[Plan], found: dict[str, Measured]) -> Grid:
    grid = Grid(
        "notes", "number", "words", "new", "found",
        "us a word", "again", "us a note", "again", f"notes/s of {WORDS}",
        title="each text once, after others; processor time",
    )  # fmt: skip
    for column in grid.columns[1:]:
        column.justify = "right"
    for plan in plans:
        each, name = found[plan.kind.name], plan.kind.name
        notes, words = len(plan.notes), words_in(plan.notes)
        grid.add_row(
            name + (f" ({each.refused} refused)" if each.refused else ""),
            f"{notes:,}",
            f"{words / notes:,.0f}",
            f"{new_words_in(plan) / words:.0%}",
            f"{each.identifiers / notes:,.1f}",
            f"{each.first / words * 1e6:,.2f}",
            f"{each.again / words * 1e6:,.2f}",
            f"{each.first / notes * 1e6:,.0f}",
            f"{each.again / notes * 1e6:,.0f}",
            f"{words / each.first / WORDS:,.0f}",
        )
    return grid


def table_of_steps(plan: Plan, steps: dict[str, tuple[float, float]]) -> Grid:
    grid = Grid(
        "step", "us a word", "share", "again", "share",
        title=f"{plan.kind.name}: steps at first sight, and again",
    )  # fmt: skip
    for column in grid.columns[1:]:
        column.justify = "right"
    words = words_in(plan.notes)
    totals = [sum(column) for column in zip(*steps.values(), strict=True)]
    for name, pair in (*steps.items(), ("all", totals)):
        cells = [
            cell
            for seconds, total in zip(pair, totals, strict=True)
            for cell in (f"{seconds / words * 1e6:.2f}", f"{seconds / total:.0%}")
        ]
        grid.add_row(name, *cells)
    return grid


def table_of_others(
    plans: list[Plan], found: dict[str, Measured], answers: dict[str, Any], sample: int
) -> Grid:
    grid = Grid(
        "notes", "phistream",
        *(cell for name in answers for cell in (name, "ratio")),
        title="first sight, in one run, one thread each; us of processor time a word",
    )  # fmt: skip
    for column in grid.columns[1:]:
        column.justify = "right"
    for plan in plans:
        own = found[plan.kind.name].first / words_in(plan.notes)
        words = words_in(sample_of(plan, sample))
        theirs = [each["seconds"][plan.kind.texts] / words for each in answers.values()]
        grid.add_row(
            plan.kind.name,
            f"{own * 1e6:,.2f}",
            *(
                cell
                for each in theirs
                for cell in (f"{each * 1e6:,.1f}", f"1 : {each / own:,.1f}")
            ),
        )
    return grid


def sample_of(plan: Plan, size: int) -> list[Document]:
    """Return the notes that other systems read: evenly spread over the plan's."""
    size = min(size, len(plan.notes))
    return [plan.notes[n * len(plan.notes) // size] for n in range(size)]


def _plans(names: list[str], data: Path, notes: int, seed: int) -> list[Plan]:
    plans = []
    for kind in KINDS:
        if names and kind.name not in names and kind.source not in names:
            continue
        try:
            plans.append(plan_of(kind, data, notes, seed))
        except NotThere as error:
            console.print(f"skipped: {kind.name}: {error}", markup=False)
    if not plans:
        known = ", ".join(f"{each.name!r}" for each in KINDS)
        raise typer.BadParameter(f"no notes; known kinds: {known}")
    return plans


def _print_others(
    systems: list[str],
    libraries: Path,
    plans: list[Plan],
    found: dict[str, Measured],
    sample: int,
) -> None:
    texts = {
        plan.kind.texts: [each.text for each in sample_of(plan, sample)]
        for plan in plans
    }
    timed = {text for each in texts.values() for text in each}
    before = {each.text: None for plan in plans for each in plan.before}
    unread = [text for text in before if text not in timed]
    answers = {}
    for system in systems:
        answer = other_systems.ask(
            system,
            texts,
            wanted=other_systems.SECONDS,
            before=unread[:READ_BY_OTHERS_BEFORE],
            libraries=libraries,
        )
        if "missing" in answer:
            console.print(f"{system}: {answer['missing']}; to install it:")
            console.print(
                other_systems.how_to_install(libraries), markup=False, soft_wrap=True
            )
        else:
            answers[system] = answer
    if answers:
        console.print(table_of_others(plans, found, answers, sample))
        for name, answer in answers.items():
            console.print(f"{name}: {answer['title']}", soft_wrap=True)
        console.print(
            f"phistream read all notes, the others {sample} of each kind, evenly "
            "spread; no system but phistream was given a patient's record",
            soft_wrap=True,
        )


def _print_process(preset: str, plans: list[Plan]) -> None:
    times = [ready(preset) for _ in range(3)]
    cpu, wall = (statistics.median(each) for each in zip(*times, strict=True))
    console.print(
        f"a fresh process has its first note done after {cpu:.2f} s of processor time, "
        f"{wall:.2f} s of wall time (median of three; kernels compiled before)",
        soft_wrap=True,
    )
    texts = {each.text: each for plan in plans for each in (*plan.before, *plan.notes)}
    notes = list(texts.values())[:OF_A_WORKER]
    peak, rss, pss, private = memory(preset, notes)
    console.print(
        f"a worker's memory after {len(notes)} notes, two at once: RSS {rss} MB "
        f"(peak {peak}), PSS {pss} MB, private {private} MB",
        soft_wrap=True,
    )


def main(
    notes: Annotated[int, typer.Option(help="Of each kind, at most.")] = 400,
    preset: Annotated[str, typer.Option(help="Name or file of a preset.")] = "hybrid",
    seed: Annotated[int, typer.Option(help="Of the order and of the ward.")] = 3,
    data: Annotated[Path, typer.Option(help="Folder of the open corpora.")] = DATA,
    only: Annotated[list[str] | None, typer.Option(help="Kinds or sources.")] = None,
    rounds: Annotated[
        int, typer.Option(min=1, help="Fresh processes for each kind; the median.")
    ] = 1,
    steps: Annotated[bool, typer.Option(help="A table of steps for each.")] = False,
    against: Annotated[
        str,
        typer.Option(help="Other systems: presidio,presidio-patterns,philter,deduce."),
    ] = "",
    sample: Annotated[
        int, typer.Option(min=1, help="Notes of each kind that other systems read.")
    ] = 40,
    libraries: Annotated[
        Path, typer.Option(help="Where the other systems were installed.")
    ] = LIBRARIES,
) -> None:
    """Print the tables of the named kinds, or of all."""
    systems = [each for each in against.split(",") if each]
    if unknown := set(systems) - set(other_systems.SYSTEMS):
        known = ", ".join(other_systems.SYSTEMS)
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; known: {known}")
    plans = _plans(only or [], data, notes, seed)
    found: dict[str, Measured] = {}
    with _fresh() as fresh:
        for plan in plans:
            runs = [
                fresh.submit(_measured, preset, plan).result() for _ in range(rounds)
            ]
            runs.sort(key=lambda each: each.first)
            found[plan.kind.name] = runs[len(runs) // 2]
        console.print(table_of_speed(plans, found))
        console.print(
            f"{preset}; {BEFORE} notes of other sources read before; a word is a run "
            "of non-blank characters; new ones are read for the first time",
            soft_wrap=True,
        )
        for plan in plans if steps else ():
            found_steps = fresh.submit(_by_step, preset, plan).result()
            console.print(table_of_steps(plan, found_steps))
    _print_process(preset, plans)
    if systems:
        _print_others(systems, libraries, plans, found, sample)


if __name__ == "__main__":
    typer.run(main)
