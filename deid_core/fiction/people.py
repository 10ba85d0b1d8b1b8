"""People drawn from a seed: names by locale, US addresses, e-mail, misspellings."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from random import Random

from faker import Faker

from ..document import Address, PersonName
from ..language.lexicons import normal
from .names import Gender

SHORTEST_MISSPELT = 5
SHORTEST_TRANSPOSED = 7
_HOSTS = ("example.com", "example.org", "mail.example.net")
_MIDDLE, _WORD = 0.3, 0.12


class FictionalPeople:
    """Draws names, addresses and e-mail addresses; the same seed gives the same ones.

    Args:
        chance: Decides everything.
        locales: Faker's; the first is that of addresses.
        accepts: Whether a name may be drawn.
        word_surnames: Surnames that are words, drawn more often than they occur.
    """

    def __init__(
        self,
        chance: Random,
        locales: Sequence[str],
        accepts: Callable[[str], bool],
        word_surnames: Sequence[str],
    ) -> None:
        self._chance = chance
        self._accepts = accepts
        self._word_surnames = word_surnames
        self._fakers = [Faker(locale, use_weighting=False) for locale in locales]
        for faker in self._fakers:
            faker.seed_instance(chance.getrandbits(64))

    def name(self, gender: Gender) -> PersonName:
        """Return a whole name; one in eight has a surname that is a word."""
        chance = self._chance
        faker = chance.choice(self._fakers)
        middle = ""
        if chance.random() < _MIDDLE:
            middle = self._given(faker, gender)
        if chance.random() < _WORD:
            surname = chance.choice(self._word_surnames)
            return PersonName(surname, self._given(self._fakers[0], gender))
        is_female = gender is Gender.FEMALE
        family = faker.last_name_female if is_female else faker.last_name_male
        return PersonName(self._drawn(family), self._given(faker, gender), middle)

    def family(self) -> str:
        """Return a surname of any locale."""
        return self._drawn(self._chance.choice(self._fakers).last_name)

    def address(self) -> Address:
        """Return an address in the United States."""
        faker = self._fakers[0]
        return Address(
            street=faker.street_address().replace("\n", " "),
            city=faker.city(),
            state=faker.state_abbr(include_territories=False),
            zip=faker.zipcode(),
            country="USA",
        )

    def email(self, name: PersonName) -> str:
        """Return an e-mail address with a person's name, at a reserved host."""
        local = plain_name(f"{name.given}.{name.family}")
        local = "".join(c for c in local if c.isalnum() or c == ".")
        host = self._chance.choice(_HOSTS)
        return f"{local}{self._chance.randrange(10, 99)}@{host}"

    def _given(self, faker: Faker, gender: Gender) -> str:
        is_female = gender is Gender.FEMALE
        draw = faker.first_name_female if is_female else faker.first_name_male
        return self._drawn(draw)

    def _drawn(self, draw: Callable[[], str]) -> str:
        while True:
            name = draw()
            if self._accepts(name):
                return name


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
