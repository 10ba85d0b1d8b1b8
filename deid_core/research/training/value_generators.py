"""Generators of new values in place of marked ones, for training.

Each keeps to the kind of the value that it replaces: a given name alone becomes another
given name, a postcode another postcode.  Languages and patterns come from the recipe.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date
from functools import cache
from itertools import accumulate
from random import Random

from deid_core.fiction.dates import write_date
from deid_core.research.cultures import Pool, family_names_of, given_names_of
from deid_core.research.gazetteer import country_names, subdivisions, towns_by_size

_WORD = re.compile(r"[^\W\d_]+")
_FIELD = re.compile(r"\{(\w+)\}")
_MONTHS = 12
_WRITTEN_AGES = 0.3
_SMALL_TOWN, _LARGE_TOWN = 1000, 15000


@dataclass(frozen=True, slots=True)
class LocaleData:
    """The sources of new values of one language and country.

    Args:
        locales: Faker's, the usual one first; another is drawn a tenth of the time.
        country: ISO 3166, two letters: where most towns are.
        language: ISO 639, two letters.
        patterns: By kind of name (``given``, ``family``, ``full``), how it is written.
        dates: How dates are written.
        months: The months' names.
        pools: By tag, the values of the corpus.
        ages: How ages are written, in addition to those of the corpus.
        numerals: Numbers as words; the first eight are small.
    """

    locales: tuple[str, ...]
    country: str
    language: str
    patterns: Mapping[str, Sequence[str]]
    dates: Sequence[str]
    months: Sequence[str]
    pools: Mapping[str, Sequence[str]] = field(repr=False)
    ages: Sequence[str] = ()
    numerals: Sequence[str] = ()

    def given(self, chance: Random) -> str:
        """Return a given name."""
        return chance.choice(given_names_of(self._locale(chance)))

    def family(self, chance: Random) -> str:
        """Return a surname."""
        return chance.choice(family_names_of(self._locale(chance)))

    def town(self, chance: Random) -> str:
        """Return a town, weighted by the root of its inhabitants."""
        return _towns(self.country if chance.random() < 0.8 else "").draw(chance)

    def name(self, kind: str, chance: Random) -> str:
        """Return a name in one of the patterns of its kind."""
        pattern = chance.choice(self.patterns[kind])
        return _FIELD.sub(lambda part: self._part(part[1], chance), pattern)

    def _part(self, part: str, chance: Random) -> str:
        if part == "initial":
            return self.given(chance)[0]
        return self.given(chance) if part == "given" else self.family(chance)

    def _locale(self, chance: Random) -> str:
        if len(self.locales) == 1 or chance.random() < 0.9:
            return self.locales[0]
        return chance.choice(self.locales[1:])


Maker = Callable[[str, str, LocaleData, Random], str]


def person(value: str, _: str, world: LocaleData, chance: Random) -> str:
    """Return a name of the same kind, given, family or both, and in capitals if so."""
    words = [word.lower() for word in _WORD.findall(value) if len(word) > 2]
    given = [word in known_given(world.locales) for word in words]
    kind = "given" if all(given) else "full" if given and given[0] else "family"
    made = world.name(kind, chance)
    return made.upper() if value.isupper() and len(value) > 4 else made


def place(value: str, tag: str, world: LocaleData, chance: Random) -> str:
    """Return a postcode for a postcode, else a town, region or another note's place."""
    if any(map(str.isdigit, value)):
        return redrawn(value, tag, world, chance)
    draw = chance.random()
    if draw < 0.5:
        made = world.town(chance)
    elif draw < 0.6:
        made = chance.choice(subdivisions(world.country))
    else:
        made = chance.choice(_without_digits(tuple(world.pools[tag])))
    return made.upper() if value.isupper() and len(value) > 3 else made


def country(value: str, _: str, world: LocaleData, chance: Random) -> str:
    """Return a country; the same one half of the time."""
    return (
        value if chance.random() < 0.5 else chance.choice(country_names(world.language))
    )


def redrawn(value: str, _: str, __: LocaleData, chance: Random) -> str:
    """Return the value with each digit, and most capital letters, drawn anew."""

    def draw(character: str) -> str:
        if character.isdigit():
            return chance.choice(string.digits)
        if character.isascii() and character.isupper() and chance.random() < 0.8:
            return chance.choice(string.ascii_uppercase)
        return character

    return "".join(map(draw, value))


def regrouped(value: str, tag: str, world: LocaleData, chance: Random) -> str:
    """Return the value redrawn, at times with its digits grouped otherwise."""
    made = redrawn(value, tag, world, chance)
    if chance.random() < 0.5:
        return made
    separator = chance.choice(("", " ", "-", ".", "/"))
    made = re.sub(r"(?<=\d)[ ./-]+(?=\d)", separator, made)
    if separator == "" and chance.random() < 0.3:
        at = chance.randrange(1, max(2, len(made)))
        made = f"{made[:at]} {made[at:]}"
    return made.strip()


def date(value: str, tag: str, world: LocaleData, chance: Random) -> str:
    """Return a date in one of the patterns, or one of another note."""
    if chance.random() < 0.4 or len(value) < 6:
        return chance.choice(world.pools[tag])
    day, month, year = (
        chance.randint(1, 28),
        chance.randint(1, _MONTHS),
        chance.randint(1925, 2019),
    )
    pattern = chance.choice(world.dates)
    return write_date(Date(year, month, day), pattern, world.months)


def alike(value: str, tag: str, world: LocaleData, chance: Random) -> str:
    """Return another note's value with names and numbers exchanged.

    It ends with a full stop if the old one does: ``2 izq..`` ends value and field.
    """
    pool = _ending(tuple(world.pools[tag]), value.endswith("."))
    return exchanged(chance.choice(pool), tag, world, chance)


def age(value: str, tag: str, world: LocaleData, chance: Random) -> str:
    """Return an age of another note, at times one in a pattern."""
    if not world.ages or chance.random() >= _WRITTEN_AGES:
        return alike(value, tag, world, chance)
    return chance.choice(world.ages).format(
        years=chance.randint(1, 95),
        months=chance.randint(1, 20),
        days=chance.randint(1, 30),
        numeral=chance.choice(world.numerals),
        few=chance.choice(world.numerals[:8]),
    )


def exchanged(value: str, _: str, world: LocaleData, chance: Random) -> str:
    """Return the value with its names and numbers exchanged, half of the time each."""

    def exchange(word: re.Match[str]) -> str:
        lower = word[0].lower()
        if not word[0][0].isupper() or len(lower) < 3 or chance.random() < 0.4:
            return word[0]
        if lower in known_given(world.locales):
            made = world.given(chance)
        elif lower in _known_family(world.locales):
            made = world.family(chance)
        elif lower in _known_towns(world.country):
            made = world.town(chance)
        else:
            return word[0]
        return made.upper() if word[0].isupper() else made

    def digits(run: re.Match[str]) -> str:
        if chance.random() < 0.3:
            return run[0]
        first = chance.choice("123456789")
        return first + "".join(chance.choice(string.digits) for _ in run[0][1:])

    return re.sub(r"\d+", digits, _WORD.sub(exchange, value))


def address(_: str, tag: str, world: LocaleData, chance: Random) -> str:
    """Return an e-mail address: a name's parts at another note's domain."""
    value = chance.choice(world.pools[tag])
    local, at, domain = value.partition("@")
    if not at or chance.random() < 0.3:
        return redrawn(value, tag, world, chance)
    given, family = world.given(chance), world.family(chance)
    second = world.given(chance)[0]
    forms = (
        given[0] + family,
        f"{given[0]}.{family}",
        f"{given[0]}.{second}.{family}",
        f"{given[0]}{second}.{family}.{second}{family[:2]}",
        f"{given}.{family}",
        f"{given}_{family}",
        family + given[0],
        f"{given[0]}{family}{chance.randint(1, 99)}",
        f"{family}{chance.choice('._-')}{given}",
        given,
        family,
        local,
    )
    return plain(chance.choice(forms)).lower().replace(" ", "") + at + domain


def plain(text: str) -> str:
    """Return the text without the accents that e-mail addresses leave out."""
    return text.translate(str.maketrans("áéíóúüñçàèòÁÉÍÓÚÑ", "aeiouuncaeoAEIOUN"))


MAKERS: Mapping[str, Maker] = {
    "person": person,
    "place": place,
    "country": country,
    "redrawn": redrawn,
    "regrouped": regrouped,
    "date": date,
    "alike": alike,
    "age": age,
    "exchanged": exchanged,
    "address": address,
}
"""Every maker by its name in recipes."""


@cache
def known_given(locales: tuple[str, ...]) -> frozenset[str]:
    """Return the words of the usual locale's given names, in lower case."""
    return _lower_words(given_names_of(locales[0]))


@cache
def _known_family(locales: tuple[str, ...]) -> frozenset[str]:
    return _lower_words(family_names_of(locales[0]))


@cache
def _known_towns(country: str) -> frozenset[str]:
    return frozenset(name.lower() for name, _ in towns_by_size(country))


def _lower_words(names: Sequence[str]) -> frozenset[str]:
    return frozenset(word.lower() for name in names for word in _WORD.findall(name))


@cache
def _towns(country: str) -> Pool:
    least = _SMALL_TOWN if country else _LARGE_TOWN
    names, sizes = zip(*towns_by_size(country, least), strict=True)
    return Pool(names, tuple(accumulate(max(size, 1) ** 0.5 for size in sizes)))


@cache
def _without_digits(values: tuple[str, ...]) -> list[str]:
    return [value for value in values if not any(map(str.isdigit, value))]


@cache
def _ending(values: tuple[str, ...], stop: bool) -> list[str]:
    return [value for value in values if value.endswith(".") is stop]
