"""``phistream run``, ``feed``, ``reconcile`` and ``key``."""

from __future__ import annotations

import logging
import os
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table as Grid

from ..cluster.client import wait_for_broker
from ..cluster.topics import Stage
from ..engine.errors import ConfigError
from ..engine.log import set_up_logging
from ..engine.settings import load_settings
from ..files.feed import feed as publish
from ..files.feed import raw_messages
from ..files.sources import records_in, require_present
from ..operations.reconcile import Auditor, Verdict
from ..workers.supervisor import Supervisor
from ..workers.versions import models, runtime
from .options import Bootstrap, Config
from .terminal import say

EXAMPLES = 20
"""Refused notes that are named one by one."""

log = logging.getLogger(__name__)


def run(
    stage: Annotated[Stage, typer.Argument(help="intake or scrub")],
    workers: Annotated[
        int, typer.Option(min=1, help="Processes, each with its own slot.")
    ] = 1,
    config: Config = None,
    bootstrap: Bootstrap = None,
    preset: Annotated[str | None, typer.Option(help="Detection.")] = None,
    policy: Annotated[str | None, typer.Option(help="Replacement.")] = None,
) -> None:
    """Run a stage until SIGTERM or Ctrl-C, then drain."""
    settings = load_settings(
        config, {"bootstrap": bootstrap, "preset": preset, "policy": policy}
    )
    set_up_logging(settings.log_level)
    is_scrub = stage is Stage.SCRUB
    model = f", model {models(settings.preset)}" if is_scrub else ""
    log.info("%s%s: starting %s", runtime(), model, stage.value)
    settings.client()
    if is_scrub:
        settings.pseudonym_key()
    raise typer.Exit(Supervisor(stage, workers, settings).run())


def feed(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of messages.")],
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Publish HL7 v2 messages and JSON notes on hl7.raw; status 1 if one is refused.

    JSON notes are note events, or in the short form {"id", "text",
    "patient_id"[, "patient": demographics][, "note_type"]}: whose note it is
    must be said.  See schemas/README.md.
    """
    settings = load_settings(config, {"bootstrap": bootstrap})
    settings.client()
    require_present(files)
    wait_for_broker(settings)
    skipped: list[Path] = []
    refused: list[str] = []
    records = records_in(files, skipped=skipped.append)
    with _counting("messages published") as bar:
        task = bar.add_task("feed", total=None, count=0)
        count = publish(
            settings,
            raw_messages(records, refused.append),
            progress=lambda done: bar.update(task, count=done),
        )
    for reason in refused[:EXAMPLES]:
        say(f"refused: {reason}")
    note = f", {len(skipped)} files of other kinds skipped" if skipped else ""
    note += f", {len(refused)} JSON notes refused" if refused else ""
    Console().print(f"{count} messages published on hl7.raw{note}", highlight=False)
    raise typer.Exit(1 if refused else 0)


def reconcile(
    config: Config = None,
    bootstrap: Bootstrap = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    drained: Annotated[
        bool, typer.Option("--drained", help="Count what is pending as missing.")
    ] = False,
) -> None:
    """Pair every input with its outputs; exit 1 unless all is there once, in order."""
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    with _counting("records read") as bar:
        task = bar.add_task("reconcile", total=None, count=0)
        auditor = Auditor(settings, progress=lambda n: bar.update(task, count=n))
        verdicts = auditor.verdicts()
    is_sound = all(
        each.is_sound and not (drained and each.pending) for each in verdicts
    )
    if as_json:
        body = {"sound": is_sound, "topics": [asdict(each) for each in verdicts]}
        typer.echo(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())
    else:
        Console().print(verdict_grid(verdicts))
    raise typer.Exit(0 if is_sound else 1)


def key(
    file: Annotated[Path, typer.Argument(help="Where to write it; must not exist.")],
) -> None:
    """Make a secret key for the pseudonyms, readable by its owner alone."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; no key was written") from None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(secrets.token_hex(32) + "\n")
    Console().print(f"set pseudonym_key_file = {file}", soft_wrap=True)


def verdict_grid(verdicts: list[Verdict]) -> Grid:
    """Return reconcile's table."""
    names = (
        "input inputs notes dead_letters no_note pending missing doubled out_of_order"
    )
    # Made for 80 columns, with counts of millions.
    grid = Grid(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for name in names.split():
        is_count = name != "input"
        grid.add_column(name.replace("_", " "), justify="right" if is_count else "left")
    for each in verdicts:
        numbers = (
            each.inputs,
            each.scrubbed,
            each.dead_letters,
            each.no_note,
            each.pending,
            each.missing,
            each.doubled,
            each.out_of_order,
        )
        style = None if each.is_sound else "bold red"
        grid.add_row(each.topic, *(f"{n:,}" for n in numbers), style=style)
        for example in each.examples:
            grid.add_row(f"  {example}", style="red")
    return grid


def _counting(what: str) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[count]:,} " + what),
        console=Console(stderr=True),
        transient=True,
    )
