"""The TOML tables beside this module; each is read once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Return the table ``<name>.toml``; it is shared, and not to be changed."""
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text("utf-8"))


def entries_of(listed: str) -> list[str]:
    """Return the entries of a list: parted by bars where there are any, or words."""
    return listed.replace("\n", "").split("|") if "|" in listed else listed.split()
