"""The values of a record that must not survive, and the pattern that finds each.

Only for `verify`; it shares the word lists with the detectors, but none of their code.
Patterns are made from a value only when its needle is in the text: most never are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from ..document import Address, KnownIdentifiers, PersonName, with_changed_values
from ..language.lexicons import forms_of, is_ordinary, load_list, normal
from ..language.plain_text import plain

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MAX_RECORDS = 1024
_CACHE_SIZE = 16_384
_PHONE_DIGITS = 10
_SHORTEST_ID = 6
_LONG_ID = 8
_KINDS = ("patient name", "kin name", "provider name")


class Value(NamedTuple):
    """One value of the record.

    Args:
        kind: What it is, for the message.
        needle: Without it in the text, the value cannot be there either.
        words: The whole value.
        pattern: Makes of the words what is certain.
    """

    kind: str
    needle: str
    words: tuple[str, ...]
    pattern: Callable[[tuple[str, ...]], str]

    def __repr__(self) -> str:
        return f"Value({self.kind!r})"


class Values(NamedTuple):
    """A record, as what to look for.

    Args:
        words: Sought in normalised text.
        names: Those of them that name somebody, as words.
        numbers: Sought in normalised text; the needle without its separators.
        full_names: Sought in the text as it stands: case matters.
        birth_dates: Three parts of a date, in the orders in which dates are written.
        years: Two digits that every written birth date holds.
    """

    words: tuple[Value, ...]
    names: tuple[str, ...]
    numbers: tuple[Value, ...]
    full_names: tuple[Value, ...]
    birth_dates: frozenset[tuple[str, str, str]]
    years: frozenset[str]

    def __repr__(self) -> str:
        return "Values()"


@lru_cache(maxsize=_MAX_RECORDS)
def values_of(known: KnownIdentifiers) -> Values:
    """Return the values of a record that detection is responsible for."""
    known = with_changed_values(known, plain)
    names, full_names = _names(known)
    emails = tuple(filter(None, map(_email_value, known.emails)))
    ids = filter(None, (_id(each.value) for each in known.ids))
    phones = filter(None, map(_phone_value, known.phones))
    return Values(
        words=(*names, *_places(known), *emails),
        names=tuple(each.needle for each in names),
        numbers=tuple(dict.fromkeys((*ids, *phones))),
        full_names=full_names,
        birth_dates=frozenset().union(*map(_forms, known.birth_dates)),
        years=frozenset(f"{each.year % 100:02}" for each in known.birth_dates),
    )


def _names(known: KnownIdentifiers) -> tuple[Iterable[Value], tuple[Value, ...]]:
    groups = (known.patient_names, known.kin_names, known.provider_names)
    # By needle: who bears a name first says of what kind it is.
    words: dict[str, Value] = {}
    full_names: dict[Value, None] = {}
    for kind, names in zip(_KINDS, groups, strict=True):
        for name in names:
            own, full = _person(kind, name)
            for value in own:
                words.setdefault(value.needle, value)
            full_names.update(dict.fromkeys(full))
    return words.values(), tuple(full_names)


# The providers of a hospital are in the records of all of its patients.
@lru_cache(maxsize=_CACHE_SIZE)
def _person(kind: str, name: PersonName) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Return the words that name somebody, and names that only do so together."""
    given, middle, family = map(_name_words, (name.given, name.middle, name.family))
    words = dict.fromkeys((*family, *given, *middle))
    own = (w for w in words if len(w) > 2 and not is_ordinary(w))
    pair = (*given[:1], *family[-1:])
    full: tuple[Value, ...] = ()
    if len({*pair}) == 2 and min(map(len, pair)) > 2 and any(map(is_ordinary, pair)):
        # The others are sought one by one.
        longest = max(pair, key=len)
        full = tuple(Value(kind, longest, each, _pair) for each in (pair, pair[::-1]))
    return tuple(Value(kind, word, (word,), _word) for word in own), full


def _name_words(part: str) -> tuple[str, ...]:
    if not part:
        return ()
    placeholders = load_list("placeholders")
    return tuple(w for w in forms_of(part) if w.isalpha() and w not in placeholders)


def _places(known: KnownIdentifiers) -> Iterator[Value]:
    for address in known.addresses:
        yield from _address(address)
    for facility in known.facilities:
        yield from _institution("facility", facility)
    for employer in known.employers:
        yield from _institution("employer", employer)


@lru_cache(maxsize=_CACHE_SIZE)
def _address(address: Address) -> tuple[Value, ...]:
    city = _phrase("address", address.city)
    if city and not city[0].words[1:] and city[0].needle in load_list("word_places"):
        city = ()
    return (*city, *_zip(address.zip), *_street(address.street))


@lru_cache(maxsize=_CACHE_SIZE)
def _institution(kind: str, value: str) -> tuple[Value, ...]:
    letters = [word for word in forms_of(value) if word.isalpha()]
    return () if all(map(is_ordinary, letters)) else _phrase(kind, value)


def _phrase(kind: str, value: str) -> tuple[Value, ...]:
    words = forms_of(value)
    is_telling = sum(map(len, words)) > 2 and any(map(str.isalpha, words))
    if not is_telling or load_list("placeholders").issuperset(words):
        return ()
    return (Value(kind, max(words, key=len), words, _run),)


def _zip(value: str) -> Iterator[Value]:
    digits = value.replace("-", "").replace(" ", "")
    if re.fullmatch(r"[0-9]{5}(?:[0-9]{4})?", digits) and len(set(digits)) > 1:
        yield Value("address", digits[:5], (digits[:5],), _short_number)


def _street(line: str) -> Iterator[Value]:
    # The house number and the first two words; what comes after varies.
    words = forms_of(line)[:3]
    if len(words) < 3 or not words[0].isdigit() or len(words[1]) < 3:
        return
    if words[1].isalpha() and words[2].isalpha():
        yield Value("address", words[1], words, _line)


@lru_cache(maxsize=_CACHE_SIZE)
def _email_value(email: str) -> Value | None:
    bare = email.strip().lower()
    if "@" not in bare.strip("@ ") or not bare.isascii():
        return None
    return Value("e-mail", bare, (bare,), _email)


@lru_cache(maxsize=_CACHE_SIZE)
def _id(value: str) -> Value | None:
    key = re.sub(r"[^a-z0-9]", "", normal(value)).lstrip("0")
    if len(key) < _SHORTEST_ID or len(set(key)) < 2 or key.isalpha():
        return None
    return Value("id", key, tuple(key), _short_id if len(key) < _LONG_ID else _long_id)


@lru_cache(maxsize=_CACHE_SIZE)
def _phone_value(phone: str) -> Value | None:
    digits = re.sub(r"[^0-9]", "", re.split(r"(?i)\s*(?:x|ext)", phone, maxsplit=1)[0])
    key = digits[-_PHONE_DIGITS:]
    if len(key) < _PHONE_DIGITS or len(set(key)) < 2 or key[0] == "0":
        return None
    return Value("phone", key, tuple(key), _phone)


@lru_cache(maxsize=_CACHE_SIZE)
def _forms(day: date) -> frozenset[tuple[str, str, str]]:
    name = _MONTHS[day.month - 1]
    years = (f"{day.year:04}", f"{day.year % 100:02}")
    months = {str(day.month), f"{day.month:02}", name, name[:3]}
    days = {str(day.day), f"{day.day:02}"}
    orders = ((m, d) for m in months for d in days)
    return frozenset(
        form
        for month, dom in orders
        for form in (
            *((month, dom, year) for year in years),
            *((dom, month, year) for year in years),
            (years[0], month, dom),
            (years[0], dom, month),
        )
    )


def _word(words: tuple[str, ...]) -> str:
    return rf"(?<![^\W\d_])({re.escape(words[0])})(?![^\W\d_])"


def _pair(words: tuple[str, ...]) -> str:
    return rf"(?<![^\W\d_])({words[0]})[ ,-]{{1,2}}({words[1]})(?![^\W\d_])"


def _run(words: tuple[str, ...]) -> str:
    inner = r"[ .,'\u2019-]{1,2}".join(words)
    return rf"(?<![^\W_])(?:{inner})(?![^\W_])"


def _line(words: tuple[str, ...]) -> str:
    return rf"(?<![^\W_])(?:{' '.join(words)})(?![^\W_])"


def _email(words: tuple[str, ...]) -> str:
    return rf"(?<![\w.+%-]){re.escape(words[0])}(?![^\W_])"


def _short_number(words: tuple[str, ...]) -> str:
    return _undivided("".join(words))


def _short_id(words: tuple[str, ...]) -> str:
    return _undivided(r"[ -]{0,2}".join(words))


def _long_id(words: tuple[str, ...]) -> str:
    return rf"(?<![^\W_])(?:{r'[ ./-]{0,2}'.join(words)})(?![^\W_])"


def _phone(words: tuple[str, ...]) -> str:
    return rf"(?<![^\W_])(?:{r'[ ().-]{0,3}'.join(words)})(?![^\W_])"


def _undivided(inner: str) -> str:
    # Not as one part of a decimal number or of one with thousands' commas.
    return rf"(?<![^\W_])(?<!\d[.,])(?:{inner})(?![^\W_])(?![.,]\d)"
