"""Words that look like identifiers and must stay."""

from __future__ import annotations

from random import Random

from .halves import Half, of_half
from .names import names_of
from .tables import table

_ANY_SURNAME = 0.25


def eponym(half: Half, chance: Random) -> str:
    """Return somebody after whom a thing is named; now and then any surname.

    The noun that follows is what tells, since a new device bears a name of no list.
    """
    if chance.random() < _ANY_SURNAME:
        names = names_of(half)
        pool = chance.choice((names.common, names.rare, names.word)).family
        [name] = chance.choices(pool.names, cum_weights=pool.cumulative)
        return str(name)
    return one_of("eponyms", half, chance)


def one_of(kind: str, half: Half, chance: Random) -> str:
    """Return an entry of a list in negatives.toml."""
    listed: str = table("negatives")[kind]
    entries = listed.replace("\n", "").split("|") if "|" in listed else listed.split()
    # A list too short to be halved serves both halves.
    return chance.choice(of_half(entries, half) or entries)
