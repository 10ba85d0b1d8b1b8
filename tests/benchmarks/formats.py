"""Real messages rebuilt without identifiers, by source.

    python -m tests.benchmarks.formats hl7 [FILE]

FILE has a JSON object per line, with the properties ``source`` and ``message``.  Times
are CPU time of the format alone: reading, rules and writing, and the replacement of
single values, but not the scrubbing of free texts.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from deid_core import Deidentifier, Document
from streams.engine.errors import InvalidRecord
from streams.formats.hl7.field_rules import FieldRule, Rules, Word
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.message import delimiters_of
from streams.formats.hl7.rebuilding import Row, rows_of
from streams.formats.readers import HL7
from streams.formats.values import Verb
from streams.model.parts import Part, Rebuilt
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.publish import PatientValues, Pseudonyms

FILE = Path(__file__).parents[3] / "shared/data/hl7/messages.jsonl"
KEY = b"0" * 32
WIDTH = 130
RULES = Rules()
KEPT = (
    *(Word.PLAIN_CODE, Verb.CODE, Verb.NUMBER, Word.SIGN, Word.RANGE),
    *(Word.DELIMITERS, Word.CHARSET),
)
CHANGED = (
    *(Word.NAME, Verb.IDENTIFIER, Verb.REPLACE, Word.FACILITY, Verb.PSEUDONYM),
    *(Verb.TELECOM, Word.COUNTRY, Verb.SCRUB, Verb.NARRATIVE, Word.OBSERVATION),
)
NUMBERS = (
    *("messages", "rebuilt", "fields", "removed", "unreadable", "kept", "identical"),
)
COLUMNS = (
    *("messages", "rebuilt", "refused", "fields", "removed", "unreadable", "kept"),
    *("identical", "share", "p50 us", "p99 us"),
)

app = typer.Typer()


@dataclass(slots=True)
class Tally:
    """What became of the messages of one source."""

    messages: int = 0
    rebuilt: int = 0
    fields: int = 0
    removed: int = 0
    unreadable: int = 0
    kept: int = 0
    identical: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    microseconds: list[float] = field(default_factory=list)


@app.callback()
def formats() -> None:
    """Rebuild real messages of a format."""


@app.command()
def hl7(
    file: Annotated[Path, typer.Argument(help="A JSON object per line.")] = FILE,
    policy: Annotated[str, typer.Option(help="Of the deidentifier.")] = "surrogate",
    places: Annotated[int, typer.Option(help="Show where most was removed.")] = 0,
) -> None:
    """Print a table by source; fail if a message is lost."""
    console = Console()
    console = Console(width=max(console.width, WIDTH))
    if not file.is_file():
        console.print("no such file; name one with a JSON object per line")
        raise typer.Exit(1)
    with file.open() as lines:
        messages = [json.loads(line) for line in lines]
    deidentifier = Deidentifier.from_names("hybrid", policy, key=KEY)
    tallies: dict[str, Tally] = {}
    for each in messages:
        tally = tallies.setdefault(each["source"], Tally())
        count(each["message"].encode(), deidentifier, tally)
    rows = sorted(tallies.items(), key=lambda row: -row[1].messages)
    whole = total([tally for _, tally in rows])
    console.print(table_of([*rows, ("all", whole)]))
    console.print(f"refused: {dict(whole.refused.most_common())}")
    if places:
        console.print(f"removed: {dict(whole.places.most_common(places))}")
    refused = whole.refused.total()
    raise typer.Exit(0 if whole.rebuilt + refused == len(messages) else 1)


def count(value: bytes, deidentifier: Deidentifier, tally: Tally) -> None:
    """Rebuild one message."""
    tally.messages += 1
    began = time.process_time()
    try:
        parts = HL7.parts(value)
    except InvalidRecord as error:
        tally.refused[error.code] += 1
        return
    seconds = time.process_time() - began
    for part in parts:
        rebuilt, more = timed(part, deidentifier)
        seconds += more
        tally.removed += sum(rebuilt.removed.values())
        tally.places.update(rebuilt.removed)
        tally.unreadable += sum(rebuilt.unreadable.values())
        compare(part, rebuilt, tally)
    tally.rebuilt += 1
    tally.microseconds.append(seconds * 1e6)


def timed(part: Part, deidentifier: Deidentifier) -> tuple[Rebuilt, float]:
    """Return a part rebuilt, and how long that took without its free texts."""
    patient = part.updates[0]
    known = known_identifiers(patient)
    key = patient.patient.key.decode()
    began = time.process_time()
    opened = HL7.read(part.content)
    texts = opened.texts
    seconds = time.process_time() - began
    scrubbed = [
        deidentifier.deidentify(Document("", each.text, known, key, each.note_type))
        for each in texts
    ]
    values = PatientValues(deidentifier, Document("", "", known, key), Pseudonyms(KEY))
    began = time.process_time()
    rebuilt = opened.rebuilt(scrubbed, values)
    return rebuilt, seconds + time.process_time() - began


def compare(part: Part, rebuilt: Rebuilt, tally: Tally) -> None:
    """Count the fields, and those of a rule that keeps them that are as they were."""
    marks = delimiters_of(part.content)
    [text] = messages_of(rebuilt.value)
    rows = [*rows_of(part.content, marks)]
    rules = RULES.of(version_of(rows[0]))
    ours = (row for row in rows if row.name in rules)
    for now, before in zip(rows_of(text, marks), ours, strict=True):
        for number, raw in enumerate(before.fields):
            tally.fields += bool(raw)
            if raw and is_kept(rules[before.name].get(number)):
                tally.kept += 1
                tally.identical += now.fields[number] == raw


def version_of(msh: Row) -> str:
    """Return MSH-12."""
    return msh.fields[12] if len(msh.fields) > 12 else ""


def is_kept(rule: FieldRule | None) -> bool:
    """Return whether a rule keeps a field: codes, numbers, names of codes."""
    if rule is None or rule.holds(CHANGED) or not rule.holds(KEPT):
        return False
    return not rule.components or rule.components[0][0].verb is not Verb.DATE


def total(tallies: list[Tally]) -> Tally:
    """Return the sum."""
    whole = Tally()
    for each in tallies:
        for name in NUMBERS:
            setattr(whole, name, getattr(whole, name) + getattr(each, name))
        whole.refused += each.refused
        whole.places += each.places
        whole.microseconds += each.microseconds
    return whole


def table_of(rows: list[tuple[str, Tally]]) -> Table:
    """Return a row of figures for each source and for all."""
    table = Table(title="Real HL7 v2 messages rebuilt, by source")
    table.add_column("source")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for source, tally in rows:
        times = sorted(tally.microseconds) or [0.0]
        table.add_row(
            source,
            *(str(getattr(tally, name)) for name in NUMBERS[:2]),
            str(tally.refused.total()),
            *(str(getattr(tally, name)) for name in NUMBERS[2:]),
            f"{tally.identical / max(tally.kept, 1):.1%}",
            f"{times[len(times) // 2]:.0f}",
            f"{times[len(times) * 99 // 100]:.0f}",
        )
    return table


if __name__ == "__main__":
    app()
