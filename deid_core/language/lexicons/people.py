"""Given names and surnames: of the US census, and of some fifty cultures.

The census lists of the ``names`` package tell how many bear a name; Faker's lists add
names from Iceland to South Africa.  All in compared form, in Latin letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import names

from .lists import word_set

_GIVEN_PER_FAMILY = 0.05


@cache
def given_names() -> frozenset[str]:
    """Return the given names, in compared form."""
    return frozenset(_given_shares()) | _given_of_the_world()


@cache
def family_names() -> frozenset[str]:
    """Return the surnames, in compared form."""
    return frozenset(_family_shares()) | _family_of_the_world()


def is_mostly_given(word: str) -> bool:
    """Return whether a given name, in compared form, is not far more a surname.

    Smith, Mayo and Jackson are given names, too: at least one in twenty must be.
    """
    given = _given_shares().get(word, 0.0)
    family = _family_shares().get(word, 0.0)
    return given >= family * _GIVEN_PER_FAMILY or (
        word in _given_of_the_world() and word not in _family_of_the_world()
    )


@cache
def _given_shares() -> dict[str, float]:
    shares: dict[str, float] = {}
    for key in ("first:male", "first:female"):
        for word, share in census(key):
            shares[word] = max(share, shares.get(word, 0.0))
    return shares


@cache
def _family_shares() -> dict[str, float]:
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


@cache
def _given_of_the_world() -> frozenset[str]:
    return word_set("given")


@cache
def _family_of_the_world() -> frozenset[str]:
    return word_set("family")
