"""Check that no text takes superlinear time: time per kB from 10 kB to 10 MB.

    python -m tests.benchmarks.adversarial
    python -m tests.benchmarks.adversarial --sizes 1000000 --sizes 10000000 --only prose
    python -m tests.benchmarks.adversarial --steps --only "names in one line"

Each text of `adversarial_texts` goes through the whole pipeline, with a patient's
record, in a process of its own, so that no cache and no memory is shared between sizes.
The growth is the exponent between the last two sizes: 1 is linear, 2 quadratic.  Above
the limit the row has SUPERLINEAR and the command fails.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from multiprocessing.connection import Connection
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from deid_core import (
    Address,
    Deidentifier,
    Document,
    KnownId,
    KnownIdentifiers,
    Label,
    PersonName,
    ScrubbedDocument,
)
from deid_core.document import NOTHING_KNOWN
from deid_core.language.reading import readings_of
from deid_core.language.truecasing import truecased
from deid_core.merge import merge
from deid_core.propagation import propagated
from deid_core.replace import apply_replacements
from tests.benchmarks.adversarial_texts import TEXTS

LIMIT = 1.25
KEY = b"k" * 32
ALL = "all"
_TOO_SHORT = 0.02
_QUICK = 1.0
_WARM_UP = TEXTS["prose"](20_000)
"""Loads what is loaded at first use, which is not part of the growth."""
KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Oyelaran", "Marguerite", "Jo"),),
    kin_names=(PersonName("Oyelaran", "Tobias"),),
    birth_dates=(date(1961, 4, 5),),
    addresses=(Address("77 Larkspur Crossing", "", "Ashbury", "OH", "43001"),),
    phones=("216-555-0177",),
    emails=("m.oyelaran@example.org",),
    ids=(KnownId("77889911", Label.MEDICALRECORD),),
    facilities=("Larkspur General Hospital",),
    employers=("Acme Manufacturing, Inc.",),
)

Seconds = dict[str, float]
Run = Callable[[Deidentifier, Document], Seconds]


@dataclass(frozen=True, slots=True)
class Timed:
    """The time of a text at each size.

    Args:
        sizes: In characters.
        seconds: Processor time at each size; fewer than the sizes if it ran too long.
        megabytes: Peak memory, above that of the process before.
        note: Why it was refused, or that it ran too long.
    """

    sizes: Sequence[int]
    seconds: Sequence[float]
    megabytes: float = 0.0
    note: str = ""

    @property
    def growth(self) -> float:
        """Exponent of the growth between the last two sizes."""
        return growth(self.sizes, self.seconds)

    @property
    def is_linear(self) -> bool:
        return len(self.seconds) == len(self.sizes) and self.growth <= LIMIT


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent between the last two sizes; short times count as equal."""
    if len(seconds) < 2:
        return 1.0
    before, last = (max(each, _TOO_SHORT) for each in seconds[-2:])
    place = len(seconds) - 1
    return math.log(last / before) / math.log(sizes[place] / sizes[place - 1])


def whole(system: Deidentifier, document: Document) -> Seconds:
    """Return the time of the whole pipeline.

    Raises:
        DeidError: The note is refused.
    """
    with _Clock() as clock:
        system.deidentify(document)
    return {ALL: clock.seconds}


def by_step(system: Deidentifier, document: Document) -> Seconds:
    """Return the time of each step on the results of the steps before."""
    seconds: Seconds = {}
    with _Clock() as clock:
        readings_of(document.text)
    seconds["readings"] = clock.seconds
    with _Clock() as clock:
        read = Document(document.id, truecased(document.text), document.known)
    seconds["letter case"] = clock.seconds
    proposals = []
    for detector in system._detectors:
        with _Clock() as clock:
            [found] = detector([document])
        seconds[detector.name] = clock.seconds
        proposals += found
    with _Clock() as clock:
        [repeated] = propagated([read], [proposals])
    seconds["propagation"] = clock.seconds
    proposals += repeated
    with _Clock() as clock:
        merged = merge(proposals)
    seconds["merge"] = clock.seconds
    with _Clock() as clock:
        replacements = system._replacer.replacements(document, merged, proposals)
    seconds["surrogates"] = clock.seconds
    with _Clock() as clock:
        text, offset_map = apply_replacements(document.text, replacements)
    seconds["replace"] = clock.seconds
    with _Clock() as clock:
        system._verifier.verify(
            document.text, document.known, text, offset_map, merged, proposals
        )
    seconds["verify"] = clock.seconds
    return seconds


class _Clock:
    """Processor time without the garbage collector, whose passes look like growth."""

    seconds = 0.0

    def __enter__(self) -> _Clock:
        gc.collect()
        gc.disable()
        self._started = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._started
        gc.enable()


def _in_child(
    send: Connection, system: Deidentifier, run: Run, document: Document
) -> None:
    before = _megabytes()
    try:
        seconds, note = run(system, document), ""
    except Exception as error:
        # A refusal is a valid result; only its type matters.
        seconds, note = {}, type(error).__name__
    send.send((seconds, _megabytes() - before, note))
    send.close()


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _once(
    system: Deidentifier, run: Run, document: Document, limit: float
) -> tuple[Seconds, float, str]:
    """Return seconds by step, megabytes, and why there are none.

    It runs in a process of its own, with unchanged caches and its own memory.
    """
    forked = multiprocessing.get_context("fork")
    receive, send = forked.Pipe(duplex=False)
    child = forked.Process(target=_in_child, args=(send, system, run, document))
    child.start()
    send.close()
    try:
        if not receive.poll(limit):
            child.kill()
            return {}, 0.0, f"over {limit:.0f} s"
        seconds, megabytes, note = receive.recv()
    except EOFError:
        return {}, 0.0, "died"
    finally:
        child.join()
    return seconds, megabytes, note


def timed(
    system: Deidentifier,
    run: Run,
    name: str,
    sizes: Sequence[int],
    *,
    known: KnownIdentifiers = KNOWN,
    limit: float = 3600,
) -> dict[str, Timed]:
    """Return the time of a text by step: the better of two runs where it is short."""
    found: list[Seconds] = []
    megabytes, note = 0.0, ""
    for size in sizes:
        document = Document("d", TEXTS[name](size), known)
        seconds, megabytes, note = _once(system, run, document, limit)
        if note:
            break
        if sum(seconds.values()) < _QUICK:
            again, _, _ = _once(system, run, document, limit)
            seconds = {step: min(each, again[step]) for step, each in seconds.items()}
        found.append(seconds)
    steps = found[0] if found else {ALL: 0.0}
    return {
        step: Timed(sizes, [each[step] for each in found], megabytes, note)
        for step in steps
    }


def main(
    preset: Annotated[str, typer.Option()] = "hybrid",
    policy: Annotated[str, typer.Option()] = "safe-harbor",
    sizes: Annotated[list[int] | None, typer.Option(help="In characters.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Texts by name.")] = None,
    steps: Annotated[bool, typer.Option(help="A row for each step.")] = False,
    record: Annotated[bool, typer.Option(help="With a patient's record.")] = True,
    limit: Annotated[float, typer.Option(help="Wall seconds per text.")] = 3600,
    above: Annotated[
        float, typer.Option(help="Show rows from so many seconds on.")
    ] = 0.0,
) -> None:
    """Measure all texts; fail if one takes superlinear time."""
    sizes = sorted(sizes or [10_000, 100_000, 1_000_000])
    system = Deidentifier.from_names(preset, policy, KEY)
    warm = system.deidentify(Document("d", _WARM_UP))
    assert isinstance(warm, ScrubbedDocument)
    grid = Grid(title=f"{preset}, {policy}: milliseconds of processor time per kB")
    for column in ("text", *(["step"] if steps else [])):
        grid.add_column(column)
    for column in (*(f"{each / 1000:,.0f} kB" for each in sizes), "growth", "MB", ""):
        grid.add_column(column, justify="right")
    worst, failed = 1.0, 0
    for name in only or TEXTS:
        rows = timed(
            system,
            by_step if steps else whole,
            name,
            sizes,
            known=KNOWN if record else NOTHING_KNOWN,
            limit=limit,
        )
        for step, each in rows.items():
            is_answer = each.is_linear or each.note.endswith("Found")
            failed += not is_answer
            worst = max(worst, each.growth)
            if is_answer and each.seconds and each.seconds[-1] < above:
                continue
            shown = [
                f"{1e6 * second / size:.2f}"
                for second, size in zip(each.seconds, sizes, strict=False)
            ]
            shown += ["-"] * (len(sizes) - len(shown))
            verdict = each.note or ("" if each.is_linear else "SUPERLINEAR")
            cells = [name, step] if steps else [name]
            grid.add_row(
                *cells, *shown, f"{each.growth:.2f}", f"{each.megabytes:,.0f}", verdict
            )
    Console(width=112).print(grid)
    print(f"worst growth: exponent {worst:.2f}; superlinear or failed: {failed}")
    raise typer.Exit(1 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
