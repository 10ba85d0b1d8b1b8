"""`phistream key`: a secret key for pseudonyms, or the audit key of one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..engine.errors import ConfigError
from ..engine.settings import read_key
from ..events.seals import audit_key_text


def key(
    file: Annotated[Path, typer.Argument(help="The file to write; must not exist.")],
    for_audit: Annotated[
        Path | None,
        typer.Option(
            "--for-audit",
            help="Write the audit key of this pseudonym key, for reconcile.",
        ),
    ] = None,
) -> None:
    """Write a new secret key for pseudonyms, readable only by its owner.

    With --for-audit, write a key that checks seals but makes no pseudonyms.
    """
    if for_audit is None:
        text, use = secrets.token_hex(32), f"set pseudonym_key_file = {file}"
    else:
        text = audit_key_text(read_key(for_audit, "--for-audit"))
        use = f"run: phistream reconcile --key-file {file}"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; no key was written") from None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(text + "\n")
    Console().print(use, soft_wrap=True)
