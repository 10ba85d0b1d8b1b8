"""Given names and surnames: of the US census, and of some fifty cultures.

The census lists of the ``names`` package tell how many bear a name; Faker's lists add
names from Iceland to South Africa.  All in compared form, in Latin letters.
"""

from __future__ import annotations

from collections.abc import Iterator

import names

from .lists import word_set


def given_names() -> frozenset[str]:
    """Return the given names, in compared form."""
    return frozenset(given_shares()) | given_of_the_world()


def family_names() -> frozenset[str]:
    """Return the surnames, in compared form."""
    return frozenset(family_shares()) | family_of_the_world()


def given_shares() -> dict[str, float]:
    """Return how many bear each given name of the census, in percent."""
    shares: dict[str, float] = {}
    for key in ("first:male", "first:female"):
        for word, share in census(key):
            shares[word] = max(share, shares.get(word, 0.0))
    return shares


def family_shares() -> dict[str, float]:
    """Return how many bear each surname of the census, in percent."""
    return dict(census("last"))


def census(key: str) -> Iterator[tuple[str, float]]:
    """Yield a census list's names in lower case, the most frequent first, in percent.

    Args:
        key: ``first:female``, ``first:male`` or ``last``.
    """
    with open(names.FILES[key], encoding="ascii") as lines:
        for line in lines:
            word, percent, *_ = line.lower().split()
            yield word, float(percent)


def given_of_the_world() -> frozenset[str]:
    """Return the given names of Faker's lists."""
    return word_set("given")


def family_of_the_world() -> frozenset[str]:
    """Return the surnames of Faker's lists."""
    return word_set("family")
