"""`phistream status`: the flow of records, in a terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from rich.console import Console, RenderableType
from rich.live import Live

from streams.engine.errors import RetriableError
from streams.kafka.client import wait_for_broker
from streams.operations.settings import load_settings
from streams.operations.status.kafka_source import KafkaSource
from streams.operations.status.snapshot import Snapshot
from streams.operations.status.view import render

from .options import Bootstrap, Config
from .terminal import interrupt_on_sigterm, print_json

PERIOD = 1.0

Drawn = Callable[..., RenderableType]


def status(
    config: Config = None,
    bootstrap: Bootstrap = None,
    once: Annotated[bool, typer.Option("--once", help="Print one snapshot.")] = False,
    partitions: Annotated[
        bool,
        typer.Option("--partitions", help="Show each partition, well or not."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one snapshot as JSON.")
    ] = False,
) -> None:
    """Show rates, lag, workers and dead letters until Ctrl-C.

    Without a terminal, print one snapshot.
    """
    console = Console()
    interrupt_on_sigterm()
    try:
        source = _source(config, bootstrap)
        try:
            drawn = partial(render, by_partition=partitions)
            _show(source, console, drawn, once=once, as_json=as_json)
        finally:
            source.close()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _source(config: Config, bootstrap: Bootstrap) -> KafkaSource:
    settings = load_settings(config, {"bootstrap": bootstrap})
    # Log lines of the client would break the display, which shows errors itself.
    logging.getLogger("streams").setLevel(logging.CRITICAL)
    wait_for_broker(settings)
    return KafkaSource(settings)


def _show(
    source: KafkaSource, console: Console, drawn: Drawn, *, once: bool, as_json: bool
) -> None:
    snapshot = source.read()
    if as_json:
        print_json(snapshot.as_json())
    elif once or not console.is_terminal:
        console.print(drawn(snapshot))
    else:
        _live(source, snapshot, console, drawn)


def _live(
    source: KafkaSource, snapshot: Snapshot, console: Console, drawn: Drawn
) -> None:
    """Show snapshots until Ctrl-C; show an error and try again."""
    trouble = ""
    with Live(console=console, auto_refresh=False) as live:
        while True:
            shown = drawn(snapshot, trouble, height=console.height)
            live.update(shown, refresh=True)
            time.sleep(PERIOD)
            try:
                snapshot, trouble = source.read(), ""
            except RetriableError as error:
                trouble = f"not current: {error}; trying again"
