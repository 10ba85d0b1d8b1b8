"""`phistream watch`: the operations page."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from streams.engine.errors import ConfigError
from streams.engine.log import set_up_logging
from streams.engine.private_files import keep_files_private
from streams.operations.http_access import Tokens, is_loopback
from streams.operations.settings import load_settings
from streams.service.versions import runtime

from .options import Bootstrap, Config

log = logging.getLogger(__name__)


def watch(
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the page.")
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; other than loopback: operator_tokens."
        ),
    ] = "127.0.0.1",
    config: Config = None,
    bootstrap: Bootstrap = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Also show invented notes before and after.")
    ] = False,
) -> None:
    """Serve the operations page until SIGTERM or Ctrl-C."""
    # Faust takes half a second to load, and only this command needs it.
    from streams.operations.watch.log_filter import filter_foreign_logs
    from streams.operations.watch.service import Address, run_guarded

    settings = load_settings(config, {"bootstrap": bootstrap})
    settings.client()
    if demo and not is_loopback(host):
        raise ConfigError(
            "--demo shows notes before they are scrubbed: loopback addresses only"
        )
    set_up_logging(settings.log_level)
    keep_files_private()
    log.info("%s: starting watch", runtime())
    if not (Tokens.of_operators(settings).digests or is_loopback(host)):
        log.warning("operator_tokens: not set; whoever can connect may see the page")
    filter_foreign_logs(settings.log_level)
    raise typer.Exit(run_guarded(settings, Address(host, port), demo=demo))
