"""Process notes on real Kafka while the scrub worker is killed repeatedly.

python -m tests.benchmarks.kills --notes 20000 --kills 10
"""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console

from streams.cli.reconcile import verdict_table
from streams.demo.ward import Ward
from tests.benchmarks.cluster import benchmark_settings
from tests.harness import run_with_kills


def main(
    notes: Annotated[int, typer.Option()] = 20_000,
    kills: Annotated[int, typer.Option()] = 10,
    seed: Annotated[int, typer.Option()] = 1,
    workers: Annotated[int, typer.Option()] = 1,
) -> None:
    """Run intake and scrub with kills; print the verdict of reconcile."""
    console = Console()
    with benchmark_settings() as settings:
        started = time.monotonic()
        verdicts, killed, aborted = run_with_kills(
            settings,
            Ward(seed=seed),
            notes=notes,
            kills=kills,
            seed=seed,
            workers=workers,
            progress=lambda n, at: console.print(f"kill {n} at note offset {at:,}"),
        )
        seconds = time.monotonic() - started
    console.print(verdict_table(verdicts))
    console.print(
        f"{notes:,} notes, {killed} kill -9 of the scrub worker, {seconds:.0f} s; "
        f"{aborted:,} aborted copies lie in notes.scrubbed (read_uncommitted)"
    )
    is_sound = all(each.is_sound and not each.pending for each in verdicts)
    raise typer.Exit(0 if is_sound and killed == kills and aborted else 1)


if __name__ == "__main__":
    typer.run(main)
