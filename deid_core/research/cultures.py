"""Given names and surnames by locale: Faker's lists, in Latin letters if it can."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from random import Random

from faker.providers import BaseProvider

from deid_core.errors import ConfigError
from deid_core.fiction.gender import Gender

_NAME = re.compile(r"[^\W\d_]+(?:['\u2019 -][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Pool:
    """Values to draw from.

    Args:
        values: In an order that never changes.
        cumulative: Running sums of their weights; None if all weigh the same.
    """

    values: tuple[str, ...] = field(repr=False)
    cumulative: tuple[float, ...] | None = field(default=None, repr=False)

    def draw(self, chance: Random) -> str:
        """Return one value."""
        return self.sample(chance, 1)[0]

    def sample(self, chance: Random, count: int) -> list[str]:
        """Return so many values, the same one perhaps twice."""
        return chance.choices(self.values, cum_weights=self.cumulative, k=count)


@dataclass(frozen=True, slots=True)
class Culture:
    """Given names and surnames that go together."""

    given: Mapping[Gender, Pool]
    family: Pool

    @classmethod
    def of(
        cls,
        female: Iterable[str],
        male: Iterable[str],
        family: Iterable[str],
        choose: Callable[[Iterable[str]], tuple[str, ...]],
    ) -> Culture:
        """Return a culture of those names that `choose` returns."""
        pools = [Pool(choose(each)) for each in (female, male, family)]
        given = dict(zip((Gender.FEMALE, Gender.MALE), pools, strict=False))
        return cls(given, pools[2])


def culture_of(
    locale: str, choose: Callable[[Iterable[str]], tuple[str, ...]]
) -> Culture:
    """Return Faker's names of a locale, romanised where it has them so."""
    person = faker_person(locale)
    lists = (
        ("first_romanized_names_female", "first_names_female", "first_names"),
        ("first_romanized_names_male", "first_names_male", "first_names"),
        ("last_romanized_names", "unisex_last_names", "last_names"),
    )
    female, male, family = (
        filter(is_latin_name, map(str, _first_list(person, each))) for each in lists
    )
    return Culture.of(female, male, family, choose)


@cache
def given_names_of(locale: str) -> list[str]:
    """Return Faker's given names of a locale, each once, sorted."""
    person = faker_person(locale)
    kinds = ("", "_male", "_female")
    lists = [getattr(person, f"first_names{kind}", ()) for kind in kinds]
    # Some locales have a property there instead of names.
    held = (names for names in lists if isinstance(names, Collection))
    return sorted({name for names in held for name in names})


@cache
def family_names_of(locale: str) -> list[str]:
    """Return Faker's surnames of a locale, each once, sorted."""
    return sorted({*getattr(faker_person(locale), "last_names", ())})


@cache
def faker_person(locale: str) -> type[BaseProvider]:
    """Return Faker's provider of persons of a locale.

    Raises:
        ConfigError: Faker has none.
    """
    try:
        module = import_module(f"faker.providers.person.{locale}")
    except ModuleNotFoundError:
        raise ConfigError(f"Faker has no person for locale {locale!r}") from None
    found: type[BaseProvider] = module.Provider
    return found


def is_latin_name(text: str) -> bool:
    """Return whether a text is a name in Latin letters."""
    return _NAME.fullmatch(text) is not None and all(
        unicodedata.name(letter).startswith("LATIN")
        for letter in text
        if letter.isalpha()
    )


def _first_list(person: type, attributes: tuple[str, ...]) -> Iterable[object]:
    found = (getattr(person, each, None) for each in attributes)
    return next(each for each in found if each)
