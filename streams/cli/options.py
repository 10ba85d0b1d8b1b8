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
        "--map", help="How JSON of other forms becomes note events; see phistream map."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
