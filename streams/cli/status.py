"""``phistream status``: the flow in the terminal, for who has only ssh."""

from __future__ import annotations

import logging
import signal
import time
from types import FrameType
from typing import Annotated, Protocol

import orjson
import typer
from rich.console import Console
from rich.live import Live

from ..cluster.client import wait_for_broker
from ..engine.errors import RetriableError
from ..engine.settings import load_settings
from ..operations.status.kafka_source import KafkaSource
from ..operations.status.snapshot import Snapshot
from ..operations.status.view import render
from ..operations.status.watch_source import WatchSource
from .options import Bootstrap, Config

PERIOD = 1.0


class Source(Protocol):
    """Whoever takes pictures."""

    def read(self) -> Snapshot:
        """Return the picture of this moment."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


def status(
    config: Config = None,
    bootstrap: Bootstrap = None,
    watch: Annotated[
        str | None,
        typer.Option(help="Ask a running watch, e.g. http://HOST:8080, not Kafka."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="One picture.")] = False,
    with_json: Annotated[
        bool, typer.Option("--json", help="One picture, for programs.")
    ] = False,
) -> None:
    """Show rates, lag, workers and dead letters, live until Ctrl-C; once in a pipe."""
    console = Console()
    # SIGTERM then leaves by way of the same clean-up as Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        source = _source(config, bootstrap, watch)
        try:
            _show(source, console, once=once, with_json=with_json)
        finally:
            source.close()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _source(config: Config, bootstrap: Bootstrap, watch: str | None) -> Source:
    if watch is not None:
        return WatchSource(watch)
    settings = load_settings(config, {"bootstrap": bootstrap})
    # What the client says of a dead broker would run across the picture; what can't be
    # read is said there.
    logging.getLogger("streams").setLevel(logging.CRITICAL)
    wait_for_broker(settings)
    return KafkaSource(settings)


def _show(source: Source, console: Console, *, once: bool, with_json: bool) -> None:
    snapshot = source.read()
    if with_json:
        told = orjson.dumps(snapshot.as_json(), option=orjson.OPT_INDENT_2)
        typer.echo(told.decode())
    elif once or not console.is_terminal:
        console.print(render(snapshot))
    else:
        _live(source, snapshot, console)


def _live(source: Source, snapshot: Snapshot, console: Console) -> None:
    """Show pictures until Ctrl-C; one that can't be taken is said, and tried again."""
    trouble = ""
    with Live(console=console, auto_refresh=False) as live:
        while True:
            shown = render(snapshot, trouble, height=console.height)
            live.update(shown, refresh=True)
            time.sleep(PERIOD)
            try:
                snapshot, trouble = source.read(), ""
            except RetriableError as error:
                trouble = f"not of now: {error}; trying again"


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
