"""`phistream run`: a stage as a service."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from streams.engine.extras import SERVICE, require
from streams.engine.log import set_up_logging
from streams.engine.private_files import keep_files_private
from streams.formats.json_map import load_json_map
from streams.kafka.consumer import check_consumers
from streams.kafka.producer import check_producer
from streams.kafka.registry import schema_ids
from streams.kafka.topics import TOPICS_OF, Stage
from streams.operations.settings import load_settings
from streams.operations.traces.tracing import require_extra
from streams.service.supervisor import Supervisor
from streams.service.versions import models, runtime

from .options import Bootstrap, Config

log = logging.getLogger(__name__)


def run(
    stage: Annotated[Stage, typer.Argument(help="The stage.")],
    workers: Annotated[
        int, typer.Option(min=1, help="Processes, each with its own slot.")
    ] = 1,
    config: Config = None,
    bootstrap: Bootstrap = None,
    preset: Annotated[
        str | None, typer.Option(help="Detection preset: a name or file.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Replacement policy: a name or file.")
    ] = None,
) -> None:
    """Run a stage as a service until SIGTERM or Ctrl-C, then drain."""
    require(*SERVICE)
    settings = load_settings(
        config, {"bootstrap": bootstrap, "preset": preset, "policy": policy}
    )
    set_up_logging(settings.log_level)
    keep_files_private()
    is_scrub = stage is Stage.SCRUB
    model = f", model {models(settings.preset)}" if is_scrub else ""
    log.info("%s%s: starting %s", runtime(), model, stage.value)
    if settings.traces.enabled:
        require_extra()
    check_producer(settings)
    check_consumers(settings)
    if is_scrub or settings.repeated_seconds:
        settings.pseudonym_key()
    elif settings.json_map:
        load_json_map(settings.json_map)
    settings.office_key()
    # A worker that starts again needs no registry for what it writes.
    ids = schema_ids(settings, TOPICS_OF[stage])
    supervisor = Supervisor(stage, workers, settings, ids)
    raise typer.Exit(supervisor.run())
