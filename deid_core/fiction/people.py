"""People drawn from a seed: names by locale, US addresses, e-mail, misspellings."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from random import Random

from deid_core.document import Address, PersonName
from deid_core.language.lexicons import normal

from .gender import Gender
from .prebuilt import prebuilt

SHORTEST_MISSPELT = 5
SHORTEST_TRANSPOSED = 7
_HOSTS = ("example.com", "example.org", "mail.example.net")
_MIDDLE, _WORD = 0.3, 0.12
_FIELD, _DIGIT = re.compile(r"{{(\w+)}}"), re.compile("#")
_FIRST_ZIP, _LAST_ZIP = 501, 99950

LOCALES = (
    *("en_US", "en_GB", "en_IE", "es_ES", "fr_FR", "de_DE", "it_IT", "pl_PL", "cs_CZ"),
    *("pt_BR", "tr_TR", "sv_SE", "hu_HU", "vi_VN", "ro_RO"),
)
"""Faker's locales that names are from; the first is that of addresses."""


class FictionalPeople:
    """Draws names, addresses and e-mail addresses; the same seed gives the same ones.

    Args:
        chance: Decides everything.
        accepts: Whether a name may be drawn.
        word_surnames: Surnames that are words, drawn more often than they occur.
    """

    def __init__(
        self,
        chance: Random,
        accepts: Callable[[str], bool],
        word_surnames: Sequence[str],
    ) -> None:
        self._chance = chance
        self._accepts = accepts
        self._word_surnames = word_surnames
        lists = prebuilt("people")["locales"]
        self._sources = [
            Source(lists[locale], Random(chance.getrandbits(64)))  # noqa: S311 - no secrets
            for locale in LOCALES
        ]

    def name(self, gender: Gender) -> PersonName:
        """Return a whole name; one in eight has a surname that is a word."""
        chance = self._chance
        source = chance.choice(self._sources)
        middle = ""
        if chance.random() < _MIDDLE:
            middle = self._given(source, gender)
        if chance.random() < _WORD:
            surname = chance.choice(self._word_surnames)
            return PersonName(surname, self._given(self._sources[0], gender))
        family = self._drawn(source, f"last_name_{_of_one(gender)}")
        return PersonName(family, self._given(source, gender), middle)

    def family(self) -> str:
        """Return a surname of any locale."""
        return self._drawn(self._chance.choice(self._sources), "last_name")

    def address(self) -> Address:
        """Return an address in the United States."""
        source = self._sources[0]
        return Address(
            street=source.draw("street_address"),
            city=source.draw("city"),
            state=source.draw("state_abbr"),
            zip=f"{source.chance.randint(_FIRST_ZIP, _LAST_ZIP):05}",
            country="USA",
        )

    def email(self, name: PersonName) -> str:
        """Return an e-mail address with a person's name, at a reserved host."""
        local = plain_name(f"{name.given}.{name.family}")
        local = "".join(c for c in local if c.isalnum() or c == ".")
        host = self._chance.choice(_HOSTS)
        return f"{local}{self._chance.randrange(10, 99)}@{host}"

    def _given(self, source: Source, gender: Gender) -> str:
        return self._drawn(source, f"first_name_{_of_one(gender)}")

    def _drawn(self, source: Source, kind: str) -> str:
        while True:
            name = source.draw(kind)
            if self._accepts(name):
                return name


class Source:
    """Draws as Faker does from a locale's lists and formats."""

    def __init__(self, lists: Mapping[str, Sequence[str]], chance: Random) -> None:
        self._lists = lists
        self.chance = chance

    def draw(self, kind: str) -> str:
        """Return a value, with the fields of a format and its ``#`` drawn as well."""
        drawn = self.chance.choice(self._lists[kind])
        drawn = _FIELD.sub(lambda field: self.draw(field[1]), drawn)
        return _DIGIT.sub(lambda _: str(self.chance.randint(0, 9)), drawn)


def _of_one(gender: Gender) -> str:
    return "female" if gender is Gender.FEMALE else "male"


def plain_name(name: str) -> str:
    """Return a name in lower case without accents: ``geisler`` for ``Geißler``."""
    return normal(name.replace("ß", "s"))


def misspelt(word: str, chance: Random) -> str:
    """Return the word with one letter wrong, missing or added, or two swapped.

    A swap counts as two edits, so that only words of ``SHORTEST_TRANSPOSED`` letters
    stay below the ratio of edits to length of Yuwono, Ng and Ngiam 2016, section 3.1:
    0.33.

    Raises:
        ValueError: The word is shorter than ``SHORTEST_MISSPELT``.
    """
    if len(word) < SHORTEST_MISSPELT:
        raise ValueError(f"too short to misspell: {len(word)} letters")
    edits = _EDITS if len(word) >= SHORTEST_TRANSPOSED else _EDITS[:3]
    while True:
        result = chance.choice(edits)(word, chance.randrange(1, len(word) - 1), chance)
        if result not in word and word not in result:
            return result


def _substituted(word: str, at: int, chance: Random) -> str:
    return word[:at] + chance.choice(string.ascii_lowercase) + word[at + 1 :]


def _deleted(word: str, at: int, _: Random) -> str:
    return word[:at] + word[at + 1 :]


def _inserted(word: str, at: int, chance: Random) -> str:
    return word[:at] + chance.choice(string.ascii_lowercase) + word[at:]


def _transposed(word: str, at: int, _: Random) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


_EDITS = (_substituted, _deleted, _inserted, _transposed)
