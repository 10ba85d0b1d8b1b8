"""`phistream map`: propose a map for JSON events of any form, or check one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer

from schemas import SchemaError, json_text
from streams.cli.terminal import say, show_table, write_file
from streams.engine.errors import InputError, InvalidRecord
from streams.formats.json_map import JsonMap, load_json_map
from streams.formats.json_map.paths import Fate, written
from streams.pipeline.files.sources import json_events_in, require_present
from streams.products.map.proposal import proposal
from streams.products.map.samples import Samples


def map_(
    samples: Annotated[
        list[Path],
        typer.Option("--sample", help="JSON or JSON lines: events as they are sent."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the proposed map here.", dir_okay=False)
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="A map: say what becomes of each field of the samples."),
    ] = None,
) -> None:
    """Propose a map of JSON events to note events; or check one, exit 1 on refusals.

    A map lets intake (setting json_map), phistream feed --map and phistream scrub
    --map read JSON of any form, and tables (CSV, TSV).  The names of fields are
    compared with known ones; comments mark what is unsure, and what would be blocked.
    Names of fields are shown, values never.
    """
    if check is not None:
        if out is not None:
            raise typer.BadParameter("--out can't be combined with --check")
        raise typer.Exit(_check(load_json_map(check), list(_events(samples))))
    text = proposal(Samples.of(_events(samples)))
    if out is None:
        typer.echo(text, nl=False)
        return
    write_file(out, text.encode())
    say(f"written: {out}; edit it, then: phistream map --check {out} --sample ...")


def _events(paths: Sequence[Path]) -> Iterator[object]:
    require_present(paths)
    for record in json_events_in(paths):
        try:
            yield json_text.loads("JSON", record.value)
        except orjson.JSONDecodeError:
            place = f"{record.origin} record {record.ordinal + 1}"
            raise InputError(f"{place}: not JSON in UTF-8; correct it") from None
        except SchemaError as error:
            place = f"{record.origin} record {record.ordinal + 1}"
            raise InputError(f"{place}: {error}") from None


def _check(json_map: JsonMap, events: Sequence[object]) -> int:
    """Show what becomes of the fields of events; return the exit status."""
    reasons: Counter[str] = Counter()
    for event in events:
        try:
            if not isinstance(event, dict):
                reasons["not a JSON object"] += 1
            else:
                json_map.event_of(event)
        except InvalidRecord as error:
            reasons[error.reason] += 1
    found = Samples.of(events)
    targets: dict[str, list[str]] = {}
    for mapped, property_ in json_map.targets():
        targets.setdefault(str(mapped), []).append(property_)
    rows: list[tuple[str, str, str, str]] = []
    for steps, sampled in found.fields.items():
        path, fate = written(steps), json_map.known.fate(steps)
        becomes = ", ".join(targets[path]) if fate is Fate.MAPPED else fate.value
        rows.append((path, becomes, sampled.described, str(sampled.events)))
    for steps, count in found.unnamed.items():
        path = f"{count} below {written(steps) or 'the top'}, named like values"
        fate = json_map.known.fate(steps)
        fate = fate if fate is Fate.IGNORED else Fate.BLOCKED
        rows.append((path, fate.value, "", ""))
    show_table(("Field", "Becomes", "Types", "Events"), sorted(rows))
    refused = reasons.total()
    typer.echo(f"{len(events) - refused} of {len(events)} events become note events")
    for reason, count in reasons.most_common():
        typer.echo(f"{count} refused: {reason}")
    return 1 if refused else 0
