"""`phistream keys`: the keys of pseudonyms and of the privacy office."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from schemas import json_text
from streams.engine.errors import ConfigError, FatalError, InputError
from streams.engine.keys.files import write_private
from streams.engine.keys.office import make_pair, public_file
from streams.engine.keys.ring import PseudonymKey, key_id_of
from streams.engine.keys.sources import MOMENT, directory_of
from streams.model.patients.demographics import PatientId
from streams.operations.settings import Settings, load_settings
from streams.pipeline.publish import Pseudonyms

from .options import Config, Json
from .terminal import new_passphrase, print_json, show_table

LEAD_MS = 10 * 60 * 1000
"""How long before it comes into force a key must be made."""

app = typer.Typer(
    help="Make, list and rotate keys, and link pseudonyms of two keys.",
    no_args_is_help=True,
)


@app.command()
def pair(
    file: Annotated[Path, typer.Argument(help="The file to write; must not exist.")],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase of the key.")
    ] = False,
) -> None:
    """Make the key pair of the privacy office, which alone can read dead letters.

    Writes the private key to FILE, readable only by its owner, and the public key to
    FILE.pub.  Keep FILE away from the hosts of the workers: they need FILE.pub alone.
    """
    public = make_pair(file, new_passphrase() if passphrase else None)
    Console().print(
        f"key {public.id}\nset dead_letter_key_file = {public_file(file)}",
        soft_wrap=True,
        highlight=False,
    )


@app.command(name="list")
def list_(config: Config = None, as_json: Json = False) -> None:
    """Print the pseudonym keys of the settings: ids and times, never the keys."""
    keys = load_settings(config).key_ring()
    in_force = keys.at(_now_ms()).id
    rows = [
        {
            "key_id": each.id,
            "from": _time(each.from_ms) if each.from_ms else "",
            "state": _state(each, in_force),
            "source": _kind(each.source),
        }
        for each in keys
    ]
    if as_json:
        print_json(rows)
        return
    show_table(
        ("key id", "in force from", "state", "source"),
        [tuple(row.values()) for row in rows],
    )


@app.command()
def rotate(
    start: Annotated[
        datetime,
        typer.Option(
            "--from",
            formats=["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d"],
            help="When the new key comes into force (UTC), for messages that come to "
            "hl7.raw then or later.",
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="The file to write, unless the keys are in a folder."),
    ] = None,
    config: Config = None,
) -> None:
    """Make a new pseudonym key that comes into force at a given time.

    Until then, and for messages from before, the keys of now are used: keep them in the
    settings as long as such messages may wait.  All workers must be restarted with the
    new settings before that time.
    """
    settings = load_settings(config)
    moment = start.replace(tzinfo=UTC)
    start_ms = int(moment.timestamp() * 1000)
    last = max(each.from_ms for each in settings.key_ring())
    if start_ms < _now_ms() + LEAD_MS:
        raise ConfigError(
            f"--from: must be {LEAD_MS // 60_000} minutes from now or later, so that "
            "all workers know the key before it is used"
        )
    if start_ms <= last:
        raise ConfigError(f"--from: must be after the last key's time, {_time(last)}")
    entries = settings.pseudonym_keys
    folder = directory_of(entries[0].source) if len(entries) == 1 else None
    if folder is not None:
        if file is not None:
            raise typer.BadParameter("the keys are in a folder, which names the file")
        file = folder / f"{moment.strftime(MOMENT)}.key"
    elif file is None:
        raise typer.BadParameter("name the file to write")
    key = secrets.token_hex(32).encode()
    write_private(file, key + b"\n")
    typer.echo(f"key {key_id_of(key)} in {file}, in force from {_time(start_ms)}")
    if folder is None:
        typer.echo("set, in place of the keys of now:\n")
        typer.echo(_as_toml(settings, file, moment))
    typer.echo("give it to all hosts, then restart intake and scrub before that time")


@app.command("map")
def map_(
    old: Annotated[str, typer.Argument(help="Id of the former key.")],
    new: Annotated[str, typer.Argument(help="Id of the new key.")],
    patients: Annotated[
        Path,
        typer.Option(
            "--patients",
            help="JSON lines: assigning_authority and id of a patient, and, to link "
            "them, note_ids.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The file to write; must not exist.")
    ],
    config: Config = None,
) -> None:
    """Write which pseudonyms of two keys are of the same patients, for those listed.

    For the privacy office: FILE links what the rotation has separated.  It is readable
    only by its owner and shows no identifier.
    """
    keys = load_settings(config).key_ring()
    one, other = (Pseudonyms(keys.by_id(each).value) for each in (old, new))
    lines = []
    for number, line in enumerate(_lines(patients), start=1):
        patient, notes = _listed(line, f"{patients} line {number}")
        pair = {"old": one.patient(patient.key), "new": other.patient(patient.key)}
        linked = [
            {"old": one.note(patient.key, n), "new": other.note(patient.key, n)}
            for n in notes
        ]
        lines.append(orjson.dumps(pair | ({"notes": linked} if linked else {})))
    write_private(out, b"".join(line + b"\n" for line in lines))
    typer.echo(f"{len(lines)} patients: key {old} to {new}, in {out}")


def _lines(path: Path) -> list[bytes]:
    try:
        return [each for each in path.read_bytes().splitlines() if each.strip()]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _listed(line: bytes, where: str) -> tuple[PatientId, list[str]]:
    """Return a patient of the file, and its notes; no message shows them."""
    try:
        found = json_text.loads("patient", line)
        patient = PatientId(found["assigning_authority"], found["id"])
        notes = found.get("note_ids", [])
        parts = [patient.assigning_authority, patient.id, *notes]
        known = {"assigning_authority", "id", "note_ids"}
        is_listed = isinstance(notes, list) and found.keys() <= known
        if is_listed and all(isinstance(each, str) for each in parts):
            return patient, notes
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise FatalError(
        f"{where}: needs assigning_authority and id, and may have note_ids, as texts; "
        "nothing was written"
    )


def _as_toml(settings: Settings, file: Path, start: datetime) -> str:
    """Return the table of keys, the new one last."""
    entries = [(each.source, each.start) for each in settings.pseudonym_keys]
    if settings.pseudonym_key_file is not None:
        entries = [(f"file:{settings.pseudonym_key_file}", None)]
    parts = []
    for source, moment in (*entries, (f"file:{file.absolute()}", start)):
        # A JSON text is a basic string of TOML.
        shown = _kind(source)
        comment = "" if shown == source else "  # put the command of now here"
        text = orjson.dumps(source if shown == source else f"{shown}:...").decode()
        lines = ["[[pseudonym_keys]]", f"source = {text}{comment}"]
        if moment is not None:
            lines.append(f"from = {moment.astimezone(UTC).isoformat()}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _state(key: PseudonymKey, in_force: str) -> str:
    if key.id == in_force:
        return "in force"
    return "next" if key.from_ms > _now_ms() else "former"


def _kind(source: str) -> str:
    """Return a source as it may be shown: a command may hold a secret."""
    kind, _, rest = source.partition(":")
    return "command" if kind == "command" else f"{kind}:{rest}" if rest else source


def _now_ms() -> int:
    return int(time.time() * 1000)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
