"""Words that resemble identifiers and must stay."""

from __future__ import annotations

import string
from functools import cache
from random import Random

from deid_core.language.lexicons import load_list

from .names import Inventor, is_listed, names_of
from .splits import Half, half_of, of_half
from .tables import entries_of, table

_ANY_SURNAME = 0.25


def eponym(half: Half, chance: Random) -> str:
    """Return an eponym; in one case of four any surname.

    The noun that follows decides, since a new device bears a name of no list.
    """
    if chance.random() < _ANY_SURNAME:
        names = names_of(half)
        pool = chance.choice((names.common, names.rare, names.word)).family
        return pool.draw(chance)
    return one_of("eponyms", half, chance)


def product(half: Half, chance: Random) -> str:
    """Return an invented name of a drug, dressing or device."""

    def is_new(name: str) -> bool:
        return not is_listed(name) and half_of(name) is half

    return _brands().draw(chance, is_new)


@cache
def _brands() -> Inventor:
    return Inventor.of(sorted(filter(str.isalpha, load_list("drugs"))))


def letters(chance: Random) -> str:
    """Return two to four capitals, as of a test, a mode or a drug."""
    count = chance.choice((2, 3, 3, 4))
    return "".join(chance.choices(string.ascii_uppercase, k=count))


def one_of(kind: str, half: Half, chance: Random) -> str:
    """Return an entry of a list in negatives.toml."""
    entries = entries_of(table("negatives")[kind])
    # A list too short to be halved serves both halves.
    return chance.choice(of_half(entries, half) or entries)
