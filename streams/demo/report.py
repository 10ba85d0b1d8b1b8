"""The demo's output: counts, and one note before and after."""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from .flow import Example, Summary

STYLES = {
    "NAME": "bold white on red",
    "DATE": "black on yellow",
    "AGE": "black on yellow",
    "LOCATION": "black on green",
    "CONTACT": "white on blue",
    "ID": "white on magenta",
}
SIDE_BY_SIDE = 130


def summary_of(summary: Summary, *, messages: int, lag: int) -> RenderableType:
    """Return the counts as tables."""
    counts = Grid("what", "count", title="The ward")
    rate = summary.scrubbed / summary.seconds if summary.seconds else 0.0
    rows: Sequence[tuple[str, str]] = (
        ("messages in", f"{messages:,}"),
        ("notes", f"{summary.notes:,}"),
        ("scrubbed notes out", f"{summary.scrubbed:,}"),
        ("dead letters", f"{summary.dead_letters.total():,}"),
        ("patient found / missing", _joins(summary)),
        ("lag", f"{lag:,}"),
        ("notes a second", f"{rate:,.0f}"),
    )
    for name, value in rows:
        counts.add_row(name, value)
    labels = Grid("PHI", "found", title="What was removed")
    for label, count in summary.labels.most_common():
        labels.add_row(label, f"{count:,}")
    return Group(Columns([counts, labels], padding=(0, 4)), *_dead_letters(summary))


def before_and_after(example: Example, console: Console) -> RenderableType:
    """Return a note with its annotations marked, and its scrubbed text."""
    before, after = Text(example.before), Text(example.after)
    pairs = zip(example.annotations, example.offsets, strict=True)
    for annotation, (start, end, scrubbed_start, scrubbed_end) in pairs:
        style = STYLES.get(annotation["label"].partition(":")[0], "reverse")
        before.stylize(style, start, end)
        after.stylize(style, scrubbed_start, scrubbed_end)
    panels = [
        Panel(before, title="before (notes)"),
        Panel(after, title="after (notes.scrubbed)"),
    ]
    if console.width < SIDE_BY_SIDE:
        return Group(*panels)
    grid = Grid.grid(expand=True)
    grid.add_row(*panels)
    return grid


def _joins(summary: Summary) -> str:
    return f"{summary.joins['found']:,} / {summary.joins['missing']:,}"


def _dead_letters(summary: Summary) -> list[RenderableType]:
    if not summary.dead_letters:
        return []
    grid = Grid("stage", "reason", "count", title="Dead letters, and why")
    for (stage, reason), count in summary.dead_letters.most_common():
        grid.add_row(stage, reason, f"{count:,}")
    return [grid]
