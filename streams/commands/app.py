"""The application, and the one place where errors become exit statuses.

0 fine; 1 the answer is no (reconcile, topics check, a refused note); 2 wrong usage;
69 no broker answers; 70 something failed; 78 a setting is wrong.
"""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer
from rich.console import Console

from deid_core import ConfigError as DeidConfigError

from ..broker import BrokerError
from ..errors import BrokerUnreachable, ConfigError, StreamError
from ..versions import models, runtime
from . import (
    broker,
    corpus,
    demo,
    doctor,
    evaluate,
    experiment,
    run,
    scrub,
    status,
    topics,
    train,
    watch,
)

EX_UNAVAILABLE, EX_SOFTWARE, EX_CONFIG = 69, 70, 78

app = typer.Typer(
    name="phistream",
    help="Scrubs clinical notes in flight, from Kafka to Kafka, exactly once.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{runtime()}, models {models()}")
        raise typer.Exit


@app.callback()
def _options(
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
    """Options that stand before any command."""


app.command()(scrub.scrub)
app.command()(evaluate.evaluate)
app.command()(train.train)
app.command()(experiment.experiment)
app.command()(run.run)
app.command()(run.feed)
app.command()(run.reconcile)
app.command()(doctor.doctor)
app.command()(status.status)
app.command()(watch.watch)
app.command()(demo.demo)
app.command()(run.key)
app.add_typer(corpus.app, name="corpus")
app.add_typer(broker.app, name="broker")
app.add_typer(topics.app, name="topics")


def main() -> None:
    """Run the command line; a known error is one line on standard error."""
    # Services set up their own logs; here only what is an error is worth a line.
    logging.basicConfig(level=logging.ERROR)
    try:
        app()
    except (ConfigError, DeidConfigError) as error:
        _end(str(error), EX_CONFIG)
    except BrokerUnreachable as error:
        _end(str(error), EX_UNAVAILABLE)
    except (BrokerError, StreamError) as error:
        _end(str(error), EX_SOFTWARE)


def _end(message: str, status: int) -> None:
    Console(stderr=True).print(f"phistream: {message}", markup=False, soft_wrap=True)
    sys.exit(status)
