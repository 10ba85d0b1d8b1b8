"""Values of the patient's record that must not leak, and how each is found in a text.

No pattern is compiled from a value: `re` would keep it for the life of the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from deid_core.document import Address, KnownIdentifiers, PersonName
from deid_core.language.lexicons import (
    forms_of,
    is_ordinary,
    is_vocabulary,
    load_list,
    normal,
)
from deid_core.language.lexicons.word_classes import is_listed
from deid_core.language.plain_text import plain
from deid_core.runtime.text_cache import cached_by_text

_MONTHS = (
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
)
MONTHS = frozenset(_MONTHS) | {name[:3] for name in _MONTHS} | {"sept"}
_PHONE_DIGITS = 10
_SHORTEST_ID = 6
_LONG_ID = 8
_SHORTEST_MISSPELT = 5
_LONGEST_MISSPELT = 40
_KINDS = ("patient name", "kin name", "provider name")
_CACHE_SIZE = 65_536
_VALUES = 4096
_REST = rf"{{{_SHORTEST_MISSPELT - 1},{_LONGEST_MISSPELT - 1}}}+"
_EXTENSION = re.compile(r"\s*(?:x|ext)", re.IGNORECASE)
_CAPITALISED = re.compile(rf"(?<![^\W_])[^\W\d_a-z][^\W\d_]{_REST}(?![^\W_])")
# For ASCII text; parts of words match, too: `_CAPITALISED` then checks the few.
_ASCII_CAPITALISED = re.compile(rf"[A-Z][A-Za-z]{_REST}")


class Form(NamedTuple):
    """The written form of a value: what may be around it and between its parts."""

    before: re.Pattern[str]
    joint: re.Pattern[str]
    after: re.Pattern[str]


def _form(joint: str = "", before: str = r"[^\W_]", after: str = r"[^\W_]") -> Form:
    """Return a form by what joins its parts and what it may not touch."""
    return Form(
        re.compile(rf"(?<!{before})"), re.compile(joint), re.compile(rf"(?!{after})")
    )


def _number(joint: str = "") -> Form:
    """Return a form that is no part of a decimal or of a number with thousands."""
    return Form(
        re.compile(r"(?<![^\W_])(?<!\d[.,])"),
        re.compile(joint),
        re.compile(r"(?![^\W_])(?![.,]\d)"),
    )


_LETTER = r"[^\W\d_]"
_WORD = _form(before=_LETTER, after=_LETTER)
_PAIR = _form("[ ,-]{1,2}", _LETTER, _LETTER)
_PHRASE = _form(r"[ .,'\u2019-]{1,2}")
_STREET = _form(" ")
_EMAIL = _form(before=r"[\w.+%-]")
_ZIP = _number()
_SHORT_ID_FORM = _number("[ -]{0,2}")
_LONG_ID_FORM = _form("[ ./-]{0,2}")
_PHONE = _form("[ ().-]{0,3}")


class Value(NamedTuple):
    """One value of the record.

    Args:
        kind: What it is, for the message.
        needle: A part of every text that holds the value; quick to look for.
        parts: The whole value, in compared form.
        form: How the parts are joined in a text.
    """

    kind: str
    needle: str
    parts: tuple[str, ...]
    form: Form

    def __repr__(self) -> str:
        return f"Value({self.kind!r})"

    @property
    def is_name(self) -> bool:
        """True if it is a person's name."""
        return self.kind in _KINDS

    def spans_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the value is in a text in compared form; without overlaps."""
        start = text.find(self.parts[0])
        while start >= 0:
            end = self._end(text, start)
            if end is not None:
                yield start, end
            start = text.find(self.parts[0], start + 1 if end is None else end)

    def _end(self, text: str, start: int) -> int | None:
        before, joint, after = self.form
        if before.match(text, start) is None:
            return None
        end = start + len(self.parts[0])
        for part in self.parts[1:]:
            # No part begins with a joint's characters: the longest joint is the only.
            joined = joint.match(text, end)
            if joined is None or not text.startswith(part, joined.end()):
                return None
            end = joined.end() + len(part)
        return end if after.match(text, end) else None


class Values(NamedTuple):
    """The values of a record that must not leak.

    Args:
        words: Looked for in text in compared form.
        names: Those of them that are a person's names, as words.
        numbers: Looked for in text without separators, as their needle is.
        full_names: Given name and surname together; what is written small is no name.
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


class ValuesReader:
    """Prepare records for the search.  Thread-safe.

    Each value is prepared once.  It keeps the values seen last; they go with it.
    """

    def __init__(self) -> None:
        self._person = lru_cache(maxsize=_VALUES)(_person)
        self._address = lru_cache(maxsize=_VALUES)(_address)
        self._institution = lru_cache(maxsize=_VALUES)(_institution)
        self._dates = lru_cache(maxsize=_VALUES)(_dates)
        self._email = lru_cache(maxsize=_VALUES)(_email)
        self._id = lru_cache(maxsize=_VALUES)(_id)
        self._phone = lru_cache(maxsize=_VALUES)(_phone)

    def values_of(self, known: KnownIdentifiers) -> Values:
        """Return the values of a record that detection is responsible for."""
        # By needle: who bears a name first says of what kind it is.
        names: dict[str, Value] = {}
        full_names: dict[Value, None] = {}
        for own, full in self._persons(known):
            for value in own:
                names.setdefault(value.needle, value)
            full_names.update(dict.fromkeys(full))
        places = (
            *map(self._address, known.addresses),
            *(self._institution("facility", each) for each in known.facilities),
            *(self._institution("employer", each) for each in known.employers),
        )
        ids = (self._id(each.value) for each in known.ids)
        numbers = (*ids, *map(self._phone, known.phones))
        emails = map(self._email, known.emails)
        return Values(
            words=(
                *names.values(),
                *chain.from_iterable(places),
                *filter(None, emails),
            ),
            names=(*names,),
            numbers=tuple(dict.fromkeys(filter(None, numbers))),
            full_names=(*full_names,),
            birth_dates=frozenset().union(*map(self._dates, known.birth_dates)),
            years=frozenset(f"{each.year % 100:02}" for each in known.birth_dates),
        )

    def _persons(
        self, known: KnownIdentifiers
    ) -> Iterator[tuple[tuple[Value, ...], tuple[Value, ...]]]:
        groups = (known.patient_names, known.kin_names, known.provider_names)
        for kind, names in zip(_KINDS, groups, strict=True):
            for name in names:
                yield self._person(kind, name)


def misspelt_in(names: Iterable[str], kept: Iterable[str]) -> int:
    """Return how many different words of a text are a misspelt name of the record.

    A letter wrong, missing or added, in a capitalised word of five letters or more that
    is no English or clinical word: 0.2 of the NUS system's ratio, at the most.
    """
    tokens = {name for name in names if len(name) >= _SHORTEST_MISSPELT}
    text = " ".join(kept)
    words = filter(_may_be_misspelt, {*_capitalised(text)})
    forms = {word: normal(word) for word in words}
    near = {form for form in {*forms.values()} - tokens if _is_near(tokens, form)}
    if not near:
        return 0
    # Whole words are distinguished from parts only now: most notes do not get here.
    whole = {*_CAPITALISED.findall(text)}
    return len({form for word, form in forms.items() if form in near and word in whole})


def _is_near(tokens: Iterable[str], form: str) -> bool:
    """Return whether a word is at edit distance 1 from a name."""
    size, distance = len(form), Levenshtein.distance
    return any(
        abs(len(token) - size) <= 1 and distance(token, form, score_cutoff=1) == 1
        for token in tokens
    )


def _capitalised(text: str) -> Iterator[str]:
    """Yield the capitalised words that may be misspelt names, and some more."""
    if text.isascii():
        yield from _ASCII_CAPITALISED.findall(text)
        return
    for line in text.split("\n"):
        pattern = _ASCII_CAPITALISED if line.isascii() else _CAPITALISED
        yield from pattern.findall(line)


@cached_by_text(_CACHE_SIZE, keeps=is_listed)
def _may_be_misspelt(word: str) -> bool:
    if word.isupper():
        return False
    form = normal(word)
    return not (is_vocabulary(form) or form in load_list("eponyms"))


def _person(kind: str, name: PersonName) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Return words that are names alone, and pairs that are names only together."""
    parts = map(plain, (name.given, name.middle, name.family))
    given, middle, family = map(_name_words, parts)
    words = dict.fromkeys((*family, *given, *middle))
    own = (w for w in words if len(w) > 2 and not is_ordinary(w))
    pair = (*given[:1], *family[-1:])
    full: tuple[Value, ...] = ()
    if len({*pair}) == 2 and min(map(len, pair)) > 2 and any(map(is_ordinary, pair)):
        longest = max(pair, key=len)
        full = tuple(Value(kind, longest, each, _PAIR) for each in (pair, pair[::-1]))
    return tuple(Value(kind, word, (word,), _WORD) for word in own), full


def _name_words(part: str) -> tuple[str, ...]:
    if not part:
        return ()
    placeholders = load_list("placeholders")
    return tuple(w for w in forms_of(part) if w.isalpha() and w not in placeholders)


def _address(address: Address) -> tuple[Value, ...]:
    cities = (
        city
        for city in _phrase("address", plain(address.city))
        if city.parts[1:] or city.needle not in load_list("word_places")
    )
    return (*cities, *_zip(plain(address.zip)), *_street(plain(address.street)))


def _institution(kind: str, value: str) -> tuple[Value, ...]:
    value = plain(value)
    letters = [word for word in forms_of(value) if word.isalpha()]
    return () if all(map(is_ordinary, letters)) else _phrase(kind, value)


def _phrase(kind: str, value: str) -> tuple[Value, ...]:
    words = forms_of(value)
    has_letters = sum(map(len, words)) > 2 and any(map(str.isalpha, words))
    if not has_letters or load_list("placeholders").issuperset(words):
        return ()
    return (Value(kind, max(words, key=len), words, _PHRASE),)


def _zip(value: str) -> Iterator[Value]:
    digits = value.replace("-", "").replace(" ", "")
    if re.fullmatch(r"[0-9]{5}(?:[0-9]{4})?", digits) and len(set(digits)) > 1:
        yield Value("address", digits[:5], (digits[:5],), _ZIP)


def _street(line: str) -> Iterator[Value]:
    # The house number and the first two words; what comes after varies.
    words = forms_of(line)[:3]
    if len(words) < 3 or not words[0].isdigit() or len(words[1]) < 3:
        return
    if words[1].isalpha() and words[2].isalpha():
        yield Value("address", words[1], words, _STREET)


def _email(email: str) -> Value | None:
    bare = plain(email).strip().lower()
    if "@" not in bare.strip("@ ") or not bare.isascii():
        return None
    return Value("e-mail", bare, (bare,), _EMAIL)


def _id(value: str) -> Value | None:
    key = re.sub(r"[^a-z0-9]", "", normal(plain(value))).lstrip("0")
    if len(key) < _SHORTEST_ID or len(set(key)) < 2 or key.isalpha():
        return None
    form = _SHORT_ID_FORM if len(key) < _LONG_ID else _LONG_ID_FORM
    return Value("id", key, tuple(key), form)


def _phone(phone: str) -> Value | None:
    digits = re.sub(r"[^0-9]", "", _EXTENSION.split(plain(phone), maxsplit=1)[0])
    key = digits[-_PHONE_DIGITS:]
    if len(key) < _PHONE_DIGITS or len(set(key)) < 2 or key[0] == "0":
        return None
    return Value("phone", key, tuple(key), _PHONE)


def _dates(day: date) -> frozenset[tuple[str, str, str]]:
    """Return a date in the orders and forms in which dates are written."""
    return frozenset(_forms(day))


def _forms(day: date) -> Iterator[tuple[str, str, str]]:
    name = _MONTHS[day.month - 1]
    years = (f"{day.year:04}", f"{day.year % 100:02}")
    for month in {str(day.month), f"{day.month:02}", name, name[:3]}:
        for dom in {str(day.day), f"{day.day:02}"}:
            for year in years:
                yield month, dom, year
                yield dom, month, year
            yield years[0], month, dom
            yield years[0], dom, month
