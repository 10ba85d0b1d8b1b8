"""`phistream serve`: a REST service, without Kafka."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from streams.cli.options import Config
from streams.engine.exit_status import status_of
from streams.engine.extras import SERVICE, require
from streams.engine.log import set_up_logging
from streams.engine.private_files import keep_files_private
from streams.operations.settings import load_settings
from streams.service.versions import models, runtime

log = logging.getLogger(__name__)


def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8090,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; other than loopback needs tokens."),
    ] = "127.0.0.1",
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="Processes that scrub.")
    ] = 2,
    config: Config = None,
    preset: Annotated[
        str | None, typer.Option(help="Detection preset: a name or file.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Replacement policy: a name or file.")
    ] = None,
) -> None:
    """Scrub notes, messages and documents over HTTP; /docs describes the paths.

    Nothing is stored and no Kafka is needed.  Runs until SIGTERM or Ctrl-C.
    """
    require(*SERVICE)
    # An error of the settings comes from a process that serves nothing yet.
    from streams.products.gateway.server import serve as run

    settings = load_settings(config, {"preset": preset, "policy": policy})
    set_up_logging(settings.log_level)
    keep_files_private()
    model = models(settings.preset)
    log.info("%s, model %s: starting the gateway", runtime(), model)
    raise typer.Exit(status_of(lambda: run(settings, host, port, workers)))
