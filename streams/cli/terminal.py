"""What commands say to a person, and tables whose words are never cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

NO_WIDTH = 160
"""Columns of a file or a pipe, which has no width to keep to."""
GAP = 3
"""Columns between two of a table."""


def say(message: str) -> None:
    """Print one line on standard error, without markup, cut or wrap."""
    Console(stderr=True).print(
        f"phistream: {message}", markup=False, highlight=False, soft_wrap=True
    )


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output; in a narrow terminal it wraps, and cuts none.

    Where the terminal is narrower than the longest words, the table is as wide as they.
    """
    console = Console()
    columns = [*zip(headers, *rows, strict=True)]
    available = (console.width if console.is_terminal else NO_WIDTH) - GAP * len(
        columns
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    widths = _widths(columns, available)
    for header, width in zip(headers, widths, strict=True):
        table.add_column(header, width=width)
    for row in rows:
        table.add_row(*map(escape, row))
    Console(width=sum(widths) + GAP * len(columns)).print(table)


def _widths(columns: Sequence[Sequence[str]], available: int) -> list[int]:
    """Return widths that keep words whole; spare width is shared by need."""
    least = [max(map(len, " ".join(cells).split())) for cells in columns]
    wanted = [max(map(len, cells)) - n for cells, n in zip(columns, least, strict=True)]
    spare = min(sum(wanted), max(0, available - sum(least)))
    share = spare / max(1, sum(wanted))
    return [n + int(more * share) for n, more in zip(least, wanted, strict=True)]
