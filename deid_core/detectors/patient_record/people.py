"""The people of a record and every form of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from deid_core.document import PersonName
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, is_vocabulary, load_list
from deid_core.language.lexicons.nicknames import nicknames_of

_SPELT_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
)
_SHORTEST_FUZZY = 4
_SHORTEST_SPLIT = 5
_SHORTEST_PLURAL = 4
_HISSES = ("s", "x", "z", "ch", "sh")

PROVIDER = "provider"
LABELS = {
    "patient": Label.PATIENT,
    "kin": Label.PATIENT,
    "provider": Label.DOCTOR,
}
"""Label of the names of each group; i2b2-2014 marks relatives as PATIENT too."""


class Person(NamedTuple):
    """A person of the record, and the compared forms of the words of the name.

    Args:
        group: One of `LABELS`.
        initials: Of the given, middle and family names.
        forms: As the record has them, joined as well.
        parts: The longer of them, but for given name and surname joined: what may be
            written as two words.
        nicknames: Other forms of the given names.
        particles: Those forms that are no name by themselves ("de", "van").
        plurals: Those forms that name the family ("Ortizes").
        doubled: The word that is both given name and surname, or "".
        monograms: The initials of the whole name: JQS and JS.
        letters: The initials of all its words, particles left out.
    """

    group: str
    initials: str
    forms: tuple[str, ...]
    parts: frozenset[str]
    nicknames: frozenset[str]
    particles: frozenset[str]
    plurals: frozenset[str]
    doubled: str
    monograms: tuple[str, ...]
    letters: str

    def __repr__(self) -> str:
        return "Person()"


@dataclass(frozen=True, slots=True, repr=False)
class Names:
    """All names of the record.

    Args:
        persons: Patients first, then kin, then providers.
        tokens: Every word of a name in compared form, and a bit set over the persons:
            who bears it.
        nicknames: The same for the nicknames of patients and kin.
        particles: The words that are part of a name only next to another part.
        fuzzy: The words of four letters and more, in a fixed order.
        parts: Those that are not themselves two names run together.
        doubled: The words that are given name and surname of one person.
        monograms: Everybody's, as `Person` has them.
        keys: All words of the names.
        providers: The bits of the providers.
    """

    persons: tuple[Person, ...]
    tokens: dict[str, int]
    nicknames: dict[str, int]
    particles: frozenset[str]
    fuzzy: tuple[str, ...]
    parts: frozenset[str]
    doubled: frozenset[str]
    monograms: frozenset[str]
    keys: frozenset[str]
    providers: int = 0

    @classmethod
    def of(cls, persons: tuple[Person, ...]) -> Names:
        """Prepare the names of a record: patients first, then kin, then providers."""
        tokens: dict[str, int] = {}
        nicknames: dict[str, int] = {}
        providers, bit = 0, 1
        for person in persons:
            for form in person.forms:
                tokens[form] = tokens.get(form, 0) | bit
            for form in person.nicknames:
                nicknames[form] = nicknames.get(form, 0) | bit
            providers |= bit if person.group == PROVIDER else 0
            bit <<= 1
        particles = frozenset().union(*(person.particles for person in persons))
        # A misspelt name is compared with the name itself, not with its plural.
        exact = particles.union(*(person.plurals for person in persons))
        long = [form for form in tokens if len(form) >= _SHORTEST_FUZZY]
        return cls(
            persons,
            tokens,
            nicknames,
            particles,
            tuple(sorted(form for form in long if form not in exact)),
            frozenset().union(*(person.parts for person in persons)),
            frozenset(p.doubled for p in persons if p.doubled),
            frozenset(each for person in persons for each in person.monograms),
            frozenset((*tokens, *nicknames)),
            providers,
        )

    def person(self, bits: int) -> Person:
        """Return the first of those who bear a token."""
        return self.persons[(bits & -bits).bit_length() - 1]

    def initials(self, bits: int, *, left_out: str) -> frozenset[str]:
        """Return the initials of all who bear a token, but for the token's own."""
        each = (p.initials for i, p in enumerate(self.persons) if bits >> i & 1)
        return frozenset("".join(letters.replace(left_out, "", 1) for letters in each))


def person_of(group: str, name: PersonName) -> Person:
    """Prepare a name; placeholders and blanks are left out."""
    given, middle, family = map(_words, (name.given, name.middle, name.family))
    parts = [part for part in (given, middle, family) if part]
    single = (*chain.from_iterable(parts), *("".join(part) for part in parts))
    plurals = frozenset(_of_family(family)).difference(single)
    forms = dict.fromkeys(
        (*single, *_joined(given, family), *_spelt_out(name), *plurals)
    )
    nicknames: frozenset[str] = frozenset()
    if given and group != PROVIDER:
        nicknames = nicknames_of(given[0])
    initials = "".join(words[0][0] for words in parts)
    whole = initials.upper()
    particles = load_list("name_particles")
    letters = "".join(word[0] for word in chain(*parts) if word not in particles)
    return Person(
        group,
        initials,
        tuple(form for form in forms if len(form) >= 2),
        frozenset(form for form in single if len(form) >= _SHORTEST_SPLIT),
        nicknames,
        particles.intersection(family[:-1]),
        plurals,
        given[0] if given and given[:1] == family[-1:] else "",
        tuple({whole, whole[0] + whole[-1]}) if given and family else (),
        letters.upper(),
    )


def _words(part: str) -> tuple[str, ...]:
    """Return the words of one part of a name in compared form, placeholders removed."""
    placeholders = load_list("placeholders")
    words = forms_of(part) if part else ()
    return tuple(w for w in words if w.isalpha() and w not in placeholders)


def _joined(given: Sequence[str], family: Sequence[str]) -> Iterator[str]:
    """Yield given name and surname as one word: "JohnSmith"."""
    if given and family:
        yield given[0] + "".join(family)
        yield "".join(family) + given[0]


def _of_family(family: Sequence[str]) -> Iterator[str]:
    """Yield what its members are called: "the Ortizes", "both Brodys"."""
    if family and len(family[-1]) >= _SHORTEST_PLURAL:
        name = family[-1]
        plural = name + ("es" if name.endswith(_HISSES) else "s")
        if not is_vocabulary(plural):
            yield plural


def _spelt_out(name: PersonName) -> Iterator[str]:
    """Yield "Mueller" for Müller."""
    for part in (name.given, name.family):
        if not part.isascii():
            yield from _words(part.translate(_SPELT_UMLAUTS))
