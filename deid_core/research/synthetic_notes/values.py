"""Numbers, dates, web addresses, places and institutions of a note."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from random import Random

import pycountry
import us
from faker.providers.job.en_US import Provider as Jobs

from deid_core.fiction.dates import write_date
from deid_core.fiction.numbers import from_pattern
from deid_core.research.gazetteer import towns_by_size

from .names import names_of
from .people import NotePerson
from .splits import Half, of_half
from .tables import entries_of, table

FIRST_DAY, DAYS = date(1995, 1, 1), 12_000
"""The days on which notes are written; a third of a century."""

_NOT_ASCII = re.compile(r"[^a-z]")
_PADDED = 0.5
_LEAST_PEOPLE = 15_000
_MOST_WORDS = 2


def number(kind: str, chance: Random) -> str:
    """Return a number of a kind in ``[numbers]`` of values.toml."""
    return from_pattern(chance.choice(table("values")["numbers"][kind]), chance)


def day_of_note(chance: Random) -> date:
    """Return the day that a note is written on."""
    return FIRST_DAY + timedelta(chance.randrange(DAYS))


def written(day: date, form: str, chance: Random) -> str:
    """Return a date in a form of ``[dates]``: ``full``, ``short`` or ``stamp``."""
    pattern: str = chance.choice(table("values")["dates"][form])
    if not pattern.startswith("{y}") and chance.random() > _PADDED:
        pattern = pattern.replace("{d:02}", "{d}").replace("{m:02}", "{m}")
    return write_date(day, pattern)


def web(kind: str, person: NotePerson, chance: Random) -> str:
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


def town(half: Half, chance: Random) -> str:
    """Return a town of the United States or Canada."""
    return chance.choice(_towns(half))


def state(chance: Random) -> str:
    """Return a state by its name or its two letters."""
    drawn = chance.choice(us.states.STATES)
    return str(chance.choice((drawn.name, drawn.abbr)))


def country(chance: Random) -> str:
    """Return a country whose name needs no comma."""
    return chance.choice(_countries())


def profession(half: Half, chance: Random) -> str:
    """Return a profession of one or two words, in lower case."""
    return chance.choice(_professions(half))


def street(chance: Random) -> str:
    """Return number and street."""
    tables = table("values")["addresses"]
    shape = chance.choice(tables["street"]).format(
        street=chance.choice(tables["streets"].split()),
        suffix=chance.choice(tables["suffixes"].split()),
        side=chance.choice(tables["sides"].split()),
    )
    return from_pattern(shape, chance)


def institution(kind: str, half: Half, chance: Random) -> str:
    """Return the name of a hospital or clinic.

    Args:
        kind: ``cued`` by a word such as Hospital, ``bare`` or ``short``.
    """
    return _composed(table("values")["hospitals"][kind], half, chance)


def organization(half: Half, chance: Random) -> str:
    """Return an employer or a school."""
    return _composed(table("values")["organizations"]["shapes"], half, chance)


def other_place(half: Half, chance: Random) -> str:
    """Return a place that is neither a town nor an institution."""
    return _composed(table("values")["others"]["shapes"], half, chance)


def _composed(shapes: list[str], half: Half, chance: Random) -> str:
    tables = table("values")["hospitals"]
    names = names_of(half)
    pool = chance.choice((names.common, names.rare)).family
    first, second = pool.sample(chance, 2)
    hills = of_half(entries_of(tables["hills"]), half)
    return chance.choice(shapes).format(
        family=first,
        other=second,
        city=town(half, chance),
        saint=chance.choice(of_half(tables["saints"].split(), half)),
        hill=chance.choice(hills),
        a=first[0],
        b=second[0],
    )


@cache
def _towns(half: Half) -> tuple[str, ...]:
    towns = (*towns_by_size("US", _LEAST_PEOPLE), *towns_by_size("CA", _LEAST_PEOPLE))
    return of_half((name for name, _ in towns), half)


@cache
def _countries() -> tuple[str, ...]:
    return tuple(sorted(c.name for c in pycountry.countries if "," not in c.name))


@cache
def _professions(half: Half) -> tuple[str, ...]:
    short = (job.lower() for job in Jobs.jobs if len(job.split()) <= _MOST_WORDS)
    return of_half((job for job in short if job.isascii() and "," not in job), half)


def _plain(name: str) -> str:
    return _NOT_ASCII.sub("", name.lower()) or "user"
