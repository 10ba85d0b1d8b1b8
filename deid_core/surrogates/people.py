"""The persons of the patient record, and the words of their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rapidfuzz.distance import OSA

from deid_core.document import KnownIdentifiers, PersonName
from deid_core.fiction.gender import Gender
from deid_core.fiction.name_pools import Role
from deid_core.labels import Label

from .real import without_separators

_NEAR = 1 / 3
_SHORTEST_NEAR = 4
_NAMES = 4096
_GENDERS_OF_SEXES = {"F": Gender.FEMALE, "M": Gender.MALE}
_GENDERS_OF_TITLES = {
    **dict.fromkeys(("mrs", "ms", "miss", "madam", "sra", "senora"), Gender.FEMALE),
    **dict.fromkeys(("mr", "mister", "sir", "senor"), Gender.MALE),
}
NAME_WORD = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])(?:['\u2019\u02bc`]?[^\W\d_\s])*")
"""A word of a name; "O'Brien" is one, "Smith-Jones" two."""


@dataclass(frozen=True, slots=True)
class RecordPerson:
    """A person of the record, with an own key and the words of all names."""

    key: str = field(repr=False)
    words: frozenset[str] = field(repr=False)
    is_provider: bool = False


@dataclass(frozen=True, slots=True)
class RecordPeople:
    """The persons of a record.

    Args:
        roles: By word of a name, in compared form, its part.
        persons: The patient first, then kin, then providers.
        genders: By given name, that of its bearer: of the patient by the sex, of
            others by the title.
    """

    roles: Mapping[str, Role] = field(repr=False)
    persons: tuple[RecordPerson, ...] = field(repr=False)
    genders: Mapping[str, Gender] = field(repr=False)

    def closest_word(self, word: str) -> str:
        """Return the record's word that a word equals or resembles, else the word.

        R = d / min(lengths) < 1/3, as in section 3.1 of the NUS system.
        """
        if word in self.roles or len(word) < _SHORTEST_NEAR:
            return word
        near = [each for each in self.roles if is_near(word, each)]
        return min(near, key=lambda each: (_ratio(word, each), each), default=word)

    def is_near_any(self, word: str) -> bool:
        """Return whether a word equals or resembles a word of the record's names."""
        return word in self.roles or any(is_near(word, each) for each in self.roles)

    def person_of(
        self, words: frozenset[str], initials: str, label: Label
    ) -> RecordPerson | None:
        """Return the person with these words; of several the likeliest for the label.

        Args:
            words: As `closest_word` returns them; all must be the person's.
            initials: Each must begin one of the person's words.
            label: Providers come first for a doctor.
        """
        if not words:
            return None
        found = [
            each
            for each in self.persons
            if words <= each.words
            and all(any(w[0] == i for w in each.words) for i in initials)
        ]
        wants_provider = label is Label.DOCTOR
        # Sorting is stable: the patient stays before kin.
        found.sort(key=lambda each: each.is_provider is not wants_provider)
        return found[0] if found else None


def gender_of_title(title: str) -> Gender | None:
    """Return the gender of those who bear a title; None if both do."""
    return _GENDERS_OF_TITLES.get(without_separators(title))


def is_near(one: str, other: str) -> bool:
    """Return whether two words may be spellings of one."""
    shorter = min(len(one), len(other))
    if shorter < _SHORTEST_NEAR:
        return one == other
    # As many edits as the lengths differ by, at the least.
    if abs(len(one) - len(other)) >= _NEAR * shorter:
        return False
    return _ratio(one, other) < _NEAR


def words_in(text: str) -> list[str]:
    """Return the words of a name in compared form: "O'Brien" is "obrien"."""
    found = (without_separators(each) for each in NAME_WORD.findall(text))
    return [word for word in found if word]


class NameWords(NamedTuple):
    """The words of a name, but for initials: they decide the role of no word."""

    family: tuple[str, ...]
    given: tuple[str, ...]

    def __repr__(self) -> str:
        return "NameWords()"

    @classmethod
    def of(cls, name: PersonName) -> NameWords:
        """Return the words of a name of the record, the middle name as a given one."""
        return cls(_words(name.family), (*_words(name.given), *_words(name.middle)))


class PeopleReader:
    """Read the persons of patient records.  Thread-safe.

    Each name is read once.  It keeps the names seen last; they go with it.
    """

    def __init__(self) -> None:
        self._words = lru_cache(maxsize=_NAMES)(NameWords.of)

    def people_of(self, known: KnownIdentifiers) -> RecordPeople:
        """Return the persons of a record."""
        patient = [*map(self._words, known.patient_names)]
        kin = [*map(self._words, known.kin_names)]
        providers = [*map(self._words, known.provider_names)]
        every = (*patient, *kin, *providers)
        roles = {word: Role.FAMILY for name in every for word in name.family}
        for word in (word for name in every for word in name.given):
            roles.setdefault(word, Role.GIVEN)
        persons = (
            *_patient(patient),
            *(_person("kin", each) for each in kin),
            *(_person("provider", each) for each in providers),
        )
        return RecordPeople(roles, persons, self._genders(known))

    def _genders(self, known: KnownIdentifiers) -> Mapping[str, Gender]:
        genders: dict[str, Gender] = {}
        sex = _GENDERS_OF_SEXES.get(known.sex)
        names = (*known.patient_names, *known.kin_names, *known.provider_names)
        for at, name in enumerate(names):
            is_patient = at < len(known.patient_names)
            gender = (sex if is_patient else None) or gender_of_title(name.prefix)
            if gender is not None:
                for word in self._words(name).given:
                    genders.setdefault(word, gender)
        return genders


def _ratio(one: str, other: str) -> float:
    return OSA.distance(one, other) / min(len(one), len(other))


def _words(part: str) -> tuple[str, ...]:
    return tuple(word for word in words_in(part) if len(word) > 1)


def _patient(names: Iterable[NameWords]) -> tuple[RecordPerson, ...]:
    words = frozenset(chain.from_iterable(part for name in names for part in name))
    return (RecordPerson("patient", words),) if words else ()


def _person(kind: str, name: NameWords) -> RecordPerson:
    key = f"{kind} {' '.join(name.family)}, {' '.join(name.given)}"
    return RecordPerson(key, frozenset((*name.family, *name.given)), kind == "provider")
