"""The values of a record that must not survive, and the pattern that finds each.

Only for `verify`; it shares the word lists with the detectors, but none of their code.
Patterns are made from a value only when its needle is in the text: most never are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from .document import KnownIdentifiers, PersonName
from .lexicons import forms_of, is_ordinary, load_list, normal

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
        numbers: Sought in normalised text; the needle without its separators.
        full_names: Sought in the text as it stands: case matters.
        birth_dates: Three parts of a date, in the orders in which dates are written.
        years: Two digits that every written birth date holds.
    """

    words: tuple[Value, ...]
    numbers: tuple[Value, ...]
    full_names: tuple[Value, ...]
    birth_dates: frozenset[tuple[str, str, str]]
    years: frozenset[str]

    def __repr__(self) -> str:
        return "Values()"


@lru_cache(maxsize=_MAX_RECORDS)
def values_of(known: KnownIdentifiers) -> Values:
    """Return the values of a record that detection is responsible for."""
    words = (*_names(known), *_places(known), *_emails(known))
    return Values(
        words=tuple(dict.fromkeys(words)),
        numbers=tuple(dict.fromkeys((*_ids(known), *_phones(known)))),
        full_names=tuple(dict.fromkeys(_full_names(known))),
        birth_dates=frozenset(f for each in known.birth_dates for f in _forms(each)),
        years=frozenset(f"{each.year % 100:02}" for each in known.birth_dates),
    )


def _people(known: KnownIdentifiers) -> Iterator[tuple[str, PersonName]]:
    for name in known.patient_names:
        yield "patient name", name
    for name in known.kin_names:
        yield "kin name", name
    for name in known.provider_names:
        yield "provider name", name


@lru_cache(maxsize=_CACHE_SIZE)
def _name_words(part: str) -> tuple[str, ...]:
    placeholders = load_list("placeholders")
    return tuple(w for w in forms_of(part) if w.isalpha() and w not in placeholders)


def _names(known: KnownIdentifiers) -> Iterator[Value]:
    for kind, name in _people(known):
        for part in (name.family, name.given, name.middle):
            for word in _name_words(part):
                if len(word) > 2 and not is_ordinary(word):
                    yield Value(kind, word, (word,), _word)


def _full_names(known: KnownIdentifiers) -> Iterator[Value]:
    for kind, name in _people(known):
        given, family = _name_words(name.given)[:1], _name_words(name.family)[-1:]
        # The others are sought one by one.
        is_weak = any(map(is_ordinary, given + family))
        if is_weak and given != family and min(map(len, (given + family) or [""])) > 2:
            for pair in ((*given, *family), (*family, *given)):
                if len(pair) == 2:
                    yield Value(kind, max(pair, key=len), pair, _pair)


def _places(known: KnownIdentifiers) -> Iterator[Value]:
    for address in known.addresses:
        for city in _phrase("address", address.city):
            if city.words[1:] or city.needle not in load_list("word_places"):
                yield city
        yield from _zip(address.zip)
        yield from _street(address.street)
    for facility in known.facilities:
        yield from _institution("facility", facility)
    for employer in known.employers:
        yield from _institution("employer", employer)


def _institution(kind: str, value: str) -> list[Value]:
    letters = [word for word in forms_of(value) if word.isalpha()]
    return [] if all(map(is_ordinary, letters)) else _phrase(kind, value)


def _phrase(kind: str, value: str) -> list[Value]:
    words = forms_of(value)
    is_telling = sum(map(len, words)) > 2 and any(map(str.isalpha, words))
    if not is_telling or load_list("placeholders").issuperset(words):
        return []
    return [Value(kind, max(words, key=len), words, _run)]


def _zip(value: str) -> Iterator[Value]:
    digits = re.sub(r"[\s-]", "", value)
    if re.fullmatch(r"[0-9]{5}(?:[0-9]{4})?", digits) and len(set(digits)) > 1:
        yield Value("address", digits[:5], (digits[:5],), _short_number)


def _street(line: str) -> Iterator[Value]:
    # The house number and the first two words; what comes after varies.
    words = forms_of(line)[:3]
    if len(words) < 3 or not words[0].isdigit() or len(words[1]) < 3:
        return
    if words[1].isalpha() and words[2].isalpha():
        yield Value("address", words[1], words, _line)


def _emails(known: KnownIdentifiers) -> Iterator[Value]:
    for email in known.emails:
        bare = email.strip().lower()
        if "@" in bare.strip("@ ") and bare.isascii():
            yield Value("e-mail", bare, (bare,), _email)


def _ids(known: KnownIdentifiers) -> Iterator[Value]:
    for each in known.ids:
        key = re.sub(r"[^a-z0-9]", "", normal(each.value)).lstrip("0")
        if len(key) >= 6 and len(set(key)) > 1 and not key.isalpha():
            yield Value("id", key, tuple(key), _long_id if len(key) > 7 else _short_id)


def _phones(known: KnownIdentifiers) -> Iterator[Value]:
    for each in known.phones:
        digits = re.sub(r"[^0-9]", "", re.split(r"(?i)\s*(?:x|ext)", each)[0])
        key = digits[-_PHONE_DIGITS:]
        if len(key) == _PHONE_DIGITS and len(set(key)) > 1 and key[0] != "0":
            yield Value("phone", key, tuple(key), _phone)


def _forms(day: date) -> Iterator[tuple[str, str, str]]:
    name = _MONTHS[day.month - 1]
    year, short = f"{day.year:04}", f"{day.year % 100:02}"
    for month in {str(day.month), f"{day.month:02}", name, name[:3]}:
        for dom in {str(day.day), f"{day.day:02}"}:
            yield from ((month, dom, year), (month, dom, short))
            yield from ((dom, month, year), (dom, month, short))
            yield from ((year, month, dom), (year, dom, month))


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
