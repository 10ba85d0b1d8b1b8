"""Read the TOML tables of this folder."""

from __future__ import annotations

from functools import partial

from deid_core.runtime.toml_files import table_of

table = partial(table_of, __package__)


def entries_of(listed: str) -> list[str]:
    """Return the entries of a list, separated by bars or, without any, by blanks."""
    return listed.replace("\n", "").split("|") if "|" in listed else listed.split()
