"""One record that hangs, crashes or exhausts its worker, on real Kafka.

python -m tests.benchmarks.poison [FAULT...] --notes 400
"""

from __future__ import annotations

import logging
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tests.benchmarks.cluster import benchmark_settings
from tests.poison import CODES, FAULTS, run_poisoned

COLUMNS = (
    "fault", "workers", "deaths", "seconds", "published", "dead letters", "missing",
    "doubled", "out of order",
)  # fmt: skip


def main(
    faults: Annotated[list[str] | None, typer.Argument()] = None,
    notes: Annotated[int, typer.Option()] = 400,
) -> None:
    """Run each fault with one and with two workers; print a table."""
    logging.disable()
    console, is_sound = Console(width=110), True
    grid = Table(*COLUMNS)
    for fault in faults or FAULTS:
        for workers in (1, 2):
            with benchmark_settings(partitions=4) as settings:
                found = run_poisoned(settings, fault, workers=workers, notes=notes)
            letters = ", ".join(f"{n} {code}" for code, n in found.letters.items())
            wrong = (found.missing, found.doubled, found.out_of_order)
            grid.add_row(
                found.fault,
                str(found.workers),
                str(found.deaths),
                f"{found.seconds:.0f}",
                f"{found.published:,}",
                letters,
                *map(str, wrong),
            )
            is_sound &= wrong == (0, 0, 0) and found.deaths <= 3
            is_sound &= found.letters == {CODES.get(fault, "poison"): 1}
            is_sound &= found.published == notes
            console.print(f"{fault}, workers {workers}: {found.seconds:.0f} s")
    console.print(grid)
    raise typer.Exit(0 if is_sound else 1)


if __name__ == "__main__":
    typer.run(main)
