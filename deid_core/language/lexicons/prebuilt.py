"""Read the lists that build.py wrote."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

_FILE = "prebuilt.json.gz"


def word_set(name: str) -> frozenset[str]:
    """Return one of the lists: ``given``, ``family``, ``towns``, ``cities``."""
    return frozenset(_all()[name])


def versions() -> dict[str, str]:
    """Return the packages that the lists are from, and their versions."""
    return dict(_all()["versions"])


@cache
def _all() -> dict[str, Any]:
    packed = (files(__package__) / _FILE).read_bytes()
    lists: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return lists
