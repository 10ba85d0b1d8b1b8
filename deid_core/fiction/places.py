"""Places and professions: US states and towns with ZIP codes, cities abroad, countries.

Each list is read at its first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from deid_core.language.lexicons import forms_of
from deid_core.language.lexicons.lists import iso_countries, us_states

from .prebuilt import prebuilt

_AREA = 3


class StateOrCountry(NamedTuple):
    """A state or country."""

    code: str
    name: str


_ONLY_IN_ADDRESSES = (
    StateOrCountry("AA", "Armed Forces Americas"),
    StateOrCountry("AE", "Armed Forces Europe"),
    StateOrCountry("AP", "Armed Forces Pacific"),
    StateOrCountry("FM", "Federated States of Micronesia"),
    StateOrCountry("MH", "Marshall Islands"),
    StateOrCountry("PW", "Palau"),
)


@cache
def states() -> Mapping[str, StateOrCountry]:
    """Return states, territories and capital's district of the US, by name and code."""
    return _by_forms(StateOrCountry(*row) for row in us_states())


@cache
def postal_states() -> Mapping[str, StateOrCountry]:
    """Return what a US address may have as its state, by name and code.

    Besides `states` these are the armed forces and the associated states, whose codes
    are too common in notes to be looked for there.
    """
    return {**_by_forms(_ONLY_IN_ADDRESSES), **states()}


@cache
def countries() -> Mapping[str, StateOrCountry]:
    """Return the countries whose name needs no comma, by name and by both codes."""
    plain = [each for each in iso_countries() if each.name.replace(" ", "").isalpha()]
    table = _by_forms(StateOrCountry(each.alpha_2, each.name) for each in plain)
    long_codes = {
        each.alpha_3.lower(): StateOrCountry(each.alpha_3, each.name) for each in plain
    }
    return {**long_codes, **table}


@cache
def cities() -> tuple[str, ...]:
    """Return the larger towns of all states, in alphabetical order."""
    towns: Mapping[str, list[str]] = prebuilt("places")["towns"]
    return tuple(sorted({name for names in towns.values() for name in names}))


@cache
def towns_of(region: str) -> tuple[str, ...]:
    """Return the larger towns of a region, in alphabetical order.

    Args:
        region: "US-IL" is a state, "FR" a country.
    """
    country, _, state = region.partition("-")
    lists = prebuilt("places")
    return tuple(lists["towns"].get(state, ()) if state else lists["abroad"][country])


def zip_codes_of(state: str, town: str) -> tuple[str, ...]:
    """Return the ZIP codes of a town's streets."""
    of_streets: str = prebuilt("places")["zips"][state][town][0]
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
    """Return the region of the largest town of that name."""
    homes: Mapping[str, str] = prebuilt("places")["homes"]
    return homes.get(compared)


def is_large_town(compared: str) -> bool:
    """Return whether there is a larger town of that name, in compared form."""
    return compared in prebuilt("places")["states"]


def has_towns(region: str) -> bool:
    """Return whether there are towns of a region to draw from."""
    country, _, state = region.partition("-")
    lists = prebuilt("places")
    return state in lists["towns"] if state else country in lists["abroad"]


def state_of_city(compared: str) -> str | None:
    """Return the state of a larger town; None if there are several or none."""
    codes: str = prebuilt("places")["states"].get(compared, "")
    found = states().get(codes.lower())
    return found.name if found else None


def professions() -> tuple[str, ...]:
    """Return professions of one or two words, in alphabetical order."""
    return tuple(prebuilt("names")["professions"])


@cache
def _towns_by_zip() -> tuple[Mapping[str, tuple[str, str]], Mapping[str, str]]:
    """Return town and region by ZIP code, and region by the code's first digits."""
    towns: dict[str, tuple[str, str]] = {}
    areas: dict[str, str] = {}
    for state, table in prebuilt("places")["zips"].items():
        for town, codes in table.items():
            home = " ".join(forms_of(town)), f"US-{state}"
            for code in " ".join(codes).split():
                towns[code] = home
                areas.setdefault(code[:_AREA], home[1])
    return towns, areas


def _by_forms(places: Iterable[StateOrCountry]) -> dict[str, StateOrCountry]:
    table: dict[str, StateOrCountry] = {}
    for place in places:
        table[" ".join(forms_of(place.name))] = place
        table[place.code.lower()] = place
    return table
