"""`phistream held`: notes that wait for the demographics of their patient."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from streams.kafka.client import wait_for_broker
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import NOTES_HELD, PATIENT_UPDATES
from streams.operations.held_notes import (
    Decision,
    WaitingNote,
    command,
    not_first,
    waiting_notes,
)
from streams.operations.settings import Settings, load_settings

from .options import Bootstrap, Config, Json
from .terminal import print_json, say, show_table

app = typer.Typer(
    help="List, release or discard notes that wait for demographics.",
    no_args_is_help=True,
)

PLACE = re.compile(r"notes/[0-9]{1,6}/[0-9]{1,19}")


def _check_places(places: list[str] | None) -> list[str] | None:
    for each in places or ():
        if not PLACE.fullmatch(each):
            raise typer.BadParameter("a place is notes/PARTITION/OFFSET, as list shows")
    return places


Places = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PLACE...",
        callback=_check_places,
        help="notes/PARTITION/OFFSET, as list shows.",
    ),
]


@app.command(name="list")
def list_(
    config: Config = None, bootstrap: Bootstrap = None, as_json: Json = False
) -> None:
    """Print the notes that wait, without text and patient."""
    settings = _settings(config, bootstrap)
    notes = waiting_notes(settings)
    rows = [_row(each, settings) for each in notes]
    if as_json:
        print_json(rows)
        return
    show_table(
        ("note", "type", "policy", "waits since", "until"),
        [tuple(map(str, row.values())) for row in rows],
    )


@app.command()
def release(
    places: Places = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Release all notes that wait.")
    ] = False,
    note_type: Annotated[
        str | None, typer.Option("--type", help="Release all notes of this type.")
    ] = None,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Have notes scrubbed although no name of their patient is known.

    Exits 1 if a note is not released: because it does not wait, or because an earlier
    note of its patient does that was not chosen.
    """
    if sum((bool(places), everything, note_type is not None)) != 1:
        raise typer.BadParameter("name places, or --all, or --type")
    settings = _settings(config, bootstrap)
    notes = waiting_notes(settings)
    chosen = {
        each.place
        for each in notes
        if everything or each.note_type == note_type or each.place in (places or ())
    }
    blocked = not_first(notes, chosen)
    for each in blocked:
        say(f"{each}: an earlier note of its patient waits; release or discard both")
    chosen.difference_update(blocked)
    absent = _say_absent(places or [], notes)
    _publish(settings, [e for e in notes if e.place in chosen], "release")
    raise typer.Exit(1 if blocked or absent else 0)


@app.command()
def discard(
    places: Places = None,
    sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Delete notes that wait; they are never published.

    Exits 1 if a note does not wait.
    """
    if not places:
        raise typer.BadParameter("name places")
    settings = _settings(config, bootstrap)
    notes = waiting_notes(settings)
    chosen = [each for each in notes if each.place in places]
    absent = _say_absent(places, notes)
    if chosen and not sure:
        typer.confirm(f"discard {len(chosen)} notes for good?", abort=True)
    _publish(settings, chosen, "discard")
    raise typer.Exit(1 if absent else 0)


def _settings(config: Config, bootstrap: Bootstrap) -> Settings:
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    require_topics(settings, [NOTES_HELD.name, PATIENT_UPDATES.name])
    return settings


def _row(note: WaitingNote, settings: Settings) -> dict[str, str]:
    return {
        "place": note.place,
        "note_type": note.shown_type(settings.unknown_patient_types),
        "policy": note.policy,
        "since": _time(note.since_ms),
        "until": _time(note.until_ms),
    }


def _time(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(timespec="seconds") if at_ms else ""


def _say_absent(places: list[str], notes: list[WaitingNote]) -> list[str]:
    waiting = {each.place for each in notes}
    absent = [each for each in places if each not in waiting]
    for each in absent:
        say(f"{each}: does not wait; phistream held list shows what does")
    return absent


def _publish(settings: Settings, notes: list[WaitingNote], decision: Decision) -> None:
    command(settings, notes, decision)
    Console().print(
        f"{decision} published for {len(notes)} notes; scrub carries it out",
        highlight=False,
    )
