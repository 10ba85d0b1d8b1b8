"""`phistream mllp`: the MLLP listener."""

from __future__ import annotations

import logging
from functools import partial
from typing import Annotated

import typer

from streams.cli.options import Bootstrap, Config
from streams.engine.errors import ConfigError
from streams.engine.exit_status import status_of
from streams.engine.log import set_up_logging
from streams.engine.private_files import keep_files_private
from streams.operations.settings import load_settings
from streams.service.versions import runtime

log = logging.getLogger(__name__)


def mllp(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; see also mllp.allow.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")
    ] = None,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Take HL7 v2 messages by MLLP to hl7.raw until SIGTERM or Ctrl-C."""
    # prometheus_client takes a tenth of a second to load.
    from streams.products.mllp.service import run

    if host == "":
        raise ConfigError("--host: empty; name an address of this host")
    given = {"bootstrap": bootstrap, "mllp__host": host, "mllp__port": port}
    settings = load_settings(config, given)
    settings.client()
    set_up_logging(settings.log_level)
    keep_files_private()
    log.info("%s: starting mllp", runtime())
    raise typer.Exit(status_of(partial(run, settings)))
