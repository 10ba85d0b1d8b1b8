"""Short and pet names of English given names, both ways, from the nicknames package."""

from __future__ import annotations

from .lists import prebuilt


def nicknames_of(given: str) -> frozenset[str]:
    """Return what else a bearer of the normalised given name may be called.

    For "william" that is "bill", and for "bill" "william".
    """
    others: str = prebuilt()["nicknames"].get(given, "")
    return frozenset(others.split())
