"""Ids and phone numbers: letters and digits, whatever stands between them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deid_core.document import KnownIdentifiers
from deid_core.labels import Label
from deid_core.language.lexicons import is_ordinary, load_list

from .note import Note
from .without_separators import FREE_STANDING, LONG_ID, Squeezed, is_bounded

MIN_ID = 4
_LOCAL_DIGITS = 7
_YEAR_LIKE = re.compile(r"(?:19|20)\d\d")
_EXTENSION = re.compile(r"\s*(?:x|ext|ext\.|extension)\s*\d+\s*$", re.IGNORECASE)
_PREFIX = re.compile(
    r"(?:(?:(?:\+|\b00)\d{1,3}|(?<![\w.])1)[ .\-]{0,2}(?:\(0\)[ ]?)?)?[(+]?$"
)
_LOCAL = re.compile(r"\d{3}[-. \u2010-\u2013]?\d{4}")
_NO_DIGITS = bytes(code for code in range(256) if chr(code) not in string.digits)


class Number(NamedTuple):
    """An id or a phone number.

    Args:
        key: Its compared form: lower case, no separators.
        needle: What the text must hold, or there is no need to look closer.
        label: What it is.
        is_phone: It is no id.
    """

    key: str
    needle: str
    label: Label
    is_phone: bool

    def __repr__(self) -> str:
        return "Number()"


@dataclass(frozen=True, slots=True, repr=False)
class Numbers:
    """All ids and phone numbers of a record, the longest first."""

    numbers: tuple[Number, ...]

    @classmethod
    def of(cls, known: KnownIdentifiers) -> Numbers:
        """Prepare the numbers of a record; placeholders are left out."""
        ids = ((id_key(each.value), each.label) for each in known.ids)
        phones = filter(None, map(phone_key, known.phones))
        wanted = {
            *(Number(k, k, label, False) for k, label in ids if is_telling_id(k)),
            *(Number(k, k[-_LOCAL_DIGITS:], Label.PHONE, True) for k in phones),
        }
        return cls(tuple(sorted(wanted, key=lambda each: (-len(each.key), each.key))))

    def find(self, note: Note) -> Iterator[tuple[Number, int, int]]:
        """Yield each number found and its half-open range."""
        # What is of digits alone stands in the digits run together, which are few.
        digits = digits_of(note.text)
        numbers = [each for each in self.numbers if _may_hold(digits, each.needle)]
        if not numbers:
            return
        squeezed = Squeezed(note.text)
        for number in numbers:
            if number.needle not in squeezed.squeezed:
                continue
            find = _phones if number.is_phone else _ids
            for start, end in find(squeezed, number.key):
                yield number, start, end


def digits_of(text: str) -> str:
    """Return the digits of ASCII in a text, run together."""
    # Of UTF-8, bytes that are ASCII stand for nothing else.
    return text.encode("utf-8", "surrogatepass").translate(None, _NO_DIGITS).decode()


def _may_hold(digits: str, needle: str) -> bool:
    return needle in digits or not (needle.isascii() and needle.isdecimal())


def phone_key(phone: str) -> str:
    """Return the digits that every way of writing the number shares; "" if too few.

    Without extension, country code and trunk zero: the last ten digits.
    """
    digits = re.sub(r"\D", "", _EXTENSION.sub("", phone))
    key = digits[-10:] if len(digits) > 10 else digits.lstrip("0")
    return key if len(key) >= _LOCAL_DIGITS and len(set(key)) > 1 else ""


def is_telling_id(key: str) -> bool:
    """Return whether an id says who someone is.

    Not so: fewer than four characters, one digit repeated, placeholders and words.
    """
    if len(key) < MIN_ID or len(set(key)) == 1 or _YEAR_LIKE.fullmatch(key):
        return False
    return not (
        key.isalpha() and (key in load_list("placeholders") or is_ordinary(key))
    )


def id_key(value: str) -> str:
    """Return the letters and digits of an id, small, without leading zeros."""
    squeezed = value.lower() if value.isalnum() else Squeezed(value).squeezed
    bare = squeezed.lstrip("0")
    return bare if len(bare) >= MIN_ID else squeezed


def _ids(squeezed: Squeezed, key: str) -> Iterator[tuple[int, int]]:
    for start, end in squeezed.occurrences(key):
        first = start
        while first and squeezed.squeezed[first - 1] == "0" and key[0].isdigit():
            first -= 1
        for begin in {first, start}:
            span = squeezed.span(begin, end)
            if _is_id(squeezed, begin, end, span):
                yield span


def _is_id(squeezed: Squeezed, start: int, end: int, span: tuple[int, int]) -> bool:
    text = squeezed.text
    if not (squeezed.is_tight(start, end) and is_bounded(text, *span)):
        return False
    if not squeezed.squeezed[start:end].isdigit():
        return True
    between = text[span[0] : span[1]]
    if end - start < FREE_STANDING:
        return between.isdigit()
    # "12/31/24" is a date and "1234.56" a result, not the id 123124 or 123456.
    return end - start >= LONG_ID or not ("." in between or "/" in between)


def _phones(squeezed: Squeezed, key: str) -> Iterator[tuple[int, int]]:
    for start, end in squeezed.occurrences(key):
        span = _with_country_code(squeezed, start, end)
        if span and squeezed.is_tight(start, end):
            yield span
    for start, end in squeezed.occurrences(key[-_LOCAL_DIGITS:]):
        begin, stop = squeezed.span(start, end)
        bare = _LOCAL.fullmatch(squeezed.text, begin, stop)
        if bare and is_bounded(squeezed.text, begin, stop):
            yield begin, stop


def _with_country_code(
    squeezed: Squeezed, start: int, end: int
) -> tuple[int, int] | None:
    text = squeezed.text
    for first in range(start, max(-1, start - 5), -1):
        if first < start and not squeezed.squeezed[first].isdigit():
            return None
        begin, stop = squeezed.span(first, end)
        if is_bounded(text, begin, stop):
            prefix = _PREFIX.search(text[max(0, begin - 10) : begin])
            return begin - (len(prefix[0]) if prefix else 0), stop
    return None
