"""Names that can replace a name: by role, gender, first letter and length.

From the US census of 1990; Faker's lists of some fifty cultures add roles and genders.
The most frequent names are left out, since a real person in the note may bear one.  So
are words ("Grace", "Young") and surnames that are also given names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from deid_core.language.lexicons import is_ordinary
from deid_core.language.lexicons.word_classes import is_family
from deid_core.language.lexicons.word_table import word_table

from .gender import Gender
from .prebuilt import prebuilt

_MOST_COMMON = {"first:male": 25, "first:female": 25, "last": 150}
LEAST_COMMON = {"first:male": 1000, "first:female": 2200, "last": 8000}
_SHORTEST = 3
_LEAST_OF_A_LETTER = 12
_LEAST_FAMILY_OF_A_LETTER = 60
_LEAST_OF_EITHER = 4
_ONE_GENDER = 0.85
_SURELY = 50
_ENOUGH = 8
_SHORT, _MEDIUM = 4, 6


class Role(StrEnum):
    """The part of a name that a word is."""

    FAMILY = "family"
    GIVEN = "given"


_GENDERS = {"first:female": Gender.FEMALE, "first:male": Gender.MALE}


@dataclass(frozen=True, slots=True)
class NamePools:
    """Names to draw from, and their frequency.

    Args:
        family: By first letter.
        given: By gender and first letter.
        letters: By role, first letters with enough names of every gender.
        shares: Of given names, in percent of women and of men.
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
        """Return the gender of a given name, in compared form."""
        found = _gender(self.shares, word)
        if found is not Gender.EITHER or word in self.shares:
            return found
        return _genders_of_the_world().get(word, Gender.EITHER)

    def is_given(self, word: str) -> bool:
        """Return whether a word, in compared form, is mainly a given name."""
        if sum(self.shares.get(word, ())) > _family_share(word):
            return True
        return word in _genders_of_the_world() and not self.is_family(word)

    def is_family(self, word: str) -> bool:
        """Return whether a word, in compared form, is on a list of family names."""
        return is_family(word)

    def sure_role(self, word: str) -> Role | None:
        """Return the only role of a word, in compared form; None if there are two."""
        given = sum(self.shares.get(word, ()))
        family = _family_share(word)
        if given or family:
            if given > _SURELY * family:
                return Role.GIVEN
            return Role.FAMILY if family > _SURELY * given else None
        is_given = word in _genders_of_the_world()
        if is_given is self.is_family(word):
            return None
        return Role.GIVEN if is_given else Role.FAMILY

    def like(
        self, role: Role, word: str, letter: str, gender: Gender
    ) -> tuple[str, ...]:
        """Return names of a first letter and the word's length class.

        Args:
            role: Of the names.
            word: In compared form.
            letter: In lower case.
            gender: Of given names; family names have none.
        """
        group = role if role is Role.FAMILY else gender
        alike = self.by_length.get((group, letter, _length_class(word)), ())
        if len(alike) >= _ENOUGH:
            return alike
        table = self.family if role is Role.FAMILY else self.given[gender]
        return table.get(letter, ())


@cache
def name_pools() -> NamePools:
    """Return the names; the first call reads the lists, in half a second."""
    shares = {name: (women, men) for name, women, men in prebuilt("names")["given"]}

    def is_given(name: str) -> bool:
        # "Smith" and "Jackson" are given names, too, but mostly surnames.
        return sum(shares.get(name, ())) > _family_share(name)

    women, men = (
        _by_letter(
            n for n in _ranked(key) if is_given(n) and _gender(shares, n) is each
        )
        for key, each in _GENDERS.items()
    )
    either = _by_letter(
        name
        for name in shares
        if is_given(name) and _gender(shares, name) is Gender.EITHER and _is_fit(name)
    )
    letters = _rich(_LEAST_OF_A_LETTER, women, men)
    letters = "".join(x for x in letters if len(either.get(x, ())) >= _LEAST_OF_EITHER)
    # If initials stay, a letter may have no names of both genders.
    mixed = {
        x: either.get(x) or women.get(x, ()) + men.get(x, ()) for x in {**women, **men}
    }
    given = {Gender.FEMALE: women, Gender.MALE: men, Gender.EITHER: mixed}
    family = _by_letter(name for name in _ranked("last") if not is_given(name))
    return NamePools(
        family=family,
        given=given,
        letters={
            Role.GIVEN: letters,
            Role.FAMILY: _rich(_LEAST_FAMILY_OF_A_LETTER, family),
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
    """Return a list's names without the commonest, the rarest and words."""
    ranks: list[str] = prebuilt("names")["ranks"][key][_MOST_COMMON[key] :]
    return list(filter(_is_fit, ranks))


def _is_fit(name: str) -> bool:
    return len(name) >= _SHORTEST and not is_ordinary(name)


def _family_share(word: str) -> float:
    table = word_table()
    return table.family[table.row(word)]


@cache
def _genders_of_the_world() -> Mapping[str, Gender]:
    """Return the gender of names that the census lacks."""
    lists = prebuilt("names")
    women = dict.fromkeys(lists["women"], Gender.FEMALE)
    return {**women, **dict.fromkeys(lists["men"], Gender.MALE)}


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
