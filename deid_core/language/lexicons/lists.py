"""Load the word lists of this folder.

Text files: a line is an entry, a comment after ``#``, or ``@name``, all entries of
another list.  And the lists of packages that ``build.py`` wrote.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from deid_core.errors import ConfigError

_PREBUILT = "prebuilt.json.gz"


@cache
def load_list(name: str) -> frozenset[str]:
    """Return the entries of ``<name>.txt`` and of the lists that it includes.

    Raises:
        ConfigError: There is no such list.
    """
    return frozenset(_entries(name))


@cache
def load_rows(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the entries of a list in their order, each as its words.

    Raises:
        ConfigError: There is no such list.
    """
    return tuple(tuple(entry.split()) for entry in _entries(name))


@cache
def load_pairs(name: str) -> dict[str, str]:
    """Return a list whose lines are ``word replacement`` as a table.

    Raises:
        ConfigError: There is no such list.
    """
    pairs = (entry.split(" ", 1) for entry in _entries(name))
    return {word: other for word, other in pairs}


def word_set(name: str) -> frozenset[str]:
    """Return a prebuilt list: ``given``, ``family``, ``towns``, ``cities``."""
    return frozenset(_prebuilt()[name])


def versions() -> dict[str, str]:
    """Return the packages that the prebuilt lists are from, and their versions."""
    return dict(_prebuilt()["versions"])


def _prebuilt() -> dict[str, Any]:
    packed = (files(__package__) / _PREBUILT).read_bytes()
    lists: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return lists


def _entries(name: str) -> Iterator[str]:
    for line in _lines(name):
        if line.startswith("@"):
            yield from _entries(line.removeprefix("@"))
        else:
            yield line


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
