"""`phistream feed`: publish files of messages or of patient updates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from streams.formats.json_map import load_json_map
from streams.kafka.client import wait_for_broker
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import HL7_RAW, PATIENT_UPDATES
from streams.operations.settings import load_settings
from streams.pipeline.files.feed import feed as publish
from streams.pipeline.files.feed import raw_messages
from streams.pipeline.files.patient_updates import update_messages
from streams.pipeline.files.sources import lines_in, records_in, require_present

from .options import Bootstrap, Config, JsonMapFile
from .terminal import counting, say

MAX_REASONS = 20
"""Refused records that are listed one by one."""


def feed(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of messages.")],
    updates: Annotated[
        bool,
        typer.Option(
            "--updates",
            help="The files hold patient updates as JSON lines, for patient.updates.",
        ),
    ] = False,
    json_map: JsonMapFile = None,
    by_sender: Annotated[
        bool,
        typer.Option(
            "--by-sender",
            help="Messages of a sender (MSH-3, MSH-4) go to one partition; always so "
            "with the setting repeated_seconds.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Publish JSON in no known form, too, as dead letters to be.",
        ),
    ] = False,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Publish HL7 v2 messages and JSON notes on hl7.raw, or updates on patient.updates.

    Exits 1 if a record is refused; the others are published.

    A JSON note is a note event, or has the short form {"id", "text",
    "patient_id"[, "patient": demographics][, "note_type"]}; the patient id is
    required.  With --updates each line is a value of patient.updates, or
    {"patient": {...}, "erase": true}, which erases the patient; all are checked
    against the schema.  With --map, JSON of any other form becomes note events.
    See schemas/README.md.
    """
    if updates and json_map:
        raise typer.BadParameter("--map can't be combined with --updates")
    mapped = load_json_map(json_map) if json_map else None
    settings = load_settings(config, {"bootstrap": bootstrap})
    settings.client()
    require_present(files)
    wait_for_broker(settings)
    skipped: list[Path] = []
    refused: list[str] = []
    if updates:
        topic, what, kind = PATIENT_UPDATES, "patient updates", "lines"
        require_topics(settings, [topic.name])
        records = update_messages(
            lines_in(files, skipped=skipped.append), refused.append
        )
    else:
        topic, what, kind = HL7_RAW, "messages", "JSON notes"
        records = raw_messages(
            records_in(files, skipped=skipped.append),
            refused.append,
            mapped,
            by_sender=by_sender or settings.repeated_seconds > 0,
            any_json=force or settings.json_map is not None,
            charset=settings.charset,
        )
    with counting(f"{what} published") as bar:
        task = bar.add_task("feed", total=None, count=0)
        count = publish(
            settings,
            records,
            topic=topic,
            progress=lambda done: bar.update(task, count=done),
        )
    for reason in refused[:MAX_REASONS]:
        say(f"refused: {reason}")
    note = f", {len(skipped)} files of other kinds skipped" if skipped else ""
    note += f", {len(refused)} {kind} refused" if refused else ""
    Console().print(f"{count} {what} published on {topic.name}{note}", highlight=False)
    raise typer.Exit(1 if refused else 0)
