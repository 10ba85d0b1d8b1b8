"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file in TOML; see deploy/config."),
]
Bootstrap = Annotated[
    str | None,
    typer.Option("--bootstrap", help="Brokers of your cluster: HOST:PORT,..."),
]
JsonMapFile = Annotated[
    Path | None,
    typer.Option(
        "--map",
        help="What the fields of other JSON and the columns of tables are: a file (see "
        "phistream map), or omop-note for OMOP's table NOTE.",
    ),
]
TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
"""Formats of options that are a time, in UTC."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
