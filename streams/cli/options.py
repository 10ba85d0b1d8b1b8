"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file of settings; see deploy/config."),
]
Bootstrap = Annotated[
    str | None,
    typer.Option("--bootstrap", help="Your own cluster: HOST:PORT,..."),
]
