"""The people of the ward: patients, kin and staff, invented from a seed."""

from __future__ import annotations

import random
import unicodedata
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from faker import Faker

from deid_core.document import Address, PersonName

from .pools import Pools, Site, lower_words

Split = Literal["dev", "test"]

LOCALES = (
    "en_US",
    "en_GB",
    "en_IE",
    "es_ES",
    "fr_FR",
    "de_DE",
    "it_IT",
    "pl_PL",
    "cs_CZ",
    "pt_BR",
    "tr_TR",
    "sv_SE",
    "hu_HU",
    "vi_VN",
    "ro_RO",
)
AREA_CODES = (202, 206, 212, 303, 312, 404, 415, 503, 512, 602, 617, 702, 713, 808)
DAYS_A_YEAR = 365.25


@dataclass(frozen=True, slots=True)
class Staff:
    """A provider: the id and name of an HL7 XCN."""

    id: str = field(repr=False)
    name: PersonName = field(repr=False)


@dataclass(frozen=True, slots=True)
class Kin:
    """Next of kin; ``relation`` is a code of HL7 table 0063 and its word."""

    name: PersonName = field(repr=False)
    relation: tuple[str, str]
    phone: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Person:
    """A patient as the hospital knows him at one moment, former values included.

    ``is_stranger``: his demographics never arrive.  ``second_mrn``: he was registered
    twice, and the two records are merged later.
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
    kin: tuple[Kin, ...] = field(repr=False)
    gp: Staff = field(repr=False)
    attending: Staff = field(repr=False)
    ordering: Staff = field(repr=False)

    def age(self, day: date) -> int:
        """Full years on a day."""
        had_birthday = (day.month, day.day) >= (self.birth.month, self.birth.day)
        return day.year - self.birth.year - (0 if had_birthday else 1)

    @property
    def name_words(self) -> frozenset[str]:
        """Every word of every name around this person, in lower case."""
        names = (self.name, *self.former_names, *(kin.name for kin in self.kin))
        staff = (self.gp.name, self.attending.name, self.ordering.name)
        return frozenset(
            word
            for name in (*names, *staff)
            for word in lower_words(f"{name.given} {name.family}")
        )


def plain(text: str) -> str:
    """Return the letters in ASCII: ``Łuczyk`` is ``Luczyk``."""
    text = text.translate(str.maketrans("łŁıđĐøØßæ", "lLidDoOsa"))
    letters = unicodedata.normalize("NFKD", text)
    return letters.encode("ascii", "ignore").decode()


def in_split(name: str, split: Split) -> bool:
    """Whether a name belongs to a split; a name belongs to one split only.

    Decided by the longest word without accents, so that spellings stay together.
    """
    word = max(lower_words(plain(name)), key=len, default="")
    return zlib.crc32(word.encode()) % 2 == (split == "test")


class Registry:
    """Draws people; the same seed gives the same people in the same order."""

    def __init__(self, *, seed: int, split: Split, pools: Pools, epoch: date) -> None:
        self._rng = random.Random(f"{seed}/{split}/people")  # noqa: S311 - no secrets
        self._split: Split = split
        self._pools = pools
        self._epoch = epoch
        self._fakers = [Faker(locale, use_weighting=False) for locale in LOCALES]
        for faker in self._fakers:
            faker.seed_instance(self._rng.getrandbits(64))

    def staff(self, count: int) -> tuple[Staff, ...]:
        """Draw a hospital's providers."""
        return tuple(
            Staff(str(1_000_000_000 + self._rng.randrange(10**9)), self._name("F"))
            for _ in range(count)
        )

    def person(self, index: int, staff: tuple[Staff, ...]) -> Person:
        """Draw one patient."""
        rng = self._rng
        site = rng.choice(self._pools.sites)
        sex = rng.choice("FM")
        name = self._name(sex)
        former = () if rng.random() < 0.75 else (self._renamed(name),)
        gp, attending, ordering = rng.sample(staff, 3)
        return Person(
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
            email=self._email(name),
            ssn=self._ssn(),
            account=f"{rng.randrange(10**9, 10**10)}",
            kin=self._kin(name),
            gp=gp,
            attending=attending,
            ordering=ordering,
        )

    def address(self) -> Address:
        """Draw an address in the United States."""
        english = self._fakers[0]
        return Address(
            street=english.street_address().replace("\n", " "),
            city=english.city(),
            state=english.state_abbr(include_territories=False),
            zip=english.zipcode(),
            country="USA",
        )

    def phone(self) -> str:
        """Draw ten digits that North America could have assigned."""
        rng = self._rng
        exchange = rng.choice([n for n in range(220, 990) if n % 100 != 11])
        return f"{rng.choice(AREA_CODES)}{exchange}{rng.randrange(10_000):04}"

    def family(self) -> str:
        """Draw a surname of this split."""
        return self._drawn(self._rng.choice(self._fakers).last_name)

    def _name(self, sex: str) -> PersonName:
        rng = self._rng
        faker = rng.choice(self._fakers)
        is_female = sex == "F"
        given = faker.first_name_female if is_female else faker.first_name_male
        family = faker.last_name_female if is_female else faker.last_name_male
        middle = self._drawn(given) if rng.random() < 0.3 else ""
        if rng.random() < 0.12:
            # A surname that is a word, or an eponym, comes with an English given name.
            english = self._fakers[0]
            given = english.first_name_female if is_female else english.first_name_male
            surname = rng.choice(self._pools.word_surnames)
            return PersonName(surname, self._drawn(given))
        return PersonName(self._drawn(family), self._drawn(given), middle)

    def _drawn(self, draw: Callable[[], str]) -> str:
        while True:
            name = draw()
            is_reserved = name in self._pools.reserved_surnames
            if in_split(name, self._split) and not is_reserved:
                return name

    def _renamed(self, name: PersonName) -> PersonName:
        return PersonName(self.family(), name.given, name.middle)

    def _mrn(self, index: int) -> str:
        # The index keeps numbers apart; the rest makes them look drawn.
        return f"{self._rng.randrange(10, 99)}{index:06}"

    def _birth(self) -> date:
        oldest = self._rng.random() < 0.08
        age = self._rng.uniform(91, 103) if oldest else self._rng.uniform(19, 88)
        return self._epoch - timedelta(days=round(age * DAYS_A_YEAR))

    def _email(self, name: PersonName) -> str:
        local = ".".join(plain(part) for part in (name.given, name.family))
        local = "".join(c for c in local.lower() if c.isalnum() or c == ".")
        host = self._rng.choice(("example.com", "example.org", "mail.example.net"))
        return f"{local}{self._rng.randrange(10, 99)}@{host}"

    def _ssn(self) -> str:
        # The SSA never assigned areas 000, 666 and 900-999, group 00 or serial 0000.
        area = self._rng.choice([n for n in range(1, 773) if n != 666])
        group = self._rng.randrange(1, 100)
        return f"{area:03}-{group:02}-{self._rng.randrange(1, 10_000):04}"

    def _kin(self, name: PersonName) -> tuple[Kin, ...]:
        rng = self._rng
        kin = []
        for code, word, sex in rng.sample(self._pools.relations, rng.randrange(1, 3)):
            relative = self._name(sex)
            if rng.random() < 0.5:
                relative = PersonName(name.family, relative.given)
            kin.append(Kin(relative, (code, word), self.phone()))
        return tuple(kin)
