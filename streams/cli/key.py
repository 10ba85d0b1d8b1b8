"""`phistream key`: a secret key for pseudonyms."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..engine.errors import ConfigError


def key(
    file: Annotated[Path, typer.Argument(help="The file to write; must not exist.")],
) -> None:
    """Write a new secret key for pseudonyms, readable only by its owner."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; no key was written") from None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(secrets.token_hex(32) + "\n")
    Console().print(f"set pseudonym_key_file = {file}", soft_wrap=True)
