"""Process notes on real Kafka while workers of both stages are killed repeatedly.

    python -m tests.benchmarks.kills --notes 20000 --kills 10
    python -m tests.benchmarks.kills --notes 20000 --kills 10 --merges

The patients change their names meanwhile (`tests.join_audit`): besides missing, doubled
and out-of-order outputs the run counts the names that a join did not see although they
had been committed before the note.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console

from streams.cli.reconcile import print_findings, verdict_table
from tests.benchmarks.cluster import benchmark_settings
from tests.harness import run_with_kills
from tests.join_audit import RenamedWard

NOTES_OF_A_PATIENT = 20


def main(
    notes: Annotated[int, typer.Option()] = 20_000,
    kills: Annotated[int, typer.Option(help="Of both stages together.")] = 10,
    merges: Annotated[
        bool, typer.Option("--merges", help="Every hundredth message is a merge.")
    ] = False,
    seed: Annotated[int, typer.Option()] = 1,
    workers: Annotated[int, typer.Option(help="Of each stage.")] = 1,
) -> None:
    """Run intake and scrub with kills; print the verdicts of both audits."""
    console = Console()
    patients = max(20, notes // NOTES_OF_A_PATIENT)
    with benchmark_settings() as settings:
        started = time.monotonic()
        after = run_with_kills(
            settings,
            RenamedWard(seed=seed, merges=merges, patients=patients),
            notes=notes,
            kills=kills,
            seed=seed,
            workers=workers,
            progress=lambda stage, n, at: console.print(
                f"kill {n} of {stage} at offset {at:,}"
            ),
        )
        seconds = time.monotonic() - started
    console.print(verdict_table(after.verdicts))
    print_findings(console, after.verdicts, ())
    aborted = ", ".join(f"{n:,} in {topic}" for topic, n in after.aborted.items())
    console.print(
        "kill -9: {} of intake, {} of scrub; ".format(*after.kills)
        + f"{seconds:.0f} s; aborted copies: {aborted}"
    )
    join = after.join
    console.print(
        f"join: {join.notes:,} notes held {join.due:,} names that it had to see "
        f"({join.by_order:,} by order, {join.by_own_message:,} in the note's own "
        f"message, {join.by_sight:,} seen before the note was sent), and "
        f"{join.not_due:,} others; {join.misses:,} missed, {join.refused:,} notes "
        f"refused {' '.join(join.examples)}"
    )
    is_sound = all(each.is_sound and not each.pending for each in after.verdicts)
    is_hit = sum(after.kills) == kills and any(after.aborted.values())
    has_seen = join.due and not join.misses and not join.refused
    raise typer.Exit(0 if is_sound and is_hit and has_seen else 1)


if __name__ == "__main__":
    typer.run(main)
