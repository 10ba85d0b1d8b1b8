"""Towns of the world with 15,000 people and more, counties, states: as word groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from .lists import iso_countries, load_list, prebuilt, us_states
from .normal import forms_of

_LEFT_OUT = {"United States", "United States Minor Outlying Islands", "Puerto Rico"}

Phrases = dict[str, tuple[tuple[str, ...], ...]]
"""By first word, the word groups that begin with it, the longest first."""


@cache
def city_phrases() -> Phrases:
    """Return the towns of two words and more, and nicknames ("the Bronx")."""
    phrases = {tuple(name.split(" ")) for name in prebuilt()["towns"]}
    phrases |= {words[:-1] for words in phrases if words[-1:] == ("city",)}
    phrases |= {forms_of(name) for name in load_list("place_nicknames")}
    return by_first_word(words for words in phrases if len(words) > 1)


@cache
def states() -> frozenset[tuple[str, ...]]:
    """Return the states and territories of the US: names, and codes of two letters."""
    return frozenset(forms_of(form) for row in us_states() for form in row)


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
def countries() -> frozenset[str]:
    """Return the countries as they are written: ISO 3166-1's names, and daily ones.

    Without the United States: "US" is an ultrasound.
    """
    listed = {
        name
        for country in iso_countries()
        for name in (country.name, country.common_name)
        if name and "," not in name and "(" not in name
    }
    daily = {name.title() for name in load_list("countries")}
    return frozenset((listed | daily | {"UK"}) - _LEFT_OUT)
