"""A patient's record, prepared for looking things up in a note.

Compiled once per record and cached by the detector; holds PHI, so nothing has a repr.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from ...document import KnownIdentifiers, PersonName
from ...labels import Label
from ...lexicons import forms_of, is_ordinary, load_list
from .dates import BirthDates
from .numbers import Numbers
from .places import Places

_SPELT_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
)

_CACHE_SIZE = 16_384

LABELS = {
    "patient": Label.PATIENT,
    "kin": Label.PATIENT,
    "provider": Label.DOCTOR,
}
"""Label of the names of each group; i2b2-2014 marks relatives as PATIENT too."""


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """Somebody of the record; initials of the given, middle and family names."""

    group: str
    initials: str


class NameToken(NamedTuple):
    """One word of a name.

    Args:
        normal: Its compared form.
        persons: Bit set over the record's persons: who bears it.
        is_ordinary: It is also a common word, so context must say that it is a name.
    """

    normal: str
    persons: int
    is_ordinary: bool

    def __repr__(self) -> str:
        return "NameToken()"


@dataclass(frozen=True, slots=True, repr=False)
class Names:
    """All names of the record.

    Args:
        persons: Patients first, then kin, then providers; bit i of
            ``NameToken.persons`` is ``persons[i]``.
        tokens: By compared form.
        fuzzy: Those of four letters and more, in a fixed order.
    """

    persons: tuple[Person, ...]
    tokens: dict[str, NameToken]
    fuzzy: tuple[str, ...]
    providers: int = 0

    def person(self, bits: int) -> Person:
        """Return the first of those who bear a token."""
        return self.persons[(bits & -bits).bit_length() - 1]

    def initials(self, bits: int, *, besides: str) -> frozenset[str]:
        """Return the initials of all who bear a token, but for the token's own."""
        each = (p.initials for i, p in enumerate(self.persons) if bits >> i & 1)
        return frozenset("".join(letters.replace(besides, "", 1) for letters in each))


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """Everything of one record, compiled; ``keys`` are all words sought in a note."""

    names: Names
    places: Places
    numbers: Numbers
    birth_dates: BirthDates
    emails: frozenset[str]
    keys: frozenset[str]


def compile_record(known: KnownIdentifiers) -> Record:
    """Return the record prepared for look-ups; placeholders and blanks are left out."""
    names = _compile_names(known)
    places = Places.of(known)
    birth_dates = BirthDates.of(known.birth_dates)
    emails = (each.strip().lower() for each in known.emails)
    return Record(
        names=names,
        places=places,
        numbers=Numbers.of(known),
        birth_dates=birth_dates,
        emails=frozenset(each for each in emails if "@" in each.strip("@ ")),
        keys=places.keys | birth_dates.keys | names.tokens.keys(),
    )


@lru_cache(maxsize=_CACHE_SIZE)
def name_words(part: str) -> tuple[str, ...]:
    """Return the words of one part of a name in compared form, placeholders removed."""
    placeholders = load_list("placeholders")
    words = forms_of(part)
    return tuple(w for w in words if w.isalpha() and w not in placeholders)


def _compile_names(known: KnownIdentifiers) -> Names:
    persons: list[Person] = []
    bearers: dict[str, int] = defaultdict(int)
    providers = 0
    for group, name in _people(known):
        parts = [name_words(p) for p in (name.given, name.middle, name.family) if p]
        bit = 1 << len(persons)
        for form in {*chain.from_iterable(parts), *_other_forms(name)}:
            if len(form) >= 2:
                bearers[form] |= bit
        initials = "".join(words[0][0] for words in parts if words)
        persons.append(Person(group, initials))
        providers |= bit if group == "provider" else 0
    tokens = {
        form: NameToken(form, bits, len(form) == 2 or is_ordinary(form))
        for form, bits in bearers.items()
    }
    fuzzy = tuple(sorted(form for form in tokens if len(form) >= 4))
    return Names(tuple(persons), tokens, fuzzy, providers)


def _people(known: KnownIdentifiers) -> Iterator[tuple[str, PersonName]]:
    groups = (known.patient_names, known.kin_names, known.provider_names)
    for group, names in zip(LABELS, groups, strict=True):
        # A record that remembers former values repeats most of them.
        for name in dict.fromkeys(names):
            yield group, name


def _other_forms(name: PersonName) -> Iterator[str]:
    """Yield what is written as one word ("OBrien", "JohnSmith"), and "Mueller"."""
    given, family = name_words(name.given), name_words(name.family)
    for words in (given, family):
        if len(words) > 1:
            yield "".join(words)
    if given and family:
        yield given[0] + "".join(family)
        yield "".join(family) + given[0]
    for part in (name.given, name.family):
        if not part.isascii():
            yield from name_words(part.translate(_SPELT_UMLAUTS))
