"""Names of people to draw from, by half and by origin.

Common and rare names are those of the US census of 1990 (the ``names`` package),
foreign ones those of Faker's locales, any words wordfreq's.  Names in no list are made
of the letter sequences of those in a list.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from itertools import accumulate
from random import Random

import wordfreq

from deid_core.fiction.gender import Gender
from deid_core.language.lexicons.build import census
from deid_core.research.cultures import Culture, Pool, culture_of

from .splits import Half, half_of, of_half
from .tables import table

COMMON_FAMILIES, COMMON_GIVEN = 20_000, 1_000
"""Ranks in the census up to which a name is common; below, it is rare."""

GENDERS = (Gender.FEMALE, Gender.MALE)
_ANY_WORD = re.compile(r"[a-z]{4,10}")
_ORDER = 3
_START, _END = "^" * _ORDER, "$"
_SHORTEST, _LONGEST = 4, 11
_TRIES = 1000
_MC = re.compile(r"(?<=^Mc)[a-z]")


class Origin(StrEnum):
    """Where a name comes from, as `GoldSpan.kinds` says; the hardest last."""

    COMMON = "common name"
    RARE = "rare name"
    FOREIGN = "foreign name"
    WORD = "name that is a word"
    ANY_WORD = "name that is any word"
    INVENTED = "name in no list"
    MISSPELT = "misspelt name"


@dataclass(frozen=True, slots=True)
class NameLists:
    """The names of one half."""

    common: Culture
    rare: Culture
    word: Culture
    any_word: Culture
    foreign: tuple[Culture, ...]


@cache
def names_of(half: Half) -> NameLists:
    """Return the names of a half; the first call reads the lists, in a second."""
    words = table("names")["words"]
    return NameLists(
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
                found.update(name.casefold() for name in pool.values)
    return frozenset(found)


def _census_culture(half: Half, given: slice, family: slice) -> Culture:
    return Culture(
        {g: _census_pool(f"first:{g.value}", given, half) for g in GENDERS},
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
    lists: Mapping[str, str] = table("names")["words"]
    words = {each.casefold() for each in " ".join(lists.values()).split()}
    rows = (row for row in census(key) if row[0] not in words)
    return tuple((_cased(name), share) for name, share in rows)


def _cased(name: str) -> str:
    return _MC.sub(lambda found: found[0].upper(), name.capitalize())


def _foreign(half: Half) -> Iterator[Culture]:
    tables = table("names")
    locales = [*tables["cultures"]["both"]]
    if half is Half.STRESS:
        locales += tables["cultures"]["stress"]
    choose = partial(of_half, half=half)
    for locale in locales:
        yield culture_of(locale, choose)
    for lists in tables["romanised"]:
        yield _listed(lists, half)


def _any_words(half: Half) -> Culture:
    """Return any words as names, which only their place in a sentence shows."""
    first, last = table("names")["any_words"]["ranks"]
    ranked = wordfreq.top_n_list("en", last)[first:]
    pool = Pool(of_half(map(_cased, filter(_ANY_WORD.fullmatch, ranked)), half))
    return Culture(dict.fromkeys(GENDERS, pool), pool)


def _listed(lists: Mapping[str, str], half: Half) -> Culture:
    female, male, family = (lists[key].split() for key in ("female", "male", "family"))
    return Culture.of(female, male, family, partial(of_half, half=half))


@dataclass(frozen=True, slots=True)
class Inventor:
    """A chain over letters: the next one is drawn by the three before it.

    Args:
        follows: By three letters, what followed them in the names learned from.
    """

    follows: Mapping[str, Sequence[str]] = field(repr=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> Inventor:
        """Return an inventor that has learned from these names."""
        follows = defaultdict(list)
        for name in names:
            letters = _START + name.lower() + _END
            for at in range(_ORDER, len(letters)):
                follows[letters[at - _ORDER : at]].append(letters[at])
        return cls(dict(follows))

    def draw(self, chance: Random, is_wanted: Callable[[str], bool]) -> str:
        """Return an invented name, capitalised.

        Args:
            chance: Decides everything.
            is_wanted: Accepts a name, e.g. one that is in no list.

        Raises:
            RuntimeError: None was found in a thousand tries.
        """
        for _ in range(_TRIES):
            name = self._one(chance)
            if _SHORTEST <= len(name) <= _LONGEST and is_wanted(name):
                return name.capitalize()
        raise RuntimeError(f"no wanted name in {_TRIES} tries")

    def _one(self, chance: Random) -> str:
        letters = _START
        while letters[-1] != _END and len(letters) < _ORDER + _LONGEST + 2:
            letters += chance.choice(self.follows[letters[-_ORDER:]])
        return letters.strip("^$")


def misspelt(name: str, chance: Random) -> str:
    """Return the name with one edit that is not at its first letter.

    An insertion, deletion, substitution or transposition, as in `rapidfuzz`'s
    Damerau-Levenshtein distance of one.
    """
    at = chance.randrange(1, len(name)) if len(name) > 1 else 1
    head, tail = name[:at], name[at:]
    letter = chance.choice(string.ascii_lowercase)
    edits = [head + letter + tail, head + letter + tail[1:]]
    if len(name) > _SHORTEST:
        edits += [head + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]]
    changed = [each for each in edits if each != name]
    return chance.choice(changed)
