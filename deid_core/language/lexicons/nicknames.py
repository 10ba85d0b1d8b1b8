"""Short and pet names of English given names, both ways, from the nicknames package."""

from __future__ import annotations

from functools import cache

from nicknames import NickNamer


@cache
def _namer() -> NickNamer:
    return NickNamer()


def nicknames_of(given: str) -> frozenset[str]:
    """Return what else a bearer of the normalised given name may be called.

    For "william" that is "bill", and for "bill" "william"; what is not one plain word
    ("mary ann") is left out.
    """
    others = _namer().nicknames_of(given) | _namer().canonicals_of(given)
    return frozenset(other for other in others - {given} if other.isalpha())
