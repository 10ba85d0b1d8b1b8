"""Until a fresh process has done its first note, and the memory of a scrub worker.

    python -m tests.benchmarks.ready [--preset hybrid] [--record] [--runs 3]

Each run is a process of its own on a prepared machine
(`python -m deid_core.runtime.prepare`).  Times are processor time, the least of the
runs.  Memory is read from /proc/self/smaps_rollup: RSS; PSS, in which a page that
processes share counts for its part; private pages.  Workers are processes with all
that a worker imports, after 200 notes of the ward, their patients' names known.  The
broker's client and the tables stay closed: what they take for messages and caches
comes on top.

scipy, which numba imports if it is there, is left out as in the image: only training
needs it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table as Grid

WORKERS = (1, 2)
NOTES = 200

START = """
import sys, time
if {without_scipy}:
    sys.modules["scipy"] = None
import orjson
steps = []

def memory():
    with open("/proc/self/smaps_rollup") as lines:
        rows = [each.split() for each in lines if "kB" in each]
    sizes = {{name: int(size) for name, size, _ in rows}}
    private = sizes["Private_Clean:"] + sizes["Private_Dirty:"]
    return [each // 1024 for each in (sizes["Rss:"], sizes["Pss:"], private)]

def step(name, started=[0.0, time.perf_counter()]):
    used = time.process_time() - started[0], time.perf_counter() - started[1]
    steps.append((name, *used, *memory()))
    # Reading the memory is not part of what is measured.
    started[:] = time.process_time(), time.perf_counter()

step("Python")
"""
TIMED = """
import deid_core
from deid_core.document import KnownIdentifiers, PersonName
names = PersonName("Roe", "Jane"), PersonName("Poe", "Ana"), PersonName("Doe", "Ida")
known = [KnownIdentifiers(patient_names=(each,)) if {record} else KnownIdentifiers()
         for each in names]
step("imported")
deidentifier = deid_core.Deidentifier.from_names({preset!r})
step("built")
texts = (
    "Mrs. Jane Roe was seen at Boston Clinic on 3/4/2014; call 617-555-0123.",
    "Mrs. Ana Poe was seen at Salem Hospital on 5/6/2015; call 617-555-0198.",
    "Mrs. Ida Doe was seen at Quincy Medical on 7/8/2016; call 617-555-0175.",
)
for name, text, record in zip(("first", "second", "third"), texts, known):
    deidentifier.deidentify(deid_core.Document("d", text, known=record))
    step(name + " note")
print(orjson.dumps(steps).decode())
"""
WORKER = """
import streams.service.scrub
from streams.engine import gc_tuning
step("imports of a worker")
deidentifier = streams.service.scrub.Deidentifier.from_names({preset!r})
gc_tuning.settle()
step("ready")
from deid_core.document import Document, KnownIdentifiers, PersonName
for at, (text, names) in enumerate(orjson.loads(sys.stdin.readline())):
    known = KnownIdentifiers(patient_names=tuple(PersonName(*each) for each in names))
    deidentifier.deidentify(Document(str(at), text, known=known))
step("after {notes} notes")
print("done", flush=True)
sys.stdin.readline()
# As long as the others are there, too.
steps.append(("together", 0, 0, *memory()))
print(orjson.dumps(steps).decode(), flush=True)
sys.stdin.readline()
"""

Step = tuple[str, float, float, int, int, int]


def main(
    preset: Annotated[str, typer.Option(help="The preset.")] = "hybrid",
    record: Annotated[bool, typer.Option(help="Notes come with a record.")] = False,
    runs: Annotated[int, typer.Option(help="Fresh processes.", min=1)] = 3,
    scipy: Annotated[bool, typer.Option(help="With scipy, if it is there.")] = False,
) -> None:
    """Print what each step takes, and the memory of one and of two workers."""
    setting = {"preset": preset, "record": record, "without_scipy": not scipy}
    console = Console(width=100)
    best = min((_fresh(setting) for _ in range(runs)), key=_until_first_note)
    console.print(_table("a fresh process", best))
    console.print(f"ready with the first note done: {_until_first_note(best):.2f} s")
    notes = orjson.dumps(_notes()) + b"\n"
    for count in WORKERS:
        for steps in _workers(count, setting, notes):
            console.print(_table(f"one of {count} scrub workers", steps))


def _fresh(setting: dict[str, object]) -> list[Step]:
    program = (START + TIMED).format(**setting)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    )
    steps: list[Step] = orjson.loads(done.stdout)
    return steps


def _until_first_note(steps: Sequence[Step]) -> float:
    end = [each[0] for each in steps].index("first note")
    return sum(each[1] for each in steps[: end + 1])


def _notes() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return notes of the ward, with their patients' names."""
    from streams.demo.ward import Ward
    from tests.benchmarks.ward import documents_of

    ward = Ward(seed=7, patients=100, note_words=400, split="dev")
    documents = [each for _, each in documents_of(ward, NOTES)]
    return [
        (each.text, [(name.family, name.given) for name in each.known.patient_names])
        for each in documents
    ]


def _workers(count: int, setting: dict[str, object], notes: bytes) -> list[list[Step]]:
    """Return the steps of so many workers that live at the same time."""
    program = (START + WORKER).format(**setting, notes=NOTES)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(count)
    ]
    try:
        for each in started:
            _say(each, notes)
        for each in started:
            _line(each)
        found = []
        for each in started:
            _say(each, b"\n")
            found.append(orjson.loads(_line(each)))
        return found
    finally:
        for each in started:
            each.kill()
            each.communicate()


def _say(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def _table(title: str, steps: Sequence[Step]) -> Grid:
    grid = Grid(title=title)
    grid.add_column("step")
    for name in ("CPU s", "wall s", "RSS MB", "PSS MB", "private MB"):
        grid.add_column(name, justify="right")
    for name, cpu, wall, *sizes in steps:
        grid.add_row(name, f"{cpu:.3f}", f"{wall:.3f}", *map(str, sizes))
    return grid


if __name__ == "__main__":
    typer.run(main)
