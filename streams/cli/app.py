"""The application, and the mapping of errors to exit statuses.

0 success; 1 a check failed or a note was refused; 2 wrong usage; 3 a topic could not be
checked; 66 an input is missing; 69 no broker or schema registry answers; 70 another
failure; 73 an output is not writable; 74 no space is left; 75 a broker did not answer
in time; 78 a setting is wrong, or an extra is missing.  A worker may also exit with 71:
deploy/runbook.md.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from deid_core.errors import ConfigError as DeidConfigError
from streams.engine.errors import StreamError
from streams.engine.exit_status import (
    EX_CONFIG,
    EX_IOERR,
    NO_SPACE,
    is_full,
    message_of,
    status_for,
)
from streams.engine.extras import missing_extra

from .commands import COMMANDS, Commands

app = typer.Typer(
    name="phistream",
    cls=Commands,
    help="De-identify clinical notes, from Kafka to Kafka, exactly once.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from streams.service.versions import models, runtime

        typer.echo(f"{runtime()}, models {models()}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the versions of phistream, Python, librdkafka and models.",
        ),
    ] = False,
) -> None:
    """Handle options before the command; without a command, show the help."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; print a known error as one line on standard error."""
    # Services set up their own logging; other commands log errors only.
    logging.basicConfig(level=logging.ERROR)
    for logger in ("deid_core.runtime.jit", "deid_core.research.published.first_use"):
        _say_progress(logger)
    try:
        app()
    except DeidConfigError as error:
        _end(str(error), EX_CONFIG)
    except StreamError as error:
        _end(message_of(error), status_for(error))
    except ModuleNotFoundError as error:
        missing = missing_extra(error, _extras())
        if missing is None:
            raise
        _end(str(missing), status_for(missing))
    except OSError as error:
        if not is_full(error):
            raise
        # What is left in the buffer would fail again at the interpreter's end, which
        # would then choose the exit status.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _end(NO_SPACE, EX_IOERR)


def _extras() -> tuple[str, ...]:
    """Return the extras that the command of this process needs."""
    names = (each for each in sys.argv[1:] if not each.startswith("-"))
    entry = COMMANDS.get(next(names, ""))
    return entry.extras if entry else ()


class _Saying(logging.Handler):
    """Print log records as a command's own messages."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        _say(record.getMessage())


def _say_progress(logger: str) -> None:
    """Print what a module logs on work that takes long, instead of errors alone."""
    logged = logging.getLogger(logger)
    logged.setLevel(logging.INFO)
    logged.propagate = False
    logged.addHandler(_Saying())


def _end(message: str, status: int) -> None:
    _say(message)
    sys.exit(status)


def _say(message: str) -> None:
    # Only to print it.
    from .terminal import say

    say(message)
