"""`phistream lake`: the published topics as Apache Iceberg tables."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import Bootstrap, Config, Json
from streams.cli.terminal import print_json, show_table
from streams.engine.exit_status import status_of
from streams.engine.log import set_up_logging
from streams.engine.private_files import keep_files_private
from streams.kafka.client import wait_for_broker
from streams.kafka.topic_admin import require_topics
from streams.operations.settings import load_settings
from streams.service.versions import runtime

from .settings import LakeSettings

if TYPE_CHECKING:
    from streams.products.lake.table import LakeTable

log = logging.getLogger(__name__)

app = typer.Typer(
    help="Write the published topics into Apache Iceberg tables, exactly once.",
    no_args_is_help=True,
)


@app.command()
def run(config: Config = None, bootstrap: Bootstrap = None) -> None:
    """Write the tables of \\[lake] until SIGTERM or Ctrl-C, then commit what was read.

    One process for each table.
    """
    from streams.products.lake.service import run as service

    settings = load_settings(config, {"bootstrap": bootstrap})
    settings.client()
    set_up_logging(settings.log_level)
    keep_files_private()

    log.info("%s: starting lake", runtime())
    raise typer.Exit(status_of(partial(service, settings)))


@app.command()
def compact(
    min_files: Annotated[
        int, typer.Option(min=2, help="Small files that a partition must have.")
    ] = 2,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Rewrite the small files of each partition; a writer may run meanwhile."""
    settings = LakeSettings.of(load_settings(config))
    rows = []
    with _tables(settings) as tables:
        from streams.products.lake.maintenance import compact as run_it

        for table in tables:
            done = run_it(table, settings, min_files=min_files)
            rows.append({"table": table.name, **dataclasses.asdict(done)})
    _show(rows, ("table", "small files", "became"), as_json=as_json)


@app.command()
def expire(
    keep_seconds: Annotated[
        float | None,
        typer.Option(
            min=0, help="Age of the snapshots to keep; else lake.keep_seconds."
        ),
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """End old snapshots, and delete the files that no other snapshot has.

    Rows of erased patients are in such files until then.
    """
    settings = LakeSettings.of(load_settings(config))
    if keep_seconds is not None:
        settings = settings.model_copy(update={"keep_seconds": keep_seconds})
    rows = []
    with _tables(settings) as tables:
        from streams.products.lake.maintenance import expire as run_it

        for table in tables:
            done = run_it(table, settings, datetime.now(UTC))
            rows.append({"table": table.name, **dataclasses.asdict(done)})
    heads = ("table", "snapshots expired", "files deleted", "orphans deleted")
    _show(rows, heads, as_json=as_json)


@app.command()
def status(
    config: Config = None, bootstrap: Bootstrap = None, as_json: Json = False
) -> None:
    """Print rows, files and snapshots of the tables, and what is not read yet."""
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    lake = LakeSettings.of(settings)
    counts = require_topics(settings, lake.topics)
    with _tables(lake, are_loaded=False) as tables:
        from streams.products.lake.status import status_of_table

        rows = [
            dataclasses.asdict(
                status_of_table(settings, lake, table, counts[table.rows.topic.name])
            )
            for table in tables
        ]
    heads = ("topic", "table", "rows", "files", "small", "snapshots", "behind")
    _show(rows, heads, as_json=as_json)


@contextmanager
def _tables(
    settings: LakeSettings, *, are_loaded: bool = True
) -> Iterator[list[LakeTable]]:
    """Yield the tables that exist, or all of them if they are not loaded."""
    from streams.products.lake.catalog import open_catalog
    from streams.products.lake.service import tables_of

    catalog = open_catalog(settings)
    try:
        tables = list(tables_of(settings, catalog).values())
        yield [e for e in tables if e.load()] if are_loaded else tables
    finally:
        catalog.close()


def _show(
    rows: list[dict[str, object]], heads: tuple[str, ...], *, as_json: bool
) -> None:
    if as_json:
        print_json(rows)
        return
    cells = [tuple("-" if v is None else str(v) for v in row.values()) for row in rows]
    show_table(heads, cells)
