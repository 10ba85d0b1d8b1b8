"""Read the lists that build.py wrote."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

_FILE = "prebuilt.json.gz"


@cache
def prebuilt() -> dict[str, Any]:
    """Return the lists by name.

    ``women``, ``men``: given names of one gender only, of all locales.  ``zips``: by
    state and town, the ZIP codes of streets and the others.  ``towns``: by state.
    ``abroad``: cities by country.  ``homes``: by town, the region of the largest of
    that name.  ``states``: by town, the states with a larger one of that name.
    ``versions``: of the packages that they are from.
    """
    packed = (files(__package__) / _FILE).read_bytes()
    lists: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return lists
