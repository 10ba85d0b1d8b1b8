"""`phistream reconcile`: the proof that nothing is missing, doubled or out of order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..cluster.client import wait_for_broker
from ..engine.settings import load_settings
from ..operations.reconcile import Auditor, Verdict
from .options import Bootstrap, Config, Json
from .terminal import counting, print_json

COLUMNS = {
    "inputs": "inputs",
    "scrubbed": "notes",
    "dead_letters": "dead\nletters",
    "no_note": "no\nnote",
    "repeated": "sent\nagain",
    "held": "held",
    "pending": "pend-\ning",
    "missing": "miss-\ning",
    "doubled": "doub-\nled",
    "out_of_order": "out of\norder",
}
"""The title of each column, by field of `Verdict`."""


def reconcile(
    config: Config = None,
    bootstrap: Bootstrap = None,
    as_json: Json = False,
    drained: Annotated[
        bool, typer.Option("--drained", help="Count pending records as missing.")
    ] = False,
) -> None:
    """Match every input with its outputs; exit 1 if any is missing or doubled.

    Exit 1 also if the outputs of a key are out of order.
    """
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    with counting("records read") as bar:
        task = bar.add_task("reconcile", total=None, count=0)
        auditor = Auditor(settings, progress=lambda n: bar.update(task, count=n))
        verdicts = auditor.verdicts()
    is_sound = all(
        each.is_sound and not (drained and each.pending) for each in verdicts
    )
    if as_json:
        print_json({"sound": is_sound, "topics": [asdict(each) for each in verdicts]})
    else:
        Console().print(verdict_table(verdicts))
    raise typer.Exit(0 if is_sound else 1)


def verdict_table(verdicts: Iterable[Verdict]) -> Table:
    """Return the verdicts as a table of 80 columns, for counts of millions."""
    table = Table("input", box=None, padding=(0, 1, 0, 0), header_style="dim")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for each in verdicts:
        counts = (f"{getattr(each, field):,}" for field in COLUMNS)
        style = None if each.is_sound else "bold red"
        table.add_row(each.topic, *counts, style=style)
        for example in each.examples:
            table.add_row(f"  {example}", style="red")
    return table
