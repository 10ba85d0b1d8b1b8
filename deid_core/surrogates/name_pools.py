"""Names to draw from: the US census of 1990, by role, gender and first letter.

The most frequent names are left out: a real person in the note is likely to bear one.
So are words ("Grace", "Young"), which would read as such, and surnames that are also
given names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import islice

import names

from ..lexicons import is_ordinary
from .people import Role

_MOST_COMMON = {"first:male": 25, "first:female": 25, "last": 150}
_LEAST_COMMON = {"first:male": 1000, "first:female": 2200, "last": 8000}
_SHORTEST = 3
_LEAST_OF_A_LETTER = {Role.GIVEN: 12, Role.FAMILY: 60}
_ONE_GENDER = 0.8
_ENOUGH = 8
_SHORT, _MEDIUM = 4, 6


class Gender(StrEnum):
    """What the given-name lists tell; EITHER where they don't."""

    FEMALE = "female"
    MALE = "male"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class NamePools:
    """The names to draw from.

    Args:
        family: By first letter.
        given: By gender and first letter.
        letters: By role, first letters with enough names of every gender.
        shares: How many in a hundred bear a given name: women, men.
        surnames: All family names, in alphabetical order.
        by_length: By role or gender, first letter, and length class.
    """

    family: Mapping[str, tuple[str, ...]] = field(repr=False)
    given: Mapping[Gender, Mapping[str, tuple[str, ...]]] = field(repr=False)
    letters: Mapping[Role, str]
    shares: Mapping[str, tuple[float, float]] = field(repr=False)
    surnames: tuple[str, ...] = field(repr=False)
    by_length: Mapping[tuple[str, str, int], tuple[str, ...]] = field(repr=False)

    def gender(self, word: str) -> Gender:
        """Return the gender of those who bear a given name, in compared form."""
        return _gender(self.shares, word)

    def is_given(self, word: str) -> bool:
        """Return whether a word, in compared form, is a given name."""
        return word in self.shares

    def like(self, role: Role, word: str, letter: str) -> tuple[str, ...]:
        """Return names of a first letter with the word's gender and length class."""
        group = role if role is Role.FAMILY else self.gender(word)
        alike = self.by_length.get((group, letter, _length_class(word)), ())
        if len(alike) >= _ENOUGH:
            return alike
        table = self.family if role is Role.FAMILY else self.given[self.gender(word)]
        return table.get(letter, ())


@cache
def name_pools() -> NamePools:
    """Return the names; the first call reads the lists, in half a second."""
    shares = _given_shares()
    women = [n for n in _ranked("first:female") if _gender(shares, n) is Gender.FEMALE]
    men = [n for n in _ranked("first:male") if _gender(shares, n) is Gender.MALE]
    given = {
        Gender.FEMALE: _by_letter(women),
        Gender.MALE: _by_letter(men),
        Gender.EITHER: _by_letter([*women, *men]),
    }
    family = _by_letter(name for name in _ranked("last") if name not in shares)
    return NamePools(
        family=family,
        given=given,
        letters={
            Role.GIVEN: _rich(_LEAST_OF_A_LETTER[Role.GIVEN], *given.values()),
            Role.FAMILY: _rich(_LEAST_OF_A_LETTER[Role.FAMILY], family),
        },
        shares=shares,
        surnames=tuple(sorted(name for pool in family.values() for name in pool)),
        by_length=_by_length(family, given),
    )


def _gender(shares: Mapping[str, tuple[float, float]], word: str) -> Gender:
    women, men = shares.get(word, (0.0, 0.0))
    most = _ONE_GENDER * (women + men)
    if women >= most > 0:
        return Gender.FEMALE
    return Gender.MALE if men >= most > 0 else Gender.EITHER


def _ranked(key: str) -> list[str]:
    """Return a list's names that are neither too common nor too rare nor words."""
    ranks = islice(_census(key), _MOST_COMMON[key], _LEAST_COMMON[key])
    return [
        name for name, _ in ranks if len(name) >= _SHORTEST and not is_ordinary(name)
    ]


def _given_shares() -> dict[str, tuple[float, float]]:
    women, men = dict(_census("first:female")), dict(_census("first:male"))
    families = dict(islice(_census("last"), _LEAST_COMMON["last"]))
    shares = {n: (women.get(n, 0.0), men.get(n, 0.0)) for n in {**women, **men}}
    # "Smith" and "Jackson" are given names, too, but mostly surnames.
    return {n: each for n, each in shares.items() if sum(each) > families.get(n, 0.0)}


def _census(key: str) -> Iterator[tuple[str, float]]:
    with open(names.FILES[key], encoding="ascii") as lines:
        for line in lines:
            name, percent, *_ = line.lower().split()
            yield name, float(percent)


def _by_letter(pool: Iterable[str]) -> dict[str, tuple[str, ...]]:
    table = defaultdict(set)
    for name in pool:
        table[name[0]].add(name)
    return {letter: tuple(sorted(each)) for letter, each in table.items()}


def _by_length(
    family: Mapping[str, tuple[str, ...]],
    given: Mapping[Gender, Mapping[str, tuple[str, ...]]],
) -> dict[tuple[str, str, int], tuple[str, ...]]:
    table = defaultdict(list)
    for group, letters in ((Role.FAMILY, family), *given.items()):
        for letter, pool in letters.items():
            for name in pool:
                table[group, letter, _length_class(name)].append(name)
    return {key: tuple(each) for key, each in table.items()}


def _rich(least: int, *tables: Mapping[str, tuple[str, ...]]) -> str:
    letters = set.intersection(*(set(table) for table in tables))
    return "".join(
        letter
        for letter in sorted(letters)
        if all(len(table[letter]) >= least for table in tables)
    )


def _length_class(word: str) -> int:
    return (len(word) > _SHORT) + (len(word) > _MEDIUM)
