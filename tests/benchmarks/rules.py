"""Processor time of the rules, with what each overrides and with all derived.

    python -m tests.benchmarks.rules --notes 600

Notes of the invented ward, as in `notes`.  Both tables read the same notes in turn;
the least of several runs counts.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console

from deid_core import Document
from deid_core.detectors.rules.engine import RULES, RuleDetector
from deid_core.detectors.rules.prefilter import derive
from tests.benchmarks.notes import FEW, MANY, batches, notes_of

ROUNDS = 5


def without_overrides() -> RuleDetector:
    """Return the detector with every prefilter derived that can be."""
    return RuleDetector(
        [
            replace(rule, triggers=(), lookbehind=None, window=None)
            if derive(rule.pattern)
            else rule
            for rule in RULES
        ]
    )


def seconds(detector: RuleDetector, documents: list[Document]) -> float:
    started = time.process_time()
    for batch in batches(documents):
        detector(batch)
    return time.process_time() - started


def main(
    notes: Annotated[int, typer.Option(help="Of each density.")] = 600,
    seed: Annotated[int, typer.Option()] = 3,
) -> None:
    """Print microseconds a note."""
    console = Console()
    started = time.process_time()
    detectors = {"as shipped": RuleDetector()}
    console.print(f"table made in {time.process_time() - started:.2f} s")
    detectors["all derived"] = without_overrides()
    for identifiers in (FEW, MANY):
        documents = notes_of(identifiers, notes=notes, seed=seed)
        least: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, detector in detectors.items():
                now = seconds(detector, documents)
                least[name] = min(now, least.get(name, now))
        for name, each in least.items():
            cost = f"{each / notes * 1e6:.0f} us a note"
            console.print(f"{identifiers:2} identifiers, {name}: {cost}")


if __name__ == "__main__":
    typer.run(main)
