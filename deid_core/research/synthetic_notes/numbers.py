"""Numbers, dates and web addresses, written in one of many ways."""

from __future__ import annotations

import re
import string
from datetime import date, timedelta
from random import Random

from .people import Person
from .tables import table

FIRST_DAY, DAYS = date(1995, 1, 1), 12_000
"""The days on which notes are written; a third of a century."""

_CLASSES = {
    "#": string.digits,
    "%": string.digits[1:],
    "$": string.digits[2:],
    "?": string.ascii_uppercase,
    "&": "0123456789abcdef",
}
_WILD = re.compile("[#%$?&]")
_NOT_ASCII = re.compile(r"[^a-z]")
_PADDED = 0.5


def number(kind: str, chance: Random) -> str:
    """Return a number of a kind in ``[numbers]`` of values.toml."""
    return from_pattern(chance.choice(table("values")["numbers"][kind]), chance)


def from_pattern(pattern: str, chance: Random) -> str:
    """Return a pattern with its signs drawn; see values.toml."""
    return _WILD.sub(lambda sign: chance.choice(_CLASSES[sign[0]]), pattern)


def day_of_note(chance: Random) -> date:
    """Return the day that a note is written on."""
    return FIRST_DAY + timedelta(chance.randrange(DAYS))


def written(day: date, form: str, chance: Random) -> str:
    """Return a date in a form of ``[dates]``: ``full``, ``short`` or ``stamp``."""
    codes: str = chance.choice(table("values")["dates"][form])
    if not codes.startswith("%Y") and chance.random() > _PADDED:
        codes = codes.replace("%d", str(day.day)).replace("%m", str(day.month))
    return day.strftime(codes)


def web(kind: str, person: Person, chance: Random) -> str:
    """Return a person's ``email``, ``url`` or ``username``."""
    tables = table("values")["web"]
    given, family = (_plain(part.text) for part in (person.given, person.family))
    shape: str = chance.choice(tables[kind])
    return shape.format(
        given=given,
        first=given[:1],
        family=family,
        number=from_pattern("%#", chance),
        domain=chance.choice(tables["domains"]),
    )


def _plain(name: str) -> str:
    return _NOT_ASCII.sub("", name.lower()) or "user"
