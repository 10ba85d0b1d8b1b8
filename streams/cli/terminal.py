"""Output that commands share: messages, tables, progress, JSON, files.

Rich is imported where something is drawn: most commands print lines alone.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal

import orjson
import typer

from streams.engine.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from deid_core.research.scoring.tables import Table as ScoreTable

DEFAULT_WIDTH = 160
"""Columns of a file or pipe, which has no width of its own."""
TERMINAL = "/dev/tty"
GAP = 2
"""Spaces between two columns of a table."""


def say(message: str) -> None:
    """Print one line on standard error."""
    typer.echo(f"phistream: {message}", err=True)


def print_json(value: object) -> None:
    """Print a value on standard output as indented JSON."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file.

    Raises:
        OutputError: It is not writable.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}; check the path") from None


def new_passphrase() -> bytes:
    """Ask for a new passphrase, twice, without showing it."""
    asked: str = typer.prompt("passphrase", hide_input=True, confirmation_prompt=True)
    return asked.encode()


def require_terminal(advice: str) -> None:
    """Check that `confirm` can ask though standard input is used up.

    Raises:
        BadParameter: There is no terminal.
    """
    try:
        Path(TERMINAL).open("rb").close()
    except OSError:
        raise typer.BadParameter(f"no terminal to ask on; {advice}") from None


def confirm(question: str, *, is_read: bool = False) -> None:
    """Ask a question.

    Args:
        question: To be answered with yes.
        is_read: Ask on the terminal itself: standard input has been read to its end.

    Raises:
        Abort: The answer is not yes.
    """
    if not is_read:
        typer.confirm(question, abort=True)
        return
    with Path(TERMINAL).open("r+b", buffering=0) as terminal:
        terminal.write(f"{question} [y/N]: ".encode())
        if terminal.readline().strip().lower() not in (b"y", b"yes"):
            raise typer.Abort


def counting(what: str) -> Progress:
    """Return a progress display of tasks with a field `count`."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[count]:,} " + what),
        console=Console(stderr=True),
        transient=True,
    )


def interrupt_on_sigterm() -> None:
    """Treat SIGTERM like Ctrl-C, so that it leads to the same clean-up."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def console() -> Console:
    """Return a console on standard output, as wide as the terminal."""
    from rich.console import Console

    shown = Console()
    return shown if shown.is_terminal else Console(width=DEFAULT_WIDTH)


def score_table(table: ScoreTable, *, text_columns: int = 1) -> Table:
    """Return a table of scores; the columns after the first ones are numbers."""
    from rich.markup import escape
    from rich.table import Table

    shown = Table()
    for number, name in enumerate(table.columns):
        is_text = number < text_columns
        justify: Literal["left", "right"] = "left" if is_text else "right"
        shown.add_column(escape(name), justify=justify, no_wrap=number == 0)
    for row in table.rows:
        shown.add_row(*map(escape, row))
    return shown


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output; a narrow terminal wraps cells, never words.

    A terminal narrower than the longest words gets a table as wide as they need.
    """
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    columns = [*zip(headers, *rows, strict=True)]
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    widths = _widths(columns, console().width - GAP * len(columns))
    for header, column_width in zip(headers, widths, strict=True):
        table.add_column(header, width=column_width)
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
