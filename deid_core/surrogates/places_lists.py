"""Places and callings to draw from; each list is read when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import pycountry
import us
from faker.providers.job.en_US import Provider as Jobs

from ..language.lexicons import forms_of
from .prebuilt import prebuilt

_MOST_WORDS = 2
_AREA = 3


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
    """Return the larger towns of all states, in alphabetical order."""
    towns: Mapping[str, list[str]] = prebuilt()["towns"]
    return tuple(sorted({name for names in towns.values() for name in names}))


@cache
def towns_of(region: str) -> tuple[str, ...]:
    """Return the larger towns of a region, in alphabetical order.

    Args:
        region: "US-IL" is a state, "FR" a country.
    """
    country, _, state = region.partition("-")
    lists = prebuilt()
    return tuple(lists["towns"].get(state, ()) if state else lists["abroad"][country])


def zip_codes_of(state: str, town: str) -> tuple[str, ...]:
    """Return the ZIP codes of a town's streets."""
    of_streets: str = prebuilt()["zips"][state][town][0]
    return tuple(of_streets.split())


def town_of_zip(code: str) -> tuple[str, str] | None:
    """Return the town, in compared form, and the region of a ZIP code of five digits.

    A code that is not in use gives no town, and the state of its first three digits.
    """
    towns, areas = _towns_by_zip()
    found = towns.get(code)
    if found is not None:
        return found
    state = areas.get(code[:_AREA])
    return None if state is None else ("", state)


def home_of(compared: str) -> str | None:
    """Return in which region the largest town of that name lies."""
    homes: Mapping[str, str] = prebuilt()["homes"]
    return homes.get(compared)


def is_large_town(compared: str) -> bool:
    """Return whether there is a larger town of that name, in compared form."""
    return compared in prebuilt()["states"]


def has_towns(region: str) -> bool:
    """Return whether there are towns of a region to draw from."""
    country, _, state = region.partition("-")
    lists = prebuilt()
    return state in lists["towns"] if state else country in lists["abroad"]


def state_of_city(compared: str) -> str | None:
    """Return the state of a larger town; None if there are several or none."""
    codes: str = prebuilt()["states"].get(compared, "")
    found = states().get(codes.lower())
    return found.name if found else None


@cache
def professions() -> tuple[str, ...]:
    """Return callings of one or two words, in alphabetical order."""
    short = (job for job in Jobs.jobs if len(job.split()) <= _MOST_WORDS)
    return tuple(sorted(job for job in short if job.replace(" ", "").isalpha()))


@cache
def _towns_by_zip() -> tuple[Mapping[str, tuple[str, str]], Mapping[str, str]]:
    """Return town and region by ZIP code, and region by the code's first digits."""
    towns: dict[str, tuple[str, str]] = {}
    areas: dict[str, str] = {}
    for state, table in prebuilt()["zips"].items():
        for town, codes in table.items():
            home = " ".join(forms_of(town)), f"US-{state}"
            for code in " ".join(codes).split():
                towns[code] = home
                areas.setdefault(code[:_AREA], home[1])
    return towns, areas


def _by_forms(places: Iterable[Place]) -> dict[str, Place]:
    table: dict[str, Place] = {}
    for place in places:
        table[" ".join(forms_of(place.name))] = place
        table[place.code.lower()] = place
    return table
