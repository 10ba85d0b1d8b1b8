"""A patient's record, compiled for finding its values in notes.

Holds PHI, so nothing has a repr.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from deid_core.document import (
    Address,
    KnownId,
    KnownIdentifiers,
    PersonName,
    with_changed_parts,
)
from deid_core.labels import Label
from deid_core.language.reading import readings_of

from .dates import BirthDates
from .emails import email_forms
from .numbers import IdForms, Labelled, Number, Numbers, phone_of
from .people import LABELS, Names, Person, person_of
from .phrases import Phrase, institution
from .places import AddressParts, Places, address_parts
from .prefilter import Prefilter

_VALUES = 4096
_INSTITUTIONS = {"facility": Label.HOSPITAL, "employer": Label.ORGANIZATION}


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """Everything of one record, compiled.

    Args:
        keys: All words to find in a note.
        prefilter: The same as numbers.
    """

    names: Names
    places: Places
    numbers: Numbers
    labelled: Labelled
    birth_dates: BirthDates
    emails: dict[str, Label]
    keys: frozenset[str]
    prefilter: Prefilter


class RecordCompiler:
    """Prepare records for look-ups.  Thread-safe.

    Most records have changed since the patient's last note, by a value or two: each
    value is prepared once, and what was prepared of it is kept.  It keeps the values
    seen last; they go with it.
    """

    def __init__(self) -> None:
        self._person = lru_cache(maxsize=_VALUES)(_person)
        self._address = lru_cache(maxsize=_VALUES)(_address)
        self._institution = lru_cache(maxsize=_VALUES)(_institution)
        self._birth_dates = lru_cache(maxsize=_VALUES)(BirthDates.of)
        self._id = lru_cache(maxsize=_VALUES)(_id)
        self._phone = lru_cache(maxsize=_VALUES)(_phone)
        self._email = lru_cache(maxsize=_VALUES)(_email)

    def compiled(self, known: KnownIdentifiers) -> Record:
        """Return a record, prepared; placeholders and blanks are left out.

        Its values are read as notes are.
        """
        names = Names.of(tuple(self._persons(known)))
        addresses = [self._address(each) for each in known.addresses]
        phrases = chain.from_iterable(
            (
                *(each.phrases for each in addresses),
                *(self._institution("facility", each) for each in known.facilities),
                *(self._institution("employer", each) for each in known.employers),
            )
        )
        streets = chain.from_iterable(each.streets for each in addresses)
        places = Places.of(phrases, streets)
        birth_dates = self._birth_dates(known.birth_dates)
        ids = [self._id(each) for each in known.ids]
        numbers = (*(each.number for each in ids), *map(self._phone, known.phones))
        labelled = Labelled.of(ids)
        emails = [self._email(each) for each in known.emails]
        keys = names.keys.union(places.keys, birth_dates.keys, labelled.keys)
        return Record(
            names=names,
            places=places,
            numbers=Numbers.of(filter(None, numbers)),
            labelled=labelled,
            birth_dates=birth_dates,
            emails={form: label for each in emails for form, label in each.items()},
            keys=keys,
            prefilter=Prefilter.of(keys, names),
        )

    def _persons(self, known: KnownIdentifiers) -> Iterator[Person]:
        groups = (known.patient_names, known.kin_names, known.provider_names)
        for group, names in zip(LABELS, groups, strict=True):
            # A record that remembers former values repeats most of them.
            for name in dict.fromkeys(names):
                yield self._person(group, name)


def read_value(value: str) -> str:
    """Return a value of a record as a note with it would be read."""
    # Most values are plain ASCII, and read as they are written.
    if value.isascii() and value.isprintable():
        return value
    return readings_of(value)[0].text


def _person(group: str, name: PersonName) -> Person:
    return person_of(group, with_changed_parts(name, read_value))


def _address(address: Address) -> AddressParts:
    return address_parts(with_changed_parts(address, read_value))


def _institution(rule: str, value: str) -> tuple[Phrase, ...]:
    return institution(read_value(value), _INSTITUTIONS[rule], rule)


def _id(known: KnownId) -> IdForms:
    return IdForms.of(KnownId(read_value(known.value), known.label))


def _phone(phone: str) -> Number | None:
    return phone_of(read_value(phone))


def _email(email: str) -> dict[str, Label]:
    return email_forms(read_value(email))
