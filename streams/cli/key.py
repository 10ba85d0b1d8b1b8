"""`phistream key`: a secret key for pseudonyms, or the audit key of one."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from streams.engine.keys.files import write_private
from streams.engine.keys.sources import read_key
from streams.model.seals import audit_key_text


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
    write_private(file, text.encode() + b"\n")
    Console().print(use, soft_wrap=True)
