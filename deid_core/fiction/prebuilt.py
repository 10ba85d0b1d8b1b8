"""Read the lists that build.py wrote."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import Any

import orjson


@cache
def prebuilt(table: str) -> dict[str, Any]:
    """Return the lists of a file by name, and ``versions``: of the packages read.

    Args:
        table: ``names`` has ``given``, the given names of the census with their shares
            of women and of men in percent; ``ranks``, the names of each list of the
            census, the most frequent first; ``women`` and ``men``, given names of one
            gender only, of all locales; ``professions`` of one or two words.
            ``places`` has ``zips``, by state and town the ZIP codes of streets and the
            others; ``towns`` by state; ``abroad``, cities by country; ``homes``, by
            town the region of the largest of that name; ``states``, by town the states
            with a larger one of that name.
            ``people`` has ``locales``: by locale and kind, such as ``last_name``, the
            names, parts of addresses or formats that Faker draws from.
    """
    packed = (files(__package__) / f"{table}.json.gz").read_bytes()
    lists: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return lists
