"""Real HL7 v2 messages through intake, by source, and its speed.

    python -m tests.benchmarks.real_messages [FILE]

FILE has a JSON object per line, with the properties ``source`` and ``message``.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from streams.engine.errors import InvalidRecord
from streams.pipeline.intake.route import route

FILE = Path(__file__).parents[3] / "shared/data/hl7/messages.jsonl"
COLUMNS = ("messages", "routed", "updates", "notes")
ROUNDS = 3
WIDTH = 110


def counted(value: bytes) -> Counter[str]:
    """Return the outputs of one message, or the code of its dead letter."""
    try:
        routed = route(value)
    except InvalidRecord as error:
        return Counter({"messages": 1, error.code: 1})
    return Counter(
        messages=1, routed=1, updates=len(routed.updates), notes=len(routed.notes)
    )


def table_of(counts: dict[str, Counter[str]]) -> Table:
    """Return a row of counts for each source and for all."""
    total = sum(counts.values(), Counter())
    codes = sorted(set(total) - set(COLUMNS))
    table = Table(title="Real HL7 v2 messages through intake, by source")
    table.add_column("source")
    for name in (*COLUMNS, *codes):
        table.add_column(name, justify="right")
    rows = sorted(counts.items(), key=lambda row: -row[1]["messages"])
    for source, count in (*rows, ("all", total)):
        table.add_row(source, *(str(count[name]) for name in (*COLUMNS, *codes)))
    return table


def main(
    file: Annotated[Path, typer.Argument(help="A JSON object per line.")] = FILE,
) -> None:
    """Print the table; fail if there are no messages or one is lost."""
    console = Console()
    console = Console(width=max(console.width, WIDTH))
    if not file.is_file():
        console.print("no such file; name one with a JSON object per line")
        raise typer.Exit(1)
    with file.open() as lines:
        messages = [json.loads(line) for line in lines]
    values = [(each["source"], each["message"].encode()) for each in messages]
    seconds = []
    for _ in range(ROUNDS):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        began = time.process_time()
        for source, value in values:
            counts[source].update(counted(value))
        seconds.append(time.process_time() - began)
    console.print(table_of(counts))
    total = sum(counts.values(), Counter())
    dead = sum(n for name, n in total.items() if name not in COLUMNS)
    console.print(
        f"{total['messages']} messages: {total['routed']} routed, {dead} dead"
    )
    console.print(
        f"{len(values) / min(seconds):.0f} messages per CPU second, "
        f"the best of {ROUNDS} rounds"
    )
    raise typer.Exit(0 if total["routed"] + dead == len(values) else 1)


if __name__ == "__main__":
    typer.run(main)
