"""`phistream feed`: publish files of messages on hl7.raw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..cluster.client import wait_for_broker
from ..engine.settings import load_settings
from ..files.feed import feed as publish
from ..files.feed import raw_messages
from ..files.sources import records_in, require_present
from .options import Bootstrap, Config
from .terminal import counting, say

MAX_REASONS = 20
"""Refused notes that are listed one by one."""


def feed(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of messages.")],
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Publish HL7 v2 messages and JSON notes on hl7.raw; exit 1 if a note is refused.

    A JSON note is a note event, or has the short form {"id", "text",
    "patient_id"[, "patient": demographics][, "note_type"]}; the patient id is
    required.  See schemas/README.md.
    """
    settings = load_settings(config, {"bootstrap": bootstrap})
    settings.client()
    require_present(files)
    wait_for_broker(settings)
    skipped: list[Path] = []
    refused: list[str] = []
    records = records_in(files, skipped=skipped.append)
    with counting("messages published") as bar:
        task = bar.add_task("feed", total=None, count=0)
        count = publish(
            settings,
            raw_messages(records, refused.append),
            progress=lambda done: bar.update(task, count=done),
        )
    for reason in refused[:MAX_REASONS]:
        say(f"refused: {reason}")
    note = f", {len(skipped)} files of other kinds skipped" if skipped else ""
    note += f", {len(refused)} JSON notes refused" if refused else ""
    Console().print(f"{count} messages published on hl7.raw{note}", highlight=False)
    raise typer.Exit(1 if refused else 0)
