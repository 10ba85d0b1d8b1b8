"""Given names and surnames: of the US census, and of some fifty cultures.

The census lists of the ``names`` package tell how many bear a name; Faker's lists add
names from Iceland to South Africa.  All in compared form, in Latin letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import names
from faker.providers import person

from .normal import normal

_GIVEN_PER_FAMILY = 0.05
_LATIN = re.compile(r"[a-z]{2,}")
# Lists whose entries are titles or languages, or rules for composing names.
_NO_NAMES = re.compile("format|prefix|suffix|language|title")


@cache
def given_names() -> frozenset[str]:
    """Return the given names, in compared form."""
    return frozenset(_given_shares()) | _faker()[0]


@cache
def family_names() -> frozenset[str]:
    """Return the surnames, in compared form."""
    return frozenset(_family_shares()) | _faker()[1]


def is_mostly_given(word: str) -> bool:
    """Return whether a given name, in compared form, is not far more a surname.

    Smith, Mayo and Jackson are given names, too; one in twenty is asked for.
    """
    given = _given_shares().get(word, 0.0)
    family = _family_shares().get(word, 0.0)
    return given >= family * _GIVEN_PER_FAMILY or word in _faker()[0] - _faker()[1]


@cache
def _given_shares() -> dict[str, float]:
    shares: dict[str, float] = {}
    for key in ("first:male", "first:female"):
        for word, share in _census(key):
            shares[word] = max(share, shares.get(word, 0.0))
    return shares


@cache
def _family_shares() -> dict[str, float]:
    return dict(_census("last"))


def _census(key: str) -> Iterator[tuple[str, float]]:
    with open(names.FILES[key], encoding="ascii") as lines:
        for line in lines:
            word, percent, *_ = line.lower().split()
            yield word, float(percent)


@cache
def _faker() -> tuple[frozenset[str], frozenset[str]]:
    given: set[str] = set()
    family: set[str] = set()
    for module in iter_modules(person.__path__):
        provider = import_module(f"{person.__name__}.{module.name}").Provider
        for attribute, values in _lists_of(provider):
            target = family if "last" in attribute else given
            target.update(_compared(values))
    return frozenset(given), frozenset(family)


def _lists_of(provider: type) -> Iterator[tuple[str, Iterator[object]]]:
    # What a locale does not set itself comes from its parent, or is no list of names.
    for attribute in vars(provider):
        value = getattr(provider, attribute)
        if "name" not in attribute or _NO_NAMES.search(attribute):
            continue
        if isinstance(value, tuple | list | dict):
            yield attribute, iter(value)


def _compared(values: Iterator[object]) -> Iterator[str]:
    for value in values:
        # Some locales give pairs of the native and the Latin form.
        forms = value if isinstance(value, tuple) else (value,)
        for form in forms:
            if isinstance(form, str):
                yield from filter(_LATIN.fullmatch, _parts(form))


def _parts(name: str) -> list[str]:
    return normal(name).replace("-", " ").replace("'", "").split()
