"""Load the word lists that lie in this folder."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from deid_core.errors import ConfigError


@cache
def load_list(name: str) -> frozenset[str]:
    """Return the entries of ``<name>.txt``, without comments and blank lines.

    Raises:
        ConfigError: There is no such list.
    """
    return frozenset(entry for entry in _lines(name))


@cache
def load_pairs(name: str) -> dict[str, str]:
    """Return a list whose lines are ``word replacement`` as a table.

    Raises:
        ConfigError: There is no such list.
    """
    pairs = (line.split(" ", 1) for line in _lines(name))
    return {word: other for word, other in pairs}


def _lines(name: str) -> list[str]:
    folder = files(__package__)
    path = folder / f"{name}.txt"
    if not path.is_file():
        known = sorted(
            each.name.removesuffix(".txt")
            for each in folder.iterdir()
            if each.name.endswith(".txt")
        )
        raise ConfigError(f"unknown word list {name!r}; known: {', '.join(known)}")
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
