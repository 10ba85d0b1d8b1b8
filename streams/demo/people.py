"""The people of the ward: patients, kin and staff, drawn from a seed."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from deid_core.document import Address, PersonName
from deid_core.fiction.gender import Gender
from deid_core.fiction.numbers import phone, social_security_number
from deid_core.fiction.people import FictionalPeople, plain_name

from .pools import Pools, Site, lower_words

Split = Literal["dev", "test"]

DAYS_A_YEAR = 365.25
GENDERS = {"F": Gender.FEMALE, "M": Gender.MALE}
"""Codes of HL7 table 0001."""


@dataclass(frozen=True, slots=True)
class Staff:
    """A provider: the id and name of an HL7 XCN."""

    id: str = field(repr=False)
    name: PersonName = field(repr=False)


@dataclass(frozen=True, slots=True)
class NextOfKin:
    """Next of kin; ``relation`` is a code of HL7 table 0063 and its word."""

    name: PersonName = field(repr=False)
    relation: tuple[str, str]
    phone: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class WardPatient:
    """A patient as known to the hospital at one moment, with former values.

    ``is_stranger``: the demographics never arrive.  ``second_mrn``: the patient was
    registered twice, and the two records are merged later.
    """

    index: int
    site: Site = field(repr=False)
    mrn: str = field(repr=False)
    second_mrn: str = field(repr=False)
    is_stranger: bool
    sex: str
    name: PersonName = field(repr=False)
    former_names: tuple[PersonName, ...] = field(repr=False)
    birth: date = field(repr=False)
    address: Address = field(repr=False)
    former_addresses: tuple[Address, ...] = field(repr=False)
    phone: str = field(repr=False)
    email: str = field(repr=False)
    ssn: str = field(repr=False)
    account: str = field(repr=False)
    kin: tuple[NextOfKin, ...] = field(repr=False)
    gp: Staff = field(repr=False)
    attending: Staff = field(repr=False)
    ordering: Staff = field(repr=False)

    def age(self, day: date) -> int:
        """Full years on a day."""
        had_birthday = (day.month, day.day) >= (self.birth.month, self.birth.day)
        return day.year - self.birth.year - (0 if had_birthday else 1)

    @property
    def name_words(self) -> frozenset[str]:
        """Every word of the names of the patient, kin and staff, in lower case."""
        names = (self.name, *self.former_names, *(kin.name for kin in self.kin))
        staff = (self.gp.name, self.attending.name, self.ordering.name)
        return frozenset(
            word
            for name in (*names, *staff)
            for word in lower_words(f"{name.given} {name.family}")
        )


def in_split(name: str, split: Split) -> bool:
    """Return whether a name belongs to a split; it belongs to one only.

    Decided by the longest word without accents, so that spellings stay together.
    """
    word = max(lower_words(plain_name(name)), key=len, default="")
    return zlib.crc32(word.encode()) % 2 == (split == "test")


class Registry:
    """Draws people; the same seed gives the same people in the same order."""

    def __init__(self, *, seed: int, split: Split, pools: Pools, epoch: date) -> None:
        self._rng = random.Random(f"{seed}/{split}/people")  # noqa: S311 - no secrets
        self._pools = pools
        self._epoch = epoch
        self._people = FictionalPeople(
            self._rng,
            lambda name: in_split(name, split) and name not in pools.reserved_surnames,
            pools.word_surnames,
        )

    def staff(self, count: int) -> tuple[Staff, ...]:
        """Draw a hospital's providers."""
        return tuple(
            Staff(str(1_000_000_000 + self._rng.randrange(10**9)), self._name("F"))
            for _ in range(count)
        )

    def person(self, index: int, staff: tuple[Staff, ...]) -> WardPatient:
        """Draw one patient."""
        rng = self._rng
        site = rng.choice(self._pools.sites)
        sex = rng.choice("FM")
        name = self._name(sex)
        former = () if rng.random() < 0.75 else (self._renamed(name),)
        gp, attending, ordering = rng.sample(staff, 3)
        return WardPatient(
            index=index,
            site=site,
            mrn=self._mrn(index),
            second_mrn=self._mrn(index + 500_000) if index % 13 == 3 else "",
            is_stranger=index % 20 == 19,
            sex=sex,
            name=name,
            former_names=former,
            birth=self._birth(),
            address=self.address(),
            former_addresses=(),
            phone=self.phone(),
            email=self._people.email(name),
            ssn=social_security_number(rng),
            account=f"{rng.randrange(10**9, 10**10)}",
            kin=self._kin(name),
            gp=gp,
            attending=attending,
            ordering=ordering,
        )

    def address(self) -> Address:
        """Draw an address in the United States."""
        return self._people.address()

    def phone(self) -> str:
        """Draw ten digits that North America could have assigned."""
        return phone(self._rng)

    def family(self) -> str:
        """Draw a surname of this split."""
        return self._people.family()

    def _name(self, sex: str) -> PersonName:
        return self._people.name(GENDERS[sex])

    def _renamed(self, name: PersonName) -> PersonName:
        return PersonName(self.family(), name.given, name.middle)

    def _mrn(self, index: int) -> str:
        # The index makes numbers unique; the rest makes them look random.
        return f"{self._rng.randrange(10, 99)}{index:06}"

    def _birth(self) -> date:
        oldest = self._rng.random() < 0.08
        age = self._rng.uniform(91, 103) if oldest else self._rng.uniform(19, 88)
        return self._epoch - timedelta(days=round(age * DAYS_A_YEAR))

    def _kin(self, name: PersonName) -> tuple[NextOfKin, ...]:
        rng = self._rng
        kin = []
        for code, word, sex in rng.sample(self._pools.relations, rng.randrange(1, 3)):
            relative = self._name(sex)
            if rng.random() < 0.5:
                relative = PersonName(name.family, relative.given)
            kin.append(NextOfKin(relative, (code, word), self.phone()))
        return tuple(kin)
