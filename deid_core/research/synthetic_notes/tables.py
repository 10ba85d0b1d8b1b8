"""Read the TOML tables of this folder, each once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Return the table ``<name>.toml``.  It is shared: do not change it."""
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text("utf-8"))


def entries_of(listed: str) -> list[str]:
    """Return the entries of a list, separated by bars or, without any, by blanks."""
    return listed.replace("\n", "").split("|") if "|" in listed else listed.split()
