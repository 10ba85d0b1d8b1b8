"""``phistream doctor``: what is wrong here, and what to do about it."""

from __future__ import annotations

import os
from typing import Annotated

import orjson
import typer
from rich.console import Console

from ..operations.doctor.checks import run_checks
from ..operations.doctor.context import CheckContext
from ..operations.doctor.finding import Level
from ..operations.doctor.report import as_json, rows, skipped, verdict
from .options import Bootstrap, Config


def doctor(
    config: Config = None,
    bootstrap: Bootstrap = None,
    with_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Look at configuration, broker, topics, models, keys; exit 1 if one FAILs."""
    overrides = {} if bootstrap is None else {"bootstrap": bootstrap}
    context = CheckContext(config, overrides, os.environ)
    console = Console()
    examined = []
    for each in run_checks(context):
        examined.append(each)
        if not with_json and not each.failed_need:
            console.print(rows(each))
    told = as_json(examined)
    if with_json:
        typer.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
    else:
        console.print(skipped(examined))
        console.print(verdict(examined))
    raise typer.Exit(1 if told["level"] is Level.FAIL else 0)
