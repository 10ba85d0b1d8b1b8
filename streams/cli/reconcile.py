"""`phistream reconcile`: the proof that nothing is missing, doubled or out of order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from streams.kafka.client import wait_for_broker
from streams.model.seals import read_audit_key
from streams.operations.reconcile import Auditor, Conclusion, Result, TopicVerdict
from streams.operations.settings import load_settings
from streams.products import load, products

from .options import Bootstrap, Config, Json
from .terminal import counting, print_json

COLUMNS = {
    "inputs": "inputs",
    "scrubbed": "notes",
    "dead_letters": "dead\nletters",
    "no_note": "no\nnote",
    "repeated": "sent\nagain",
    "held": "held",
    "waiting": "pend-\ning",
    "missing": "miss-\ning",
    "doubled": "doub-\nled",
    "out_of_order": "out of\norder",
}
"""The title of each column, by field of `TopicVerdict`."""
STATUSES = {Result.PASSES: 0, Result.FAILS: 1, Result.COULD_NOT_CHECK: 3}
"""The exit statuses."""


def reconcile(
    config: Config = None,
    bootstrap: Bootstrap = None,
    as_json: Json = False,
    drained: Annotated[
        bool, typer.Option("--drained", help="Count pending records as missing.")
    ] = False,
    key_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--key-file",
            help="Pseudonym key, or audit key, of the records; once for each key. "
            "Default: pseudonym_key_file.",
        ),
    ] = None,
    without_key: Annotated[
        bool, typer.Option("--without-key", help="Do not check seals.")
    ] = False,
    version: Annotated[
        str | None,
        typer.Option("--version", help="Of phistream rescrub: v2, v3, ..."),
    ] = None,
) -> None:
    """Match every input with its outputs; exit 1 if any is missing or doubled.

    With --version the notes that phistream rescrub wrote are matched instead.

    Exit 1 also if the outputs of a key are out of order, or if a record was forged or
    changed.  Exit 3 if a topic could not be read: it is missing, or hidden from this
    user.
    """
    settings = load_settings(config, {"bootstrap": bootstrap})
    keys = [read_audit_key(file, "--key-file") for file in key_file or ()]
    wait_for_broker(settings)
    if version is not None:
        [prove] = (load(each.proof) for each in products().values() if each.proof)
        proof = prove(settings, version, keys, is_drained=drained)
        _end(proof, [], as_json=as_json)
    with counting("records read") as bar:
        task = bar.add_task("reconcile", total=None, count=0)
        auditor = Auditor(
            settings,
            keys=keys if keys or without_key else None,
            progress=lambda n: bar.update(task, count=n),
        )
        conclusion = auditor.conclusion(auditor.verdicts(), is_drained=drained)
    _end(conclusion, auditor.not_checked, as_json=as_json)


def _end(
    conclusion: Conclusion, not_checked: Sequence[str], *, as_json: bool
) -> NoReturn:
    """Print the conclusion, and exit with its status."""
    if as_json:
        print_json(
            {
                "result": conclusion.result,
                "sound": conclusion.result is Result.PASSES,
                "topics": [asdict(verdict) for verdict in conclusion.verdicts],
                "not_checked": not_checked,
            }
        )
    else:
        print_conclusion(Console(), conclusion, not_checked)
    raise typer.Exit(STATUSES[conclusion.result])


def print_conclusion(
    console: Console, conclusion: Conclusion, not_checked: Iterable[str]
) -> None:
    """Print the verdicts, what is wrong, what they do not say, and one line of all."""
    console.print(verdict_table(conclusion.verdicts))
    _print_findings(console, conclusion.verdicts, not_checked)
    console.print(conclusion.line, style="bold", highlight=False, soft_wrap=True)


def verdict_table(verdicts: Iterable[TopicVerdict]) -> Table:
    """Return the verdicts as a table of 80 columns, for counts of millions."""
    table = Table("input", box=None, padding=(0, 1, 0, 0), header_style="dim")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for each in verdicts:
        if each.inputs or not each.faults:
            counts = (f"{getattr(each, field):,}" for field in COLUMNS)
            style = None if each.is_sound else "bold red"
            table.add_row(each.topic, *counts, style=style)
    return table


def _print_findings(
    console: Console, verdicts: Iterable[TopicVerdict], not_checked: Iterable[str]
) -> None:
    """Print what is wrong, by position, and what the verdicts do not say."""
    for each in verdicts:
        for fault, count in each.faults.items():
            console.print(f"{each.topic}: {count:,} {fault}", style="bold red")
        for example in each.examples:
            console.print(f"  {example}", style="red", highlight=False)
    for limit in not_checked:
        console.print(f"not checked: {limit}", style="yellow", highlight=False)
