"""`phistream dead-letters`: what could not be processed, and its return."""

from __future__ import annotations

import os
import pwd
import re
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from streams.cli.options import TIMES, Bootstrap, Config, Json
from streams.cli.terminal import counting, print_json, say, show_table
from streams.engine.errors import ConfigError, InputError
from streams.engine.keys.files import read_private
from streams.engine.keys.office import MAKE, NotOpened, OfficePrivateKey, has_passphrase
from streams.engine.reasons import REASONS
from streams.engine.records import Record
from streams.kafka.client import wait_for_broker
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import DEAD_LETTERS, LETTERS_COME_FROM, LETTERS_REPLAYED
from streams.kafka.wire_format import split
from streams.model.letters import Letter
from streams.operations.settings import Settings, load_settings
from streams.products.office.dead_letters import (
    DeadLetters,
    Keys,
    Replay,
    Replayed,
    Selection,
    is_replayed,
    reveal,
    to_replay,
)

app = typer.Typer(
    help="List, show and replay dead letters.",
    no_args_is_help=True,
)

PLACE = re.compile(r"dead\.letters/[0-9]{1,6}/[0-9]{1,19}")
SEGMENT = re.compile(r"([A-Z][A-Z0-9]{2}(?=\|)|)(.*)", re.DOTALL)
HEADERS = ("MSH|", "BHS|", "FHS|")
ACTOR = re.compile(r"[A-Za-z0-9._@-]{1,64}")
SHOWN = 100
"""Letters that `list` prints one by one."""


def _check_places(places: list[str] | None) -> list[str] | None:
    for each in places or ():
        _check_place(each)
    return places


def _check_place(place: str) -> str:
    if not PLACE.fullmatch(place):
        raise typer.BadParameter(
            "a place is dead.letters/PARTITION/OFFSET, as list shows"
        )
    return place


def _check_codes(codes: list[str] | None) -> list[str] | None:
    for each in codes or ():
        if each not in REASONS:
            raise typer.BadParameter(f"unknown: {each}; known: {', '.join(REASONS)}")
    return codes


def _check_topics(topics: list[str] | None) -> list[str] | None:
    known = [topic.name for topic in LETTERS_COME_FROM]
    for each in topics or ():
        if each not in known:
            raise typer.BadParameter(f"unknown: {each}; known: {', '.join(known)}")
    return topics


Place = Annotated[
    str,
    typer.Argument(
        metavar="PLACE",
        callback=_check_place,
        help="dead.letters/PARTITION/OFFSET, as list shows.",
    ),
]
Places = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PLACE...",
        callback=_check_places,
        help="dead.letters/PARTITION/OFFSET, as list shows.",
    ),
]
Codes = Annotated[
    list[str] | None,
    typer.Option("--code", callback=_check_codes, help="Only this reason code."),
]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", callback=_check_topics, help="Only from this topic."),
]
OfPartition = Annotated[
    int | None,
    typer.Option("--partition", min=0, help="Only from this partition of the topic."),
]
Since = Annotated[
    datetime | None,
    typer.Option("--since", formats=TIMES, help="Only from this time on (UTC)."),
]
Until = Annotated[
    datetime | None,
    typer.Option("--until", formats=TIMES, help="Only from before this time (UTC)."),
]
PrivateKeys = Annotated[
    list[Path] | None,
    typer.Option(
        "--private-key",
        help="Private key of the privacy office; several if it was changed.",
    ),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file", help="Passphrase of the keys; else it is asked for."
    ),
]


@app.command(name="list")
def list_(
    codes: Codes = None,
    topics: Topics = None,
    partition: OfPartition = None,
    since: Since = None,
    until: Until = None,
    config: Config = None,
    bootstrap: Bootstrap = None,
    as_json: Json = False,
) -> None:
    """Print dead letters, the newest last: place, code, field, source, and counts.

    Nothing of their originals is shown; no key is needed.
    """
    settings = _settings(config, bootstrap)
    letters = DeadLetters(settings)
    marks = letters.marks()
    found: list[dict[str, Any]] = []
    # Not the letters themselves: they may be more than memory holds.
    chosen = _selection(None, codes, topics, partition, since, until)
    found.extend(_row(each, marks) for each in letters.read(chosen, _say_unreadable))
    found.sort(key=lambda row: (row["at"], row["place"]))
    counts = Counter((row["stage"], row["code"]) for row in found)
    if as_json:
        totals = [
            {"stage": stage, "code": code, "count": count}
            for (stage, code), count in counts.most_common()
        ]
        print_json({"counts": totals, "letters": found})
        return
    shown = found[-SHOWN:]
    names = ("place", "at", "code", "source", "replayed", "reason")
    show_table(names, [tuple(str(row[name]) for name in names) for row in shown])
    if len(shown) < len(found):
        say(f"the newest {SHOWN} of {len(found)}; --json prints all")
    show_table(
        ("stage", "code", "letters"),
        [(*name, f"{count:,}") for name, count in counts.most_common()],
    )


@app.command()
def show(
    place: Place,
    private_keys: PrivateKeys = None,
    passphrase_file: PassphraseFile = None,
    revealed: Annotated[
        bool,
        typer.Option(
            "--reveal", help="Show the original's values; writes an audit event."
        ),
    ] = False,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Print one dead letter; with the private key its original, masked.

    Masked, each letter is an x and each digit a 9.  With --reveal the values are shown,
    once an audit event says who has asked for which letter, and when.
    """
    if revealed and not private_keys:
        raise typer.BadParameter("--reveal needs --private-key")
    keys = _keys(private_keys, passphrase_file)
    settings = _settings(config, bootstrap)
    letters = DeadLetters(settings)
    letter = letters.at(place)
    for name, value in _row(letter, letters.marks()).items():
        typer.echo(f"{name:9} {value}")
    if not keys:
        return
    try:
        if revealed:
            now = int(time.time() * 1000)
            original = reveal(settings, letter, keys, _actor(), now)
        else:
            original = letter.original(keys)
    except NotOpened as error:
        raise InputError(f"{place}: does not open: {error}") from None
    _print_original(original, is_masked=not revealed)


@app.command()
def replay(
    places: Places = None,
    private_keys: PrivateKeys = None,
    passphrase_file: PassphraseFile = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Replay all dead letters.")
    ] = False,
    codes: Codes = None,
    topics: Topics = None,
    partition: OfPartition = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of letters.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")
    ] = False,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Return dead letters to the topics that they came from, each of them once.

    The command may be killed and run again: it goes on where it ended.  Correct the
    cause first: a letter that fails again is a new dead letter.

    Exits 1 if a letter does not open, or can't be written back.
    """
    selection = _selection(places, codes, topics, partition, since, until)
    if everything is not selection.is_all:
        raise typer.BadParameter("name places or filters, or --all")
    if not private_keys:
        raise typer.BadParameter("the originals are sealed: --private-key FILE")
    keys = _keys(private_keys, passphrase_file)
    settings = _settings(config, bootstrap)
    if dry_run:
        done = Replayed()
        letters = DeadLetters(settings)
        opened = to_replay(letters, letters.marks(), keys, selection, done)
        for letter, _original in islice(opened, limit):
            done.counts[letter.source.topic, letter.code] += 1
    else:
        with counting("dead letters replayed") as bar:
            task = bar.add_task("replay", total=None, count=0)
            done = Replay(settings, keys, _actor()).run(
                selection,
                limit=limit,
                progress=lambda count: bar.update(task, count=count),
            )
    _say_replayed(done, is_dry_run=dry_run)
    raise typer.Exit(1 if done.unreadable else 0)


def _settings(config: Config, bootstrap: Bootstrap) -> Settings:
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    require_topics(settings, [DEAD_LETTERS.name, LETTERS_REPLAYED.name])
    return settings


def _selection(
    places: list[str] | None,
    codes: list[str] | None,
    topics: list[str] | None,
    partition: int | None,
    since: datetime | None,
    until: datetime | None,
) -> Selection:
    return Selection(
        frozenset(places or ()),
        frozenset(codes or ()),
        frozenset(topics or ()),
        partition,
        _ms(since),
        _ms(until),
    )


def _ms(at: datetime | None) -> int | None:
    return None if at is None else int(at.replace(tzinfo=UTC).timestamp() * 1000)


def _keys(files: list[Path] | None, passphrase_file: Path | None) -> Keys:
    """Return private keys by their ids."""
    where, passphrase = "--private-key", None
    if passphrase_file is not None:
        content = read_private(passphrase_file, "--passphrase-file", "a text editor")
        passphrase = content.rstrip(b"\r\n")
    keys: dict[str, OfficePrivateKey] = {}
    for file in files or ():
        own = None
        if has_passphrase(read_private(file, where, MAKE)):
            asked = f"passphrase of {file}"
            own = passphrase or typer.prompt(asked, hide_input=True).encode()
        key = OfficePrivateKey.read(file, where, own)
        keys[key.public.id] = key
    return keys


def _actor() -> str:
    """Return the user of the process, as the operating system names them."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid-{os.getuid()}"
    if not ACTOR.fullmatch(name):
        raise ConfigError("the user's name can't be part of an audit event")
    return name


def _row(letter: Letter, marks: dict[str, str]) -> dict[str, Any]:
    return {
        "place": letter.place,
        "at": _time(letter.at_ms),
        "stage": letter.stage,
        "code": letter.code,
        "source": letter.source_place,
        "key": letter.key_id,
        "replayed": "yes" if is_replayed(letter, marks) else "no",
        "reason": _shown(letter.reason.encode(), is_masked=False),
    }


def _time(at_ms: int) -> str:
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        # A sender may give its records any time.
        return f"{at_ms} ms after 1970"
    return at.isoformat(timespec="seconds")


def _print_original(original: Record, *, is_masked: bool) -> None:
    key, value = original.key, original.value
    typer.echo(f"{'written':9} {_time(max(0, original.timestamp_ms))}")
    typer.echo(f"{'key':9} {_shown(key, is_masked=is_masked)}")
    for name, raw in original.headers.items():
        # A sender chooses the names of headers, too.
        shown = _shown(name.encode(), is_masked=is_masked)
        typer.echo(f"{'header':9} {shown}: {_shown(raw, is_masked=is_masked)}")
    typer.echo(f"{'value':9} {'null' if value is None else f'{len(value):,} bytes'}")
    if value is not None:
        schema_id, value = split(value)
        if schema_id is not None:
            typer.echo(f"{'schema':9} {schema_id} (id in a schema registry)")
        typer.echo(_shown(value, is_masked=is_masked))


def _shown(raw: bytes | None, *, is_masked: bool) -> str:
    """Return bytes as lines of text that can do nothing to a terminal."""
    if raw is None:
        return "null"
    text = raw.decode("utf-8", "backslashreplace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if is_masked:
        text = masked(text)
    return "".join(
        each
        if each.isprintable() or each in "\n\t"
        else each.encode("unicode_escape").decode()
        for each in text
    )


def masked(text: str) -> str:
    """Return text without its values: letters are x, digits 9; segment names stay."""
    if not text.startswith(HEADERS):
        return _hidden(text)
    lines = (SEGMENT.match(line) for line in text.split("\n"))
    return "\n".join(each[1] + _hidden(each[2]) for each in lines if each)


def _hidden(text: str) -> str:
    return "".join(
        "9" if each.isnumeric() else "x" if each.isalnum() or ord(each) > 127 else each
        for each in text
    )


def _say_unreadable(place: str, why: str) -> None:
    say(f"{place}: no dead letter: {why}")


def _say_replayed(done: Replayed, *, is_dry_run: bool) -> None:
    would = "would be " if is_dry_run else ""
    rows: Iterable[tuple[str, str, str]] = (
        (topic, code, f"{count:,}")
        for (topic, code), count in done.counts.most_common()
    )
    if done.counts:
        show_table(("topic", "code", "letters"), [*rows])
    Console().print(
        f"{done.counts.total():,} dead letters {would}replayed; {done.before:,} were "
        "replayed before",
        highlight=False,
        soft_wrap=True,
    )
    for place, why in done.unreadable:
        say(f"{place}: not replayed: {why}")
