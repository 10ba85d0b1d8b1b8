"""Load the word lists of this folder.

Text files: a line is an entry, a comment after ``#``, or ``@name``, all entries of
another list.  And tables of packages, which ``build.py`` wrote.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

import orjson

from deid_core.errors import ConfigError

PREBUILT = "prebuilt.json.gz"
COUNTRIES = "iso_3166_1.tsv"


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


@cache
def prebuilt() -> dict[str, Any]:
    """Return the lists of packages by name.

    ``towns``: those of two words and more.  ``states``: see `us_states`.
    ``nicknames``: by given name, separated by spaces.  ``versions``: of the packages
    that they and the word table are from.  ``lists``: digests of the text lists that
    went into the word table.
    """
    packed = (files(__package__) / PREBUILT).read_bytes()
    lists: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return lists


def list_digest(name: str) -> str:
    """Return a digest of a list's entries."""
    return sha256("\n".join(sorted(load_list(name))).encode()).hexdigest()


def us_states() -> list[list[str]]:
    """Return code and name of each state, territory and the capital's district."""
    states: list[list[str]] = prebuilt()["states"]
    return states


class Country(NamedTuple):
    """A country of ISO 3166-1; few have a daily name besides the official one."""

    alpha_2: str
    alpha_3: str
    name: str
    common_name: str = ""


def iso_countries() -> list[Country]:
    """Return the countries of ISO 3166-1, as pycountry orders them."""
    lines = (files(__package__) / COUNTRIES).read_text("utf-8").splitlines()
    return [Country(*line.split("\t")) for line in lines]


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
