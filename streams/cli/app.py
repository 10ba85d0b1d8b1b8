"""The application, and the mapping of errors to exit statuses.

0 success; 1 a check failed or a note was refused; 2 wrong usage; 66 an input is
missing; 69 no broker or schema registry answers; 70 another failure; 73 an output is
not writable; 74 no space is left; 75 a broker did not answer in time; 78 a setting is
wrong.  A worker may also exit with 71: deploy/runbook.md.
"""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from deid_core import ConfigError as DeidConfigError

from ..cluster.local_broker import BrokerError
from ..engine.errors import StreamError
from ..engine.exit_status import (
    EX_CONFIG,
    EX_IOERR,
    EX_SOFTWARE,
    NO_SPACE,
    is_full,
    message_of,
    status_for,
)
from ..workers.versions import models, runtime
from . import (
    adapt,
    broker,
    corpus,
    dead_letters,
    demo,
    doctor,
    erase,
    evaluate,
    experiment,
    feed,
    held,
    key,
    keys,
    lake,
    mllp,
    presets,
    reconcile,
    rescrub,
    run,
    scrub,
    serve,
    size,
    status,
    topics,
    train,
    watch,
)
from . import map as map_
from .terminal import say, say_progress

app = typer.Typer(
    name="phistream",
    help="De-identify clinical notes, from Kafka to Kafka, exactly once.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
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


for command in (
    scrub.scrub, presets.presets, evaluate.evaluate, train.train, adapt.adapt,
    experiment.experiment, run.run, mllp.mllp, serve.serve, feed.feed, size.size,
    reconcile.reconcile, doctor.doctor, status.status, watch.watch, demo.demo, key.key,
    erase.erase, rescrub.rescrub,
):  # fmt: skip
    app.command()(command)
app.command("map")(map_.map_)
app.add_typer(corpus.app, name="corpus")
app.add_typer(broker.app, name="broker")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(held.app, name="held")
app.add_typer(keys.app, name="keys")
app.add_typer(lake.app, name="lake")
app.add_typer(topics.app, name="topics")


def main() -> None:
    """Run the command line; print a known error as one line on standard error."""
    # Services set up their own logging; other commands log errors only.
    logging.basicConfig(level=logging.ERROR)
    say_progress("deid_core.research.published.first_use")
    try:
        app()
    except DeidConfigError as error:
        _end(str(error), EX_CONFIG)
    except BrokerError as error:
        _end(str(error), EX_SOFTWARE)
    except StreamError as error:
        _end(message_of(error), status_for(error))
    except OSError as error:
        if not is_full(error):
            raise
        _end(NO_SPACE, EX_IOERR)


def _end(message: str, status: int) -> None:
    say(message)
    sys.exit(status)
