"""Names of people to draw from, by half and by where they come from.

Common and rare names are those of the US census of 1990 (the ``names`` package),
foreign ones those of Faker's locales, and any words wordfreq's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from itertools import accumulate

import names as census
import wordfreq

from .splits import Half, half_of, of_half
from .tables import table

COMMON_FAMILIES, COMMON_GIVEN = 20_000, 1_000
"""Ranks in the census up to which a name is common; below, it is rare."""

_NAME = re.compile(r"[^\W\d_]+(?:['\u2019 -][^\W\d_]+)*")
_ANY_WORD = re.compile(r"[a-z]{4,10}")
_MC = re.compile(r"(?<=^Mc)[a-z]")


class Origin(StrEnum):
    """Where a name comes from, as `GoldSpan.kinds` tell it; the hardest last."""

    COMMON = "common name"
    RARE = "rare name"
    FOREIGN = "foreign name"
    WORD = "name that is a word"
    ANY_WORD = "name that is any word"
    INVENTED = "name in no list"
    MISSPELT = "misspelt name"


class Gender(StrEnum):
    """Which given names are drawn, and which pronouns fit."""

    FEMALE = "female"
    MALE = "male"


@dataclass(frozen=True, slots=True)
class Pool:
    """Names of one kind, and how often each is drawn.

    Args:
        cumulative: Running sums of the names' weights; none when all are alike.
    """

    names: tuple[str, ...] = field(repr=False)
    cumulative: tuple[float, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Culture:
    """Given names and surnames that go together."""

    given: Mapping[Gender, Pool]
    family: Pool


@dataclass(frozen=True, slots=True)
class Names:
    """All that one half draws from."""

    common: Culture
    rare: Culture
    word: Culture
    any_word: Culture
    foreign: tuple[Culture, ...]


@cache
def names_of(half: Half) -> Names:
    """Return the names of a half; the first call reads the lists, in a second."""
    words = table("names")["words"]
    return Names(
        common=_census_culture(half, slice(COMMON_GIVEN), slice(COMMON_FAMILIES)),
        rare=_census_culture(
            half, slice(COMMON_GIVEN, None), slice(COMMON_FAMILIES, None)
        ),
        word=_listed(words, half),
        any_word=_any_words(half),
        foreign=tuple(_foreign(half)),
    )


@cache
def is_listed(name: str) -> bool:
    """Return whether any list here, of either half, holds the name."""
    return name.casefold() in _all_names()


@cache
def _all_names() -> frozenset[str]:
    found: set[str] = set()
    for half in Half:
        drawn = names_of(half)
        for culture in (drawn.common, drawn.rare, drawn.word, *drawn.foreign):
            for pool in (culture.family, *culture.given.values()):
                found.update(name.casefold() for name in pool.names)
    return frozenset(found)


def _census_culture(half: Half, given: slice, family: slice) -> Culture:
    return Culture(
        {g: _census_pool(f"first:{g.value}", given, half) for g in Gender},
        _census_pool("last", family, half),
    )


def _census_pool(key: str, ranks: slice, half: Half) -> Pool:
    """Return a census list's names of these ranks, weighted if they are the first."""
    rows = [row for row in _census(key)[ranks] if half_of(row[0]) is half]
    named = tuple(name for name, _ in rows)
    is_rare = ranks.start is not None
    return Pool(
        named, None if is_rare else tuple(accumulate(share for _, share in rows))
    )


@cache
def _census(key: str) -> tuple[tuple[str, float], ...]:
    """Return a list's names and percentages, the most frequent first, without words."""
    words = {each.casefold() for each in " ".join(_word_lists()).split()}
    with open(census.FILES[key], encoding="ascii") as lines:
        rows = [line.split()[:2] for line in lines]
    return tuple(
        (_cased(name), float(share))
        for name, share in rows
        if name.casefold() not in words
    )


def _word_lists() -> Iterable[str]:
    lists: Mapping[str, str] = table("names")["words"]
    return lists.values()


def _cased(name: str) -> str:
    return _MC.sub(lambda found: found[0].upper(), name.capitalize())


def _foreign(half: Half) -> Iterator[Culture]:
    tables = table("names")
    locales = [*tables["cultures"]["both"]]
    if half is Half.STRESS:
        locales += tables["cultures"]["stress"]
    for locale in locales:
        yield _of_locale(locale, half)
    for lists in tables["romanised"]:
        yield _listed(lists, half)


def _any_words(half: Half) -> Culture:
    """Return any words as names: what then tells is the place, never the word."""
    first, last = table("names")["any_words"]["ranks"]
    ranked = wordfreq.top_n_list("en", last)[first:]
    pool = Pool(of_half(map(_cased, filter(_ANY_WORD.fullmatch, ranked)), half))
    return Culture(dict.fromkeys(Gender, pool), pool)


def _listed(lists: Mapping[str, str], half: Half) -> Culture:
    return _culture(half, *(lists[key].split() for key in ("female", "male", "family")))


def _of_locale(locale: str, half: Half) -> Culture:
    provider = import_module(f"faker.providers.person.{locale}").Provider
    female = _first_of(
        provider, "first_romanized_names_female", "first_names_female", "first_names"
    )
    male = _first_of(
        provider, "first_romanized_names_male", "first_names_male", "first_names"
    )
    family = _first_of(
        provider, "last_romanized_names", "unisex_last_names", "last_names"
    )
    return _culture(half, female, male, family)


def _first_of(provider: type, *attributes: str) -> Iterable[object]:
    found = (getattr(provider, each, None) for each in attributes)
    return next(each for each in found if each)


def _culture(
    half: Half,
    female: Iterable[object],
    male: Iterable[object],
    family: Iterable[object],
) -> Culture:
    pools = [
        Pool(of_half(filter(_is_name, map(str, each)), half))
        for each in (female, male, family)
    ]
    return Culture({Gender.FEMALE: pools[0], Gender.MALE: pools[1]}, pools[2])


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and all(
        unicodedata.name(letter).startswith("LATIN")
        for letter in text
        if letter.isalpha()
    )
