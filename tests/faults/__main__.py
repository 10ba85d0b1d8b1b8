"""``make faults``: run scenarios one after the other, and print a table.

python -m tests.faults [NAME...] --notes 100000 --seed 1
"""

from __future__ import annotations

import logging
import signal
import sys
from typing import Annotated

import typer
from rich.console import Console

from tests.faults.playing import Stage, table
from tests.faults.scenarios import load_scenarios

LONG = 20_000
"""Notes from which on brokers are worth a better, slower compiler."""


def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Scenarios; by default all of them.")
    ] = None,
    notes: Annotated[int, typer.Option(help="Fed in each scenario.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Decides moments and messages.")] = 1,
    brokers: Annotated[int, typer.Option(help="1 or 3.")] = 3,
    show: Annotated[bool, typer.Option("--list", help="Name the scenarios.")] = False,
) -> None:
    """Exit 1 if anything is missing, doubled, out of order or leaked."""
    console = Console(width=150, highlight=False)
    scenarios = load_scenarios()
    unknown = [each for each in names or () if each not in scenarios]
    if unknown:
        raise typer.BadParameter(f"{unknown}; known: {', '.join(scenarios)}")
    if show:
        for name, each in scenarios.items():
            console.print(f"{name}: {each.play.__doc__}")
        return
    logging.disable()
    # Brokers and services must not outlive the run.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    reports = []
    is_long = notes >= LONG
    with Stage(brokers=brokers, progress=console.print, is_long=is_long) as stage:
        for name in names or scenarios:
            report = stage.play(scenarios[name], notes=notes, seed=seed)
            reports.append(report)
            console.print(table([report]))
    if len(reports) > 1:
        console.print(table(reports))
    raise typer.Exit(0 if all(each.is_sound for each in reports) else 1)


if __name__ == "__main__":
    typer.run(main)
