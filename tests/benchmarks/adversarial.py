"""No text takes superlinear time: seconds at sizes n, 2n and 4n, and the growth.

    python -m tests.benchmarks.adversarial
    python -m tests.benchmarks.adversarial --size 2500000 --only letters --only digits

Each text is one hostile part, repeated; each detector of the preset reads it alone,
then the whole pipeline does, with a patient's record.  Time that doubles with the text
has a growth of 2; above the limit the row says SUPERLINEAR and the command fails.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
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
)
from deid_core.config import load_preset
from deid_core.errors import DeidError

LIMIT = 2.4
TOO_SHORT = 0.02
PARTS = {
    "letters": "a",
    "capitals": "A",
    "digits": "1",
    "nines": "9",
    "spaces": " ",
    "tabs": "\t",
    "lines": "\n",
    "commas": ",",
    "dots": ".",
    "parentheses": "(",
    "nested": "([{",
    "closing": ")]}",
    "dashes": "-",
    "slashes": "/",
    "apostrophes": "O'",
    "combining": "e\u0301",
    "marks alone": "\u0301",
    "chinese": "\u738b",
    "soft hyphens": "Aa\u00adb",
    "hyphenated lines": "aa\u00ad\n",
    "zero width": "Aa\u200b",
    "tag characters": "\U000e0041",
    "control characters": "a\x00",
    "fullwidth": "\uff33\uff4d ",
    "ligatures": "\ufb03",
    "raised digits": "\u00b2",
    "line through": "S\u0336",
    "capital words": "AA BB ",
    "title words": "Aa Bb ",
    "initials": "A. B. ",
    "mr initials": "Mr. A. A. A. ",
    "doctors": "Dr. Dr. Dr. ",
    "doctor names": "Dr. Ana Rostova ",
    "credentials": "M.D. ",
    "dates": "1/1/",
    "dates written": "1/2/2024 ",
    "zeros": "00-00-00",
    "months": "May ",
    "months and days": "May 5-",
    "ages": "91 year ",
    "emails": "a@a@a@",
    "dotted emails": "a.a.a.a@",
    "dot words": "john at example dot ",
    "links": "www.",
    "hosts": "a.com.",
    "ip": "1.1.1.1.",
    "ipv6": "fe80:",
    "phones": "212-555-0142",
    "national phones": "020 7946 0018 ",
    "plus": "+1 ",
    "extensions": "x1234 ",
    "labels": "MRN MRN: ",
    "label words": "patient id no. ",
    "cards": "4111 1111 ",
    "ibans": "GB29 NWBK ",
    "nric": "S1234567",
    "streets": "12 Main ",
    "street suffixes": "12 Oak St ",
    "blocks": "Blk 1 Ang ",
    "post codes": "SW1A 1AA ",
    "counties": "Fox Hollow County ",
    "boxes": "RR 2 Box ",
    "jobs": "is a senior ",
    "works as": "works as a ",
    "handles": "@aa_",
    "typists": "\nJS/mt",
    "closings": "Sincerely,\n",
    "quarters": "Q1 2024",
    "possessives": "Rostova's ",
    "lower names": "mr ana ",
    "commas and names": "Rostova, Ana, ",
    "known names": "Marguerite Oyelaran ",
    "known parts": "oyelaran oyelaren ",
    "known digits": "7788 ",
    "hospitals": "Cedar Crest General ",
}
PARTS["all of them"] = " ".join(part.strip() or part for part in PARTS.values())
KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Oyelaran", "Marguerite", "Jo"),),
    kin_names=(PersonName("Oyelaran", "Tobias"),),
    addresses=(Address("77 Larkspur Crossing", "", "Ashbury", "OH", "43001"),),
    phones=("216-555-0177",),
    ids=(KnownId("77889911", Label.MEDICALRECORD),),
)


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds that a text took at each size, or why there are none."""

    seconds: tuple[float, ...]
    error: str = ""

    @property
    def growth(self) -> float:
        """The factor a doubling of the text; 2 is linear."""
        first, *_, last = (max(each, TOO_SHORT) for each in self.seconds)
        return float((last / first) ** (1 / (len(self.seconds) - 1)))

    @property
    def verdict(self) -> str:
        if self.error:
            return self.error
        return "linear" if self.growth <= LIMIT else "SUPERLINEAR"


def timed(run: Callable[[Document], object], part: str, sizes: list[int]) -> Timed:
    """Return what each size takes: the better of two runs, or of one if it is slow."""
    seconds = []
    for size in sizes:
        document = Document("d", (part * (size // len(part) + 1))[:size], KNOWN)
        best = float("inf")
        for _ in range(2):
            try:
                best = min(best, _seconds(run, document))
            except DeidError as error:
                # A refusal is an answer; its cause matters more than its time.
                return Timed((1.0, 1.0), type(error).__name__)
            if best > 1:
                break
        seconds.append(best)
    return Timed(tuple(seconds))


def _seconds(run: Callable[[Document], object], document: Document) -> float:
    # The collector's passes come in jumps that look like growth.
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        run(document)
        return time.process_time() - started
    finally:
        gc.enable()


def runs(preset: str, policy: str) -> dict[str, Callable[[Document], object]]:
    """Return what is measured: each detector, then all of the pipeline."""
    detectors = load_preset(preset).build()
    system = Deidentifier.from_names(preset, policy)
    alone = {
        each.name: lambda document, each=each: each([document]) for each in detectors
    }
    return alone | {"pipeline": system.deidentify}


def main(
    preset: Annotated[str, typer.Option()] = "hybrid",
    policy: Annotated[str, typer.Option()] = "safe-harbor",
    size: Annotated[int, typer.Option(help="n, in characters.")] = 50_000,
    doublings: Annotated[int, typer.Option(min=1)] = 2,
    only: Annotated[list[str] | None, typer.Option(help="Texts by name.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Detectors, pipeline.")] = None,
    above: Annotated[float, typer.Option(help="Show rows of so many seconds.")] = 0.0,
) -> None:
    """Measure, print, and fail when some text takes superlinear time."""
    sizes = [size << doubling for doubling in range(doublings + 1)]
    grid = Grid("text", "what", *(f"{each:,}" for each in sizes), "growth", "verdict")
    worst = Timed((1.0, 1.0))
    failed = 0
    measured = runs(preset, policy)
    for name in only or PARTS:
        for what, run in measured.items():
            if by and what not in by:
                continue
            result = timed(run, PARTS[name], sizes)
            failed += result.verdict == "SUPERLINEAR"
            worst = max(worst, result, key=lambda each: each.growth)
            if result.error or result.seconds[-1] >= above:
                shown = [f"{each:.3f}" for each in result.seconds]
                grid.add_row(name, what, *shown, f"{result.growth:.2f}", result.verdict)
    Console(width=120).print(grid)
    print(f"worst growth a doubling {worst.growth:.2f}; superlinear: {failed}")
    raise typer.Exit(1 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
