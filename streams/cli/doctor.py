"""`phistream doctor`: what is wrong with an installation, and what to do about it."""

from __future__ import annotations

import os

import typer
from rich.console import Console

from streams.operations.doctor.checks import run_checks
from streams.operations.doctor.context import CheckContext
from streams.operations.doctor.finding import Level
from streams.operations.doctor.report import report, rows, skipped, verdict

from .options import Bootstrap, Config, Json
from .terminal import print_json


def doctor(
    config: Config = None, bootstrap: Bootstrap = None, as_json: Json = False
) -> None:
    """Check configuration, broker, topics, models and keys; exit 1 on a failure."""
    overrides = {} if bootstrap is None else {"bootstrap": bootstrap}
    console = Console()
    results = []
    for each in run_checks(CheckContext(config, overrides, os.environ)):
        results.append(each)
        if not as_json and not each.failed_need:
            console.print(rows(each))
    findings = report(results)
    if as_json:
        print_json(findings)
    else:
        console.print(skipped(results))
        console.print(verdict(results))
    raise typer.Exit(1 if findings["level"] is Level.FAIL else 0)
