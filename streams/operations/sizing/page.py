"""The tables of `phistream size` and of the page deploy/sizing.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from .factors import Factors, measured
from .model import Load, Size, size_of

CASES: Mapping[str, Load] = {
    "a hospital": Load(
        notes_per_day=20_000, patients=1_000_000, archive_notes=20_000 * 365
    ),
    "a national network": Load(
        notes_per_day=5_000_000, patients=60_000_000, archive_notes=5_000_000 * 365
    ),
    "10 billion notes a year": Load(
        notes_per_day=10_000_000_000 / 365,
        patients=300_000_000,
        archive_notes=10_000_000_000,
    ),
}


def rows_of(sizes: Mapping[str, Size]) -> list[tuple[str, ...]]:
    """Return the rows of a table with a column for each load."""
    all_ = [*sizes.values()]
    rows = [
        ("notes a second at the peak", *(f"{s.notes_per_second:,.1f}" for s in all_)),
        *(
            (f"workers: {stage}", *(f"{s.workers[stage]:,}" for s in all_))
            for stage in all_[0].workers
        ),
        ("hosts", *(f"{s.hosts:,}" for s in all_)),
        ("memory of a host's workers", *(_bytes(s.memory) for s in all_)),
        ("partitions", *(f"{s.partitions:,}" for s in all_)),
        ("broker cores", *(f"{s.broker_cores:,.2f}" for s in all_)),
        *(
            (f"disk: {topic}", *(_bytes(s.disks[topic]) for s in all_))
            for topic in all_[0].disks
        ),
        ("disk: all topics", *(_bytes(sum(s.disks.values())) for s in all_)),
        ("state of a scrub worker", *(_bytes(s.state) for s in all_)),
        ("restore of a scrub worker", *(_time(s.restore_seconds) for s in all_)),
        ("archive, scrubbed again", *(_time(s.archive_seconds) for s in all_)),
    ]
    return rows


def standard() -> dict[str, Size]:
    """Return what the three cases need."""
    return {name: size_of(load, Factors(measured())) for name, load in CASES.items()}


def factors_table() -> str:
    """Return the factors as the page has them."""
    rows = [
        (f"`{name}`", f"{each.value:g}", each.unit, f"`{each.command}`")
        for name, each in measured().items()
    ]
    return "".join(_table(("factor", "value", "unit", "measured by"), rows))


def cases_table() -> str:
    """Return what the three cases need as the page has it."""
    rows = [
        ("notes a day", *(f"{each.notes_per_day:,.0f}" for each in CASES.values())),
        ("patients", *(f"{each.patients:,.0f}" for each in CASES.values())),
        ("notes of the archive", *(f"{c.archive_notes:,.0f}" for c in CASES.values())),
        *rows_of(standard()),
    ]
    return "".join(_table(("", *CASES), rows))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |\n"


def _bytes(count: float) -> str:
    power = min(5, max(1, int(math.log10(max(1.0, count)) // 3)))
    return f"{count / 1000**power:,.1f} {('kB', 'MB', 'GB', 'TB', 'PB')[power - 1]}"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"
