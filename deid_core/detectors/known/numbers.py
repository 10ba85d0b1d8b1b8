"""Ids and phone numbers: letters and digits, whatever stands between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...document import KnownIdentifiers
from ...labels import Label
from ...lexicons import is_ordinary, load_list

MIN_ID = 4
_LOCAL_DIGITS = 7
_LONGEST_GAP = 3
_LONG_ID = 8
_FREE_STANDING = 6
_YEAR_LIKE = re.compile(r"(?:19|20)\d\d")
_EXTENSION = re.compile(r"\s*(?:x|ext|ext\.|extension)\s*\d+\s*$", re.IGNORECASE)
_PREFIX = re.compile(
    r"(?:(?:(?:\+|\b00)\d{1,3}|(?<![\w.])1)[ .\-]{0,2}(?:\(0\)[ ]?)?)?[(+]?$"
)
_LOCAL = re.compile(r"\d{3}[-. \u2010-\u2013]\d{4}")

# By code point; the last entry stands for all that lie beyond it.
_BEYOND = 0x3001
_KEPT: NDArray[np.bool_] = np.array(
    [chr(code).isalnum() for code in range(128)] + [True] * (_BEYOND - 127)
)
_KEPT[[0xA0, 0x202F, 0x3000, *range(0x2000, 0x2016)]] = False


class Number(NamedTuple):
    """An id or a phone number in compared form: lower case, no separators."""

    key: str
    label: Label
    is_phone: bool

    @property
    def needle(self) -> str:
        """What the text must hold, or there is no need to look closer."""
        return self.key[-_LOCAL_DIGITS:] if self.is_phone else self.key

    def __repr__(self) -> str:
        return "Number()"


@dataclass(frozen=True, slots=True, repr=False)
class Numbers:
    """All ids and phone numbers of a record, the longest first."""

    numbers: tuple[Number, ...]

    @classmethod
    def of(cls, known: KnownIdentifiers) -> Numbers:
        """Prepare the numbers of a record; placeholders are left out."""
        ids = (Number(_id_key(i.value), i.label, False) for i in known.ids)
        phones = (Number(phone_key(p), Label.PHONE, True) for p in known.phones)
        wanted = {
            *(each for each in ids if is_telling_id(each.key)),
            *(each for each in phones if each.key),
        }
        return cls(tuple(sorted(wanted, key=lambda each: (-len(each.key), each.key))))

    def find(self, text: str) -> Iterator[tuple[Number, int, int]]:
        """Yield each number found and its half-open range."""
        if not self.numbers:
            return
        squeezed = Squeezed(text)
        for number in self.numbers:
            if number.needle not in squeezed.squeezed:
                continue
            find = _phones if number.is_phone else _ids
            for start, end in find(squeezed, number.key):
                yield number, start, end


class Squeezed:
    """A text without its separators, in lower case, and the way back to its offsets."""

    __slots__ = ("_kept", "_offsets", "squeezed", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        codes, encoding = _codes(text)
        self._kept = _KEPT[codes if codes.itemsize == 1 else codes.clip(max=_BEYOND)]
        kept = codes[self._kept].tobytes().decode(encoding, "surrogatepass")
        self.squeezed = same_length_lower(kept)
        self._offsets: NDArray[np.intp] | None = None

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Offset in the text of each squeezed character; most notes never ask."""
        if self._offsets is None:
            self._offsets = np.flatnonzero(self._kept)
        return self._offsets

    def occurrences(self, key: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the squeezed text that hold the key, overlaps too."""
        start = self.squeezed.find(key)
        while start >= 0:
            yield start, start + len(key)
            start = self.squeezed.find(key, start + 1)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the text for a range of the squeezed text."""
        return int(self.offsets[start]), int(self.offsets[end - 1]) + 1

    def is_tight(self, start: int, end: int) -> bool:
        """Return whether no gap in the range is longer than is usual in a number."""
        if end - start < 2:
            return True
        steps = self.offsets[start + 1 : end] - self.offsets[start : end - 1]
        return int(steps.max()) <= _LONGEST_GAP + 1


def same_length_lower(text: str) -> str:
    """Return the text in lower case where that keeps every character at its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


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


def _id_key(value: str) -> str:
    squeezed = Squeezed(value).squeezed
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
    if end - start < _FREE_STANDING:
        return between.isdigit()
    # "12/31/24" is a date and "1234.56" a result, not the id 123124 or 123456.
    return end - start >= _LONG_ID or not ("." in between or "/" in between)


def is_bounded(
    text: str, start: int, end: int, *, free_standing: int = _FREE_STANDING
) -> bool:
    """Return whether a number does not go on at either side.

    A letter beside a digit is an end ("MRN123456"), except for short numbers: those of
    fewer characters than ``free_standing``.
    """
    before = _kind(text[start - 1]) if start else ""
    after = _kind(text[end]) if end < len(text) else ""
    if end - start < free_standing and (before or after):
        return False
    if before == _kind(text[start]) or after == _kind(text[end - 1]):
        return False
    return not _is_decimal_part(text, start, end)


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    # A combining accent belongs to its letter.
    is_letter = character.isalpha() or "\u0300" <= character <= "\u036f"
    return "letter" if is_letter else ""


def _is_decimal_part(text: str, start: int, end: int) -> bool:
    if end - start >= _LONG_ID:
        return False
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return (before[-1:] in {".", ","} and before[:1].isdigit()) or (
        after[:1] in {".", ","} and after[1:].isdigit()
    )


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


def _codes(text: str) -> tuple[NDArray[np.uint8] | NDArray[np.uint32], str]:
    """Return the code points of a text and the encoding that gives them."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8), "ascii"
    # A lone surrogate is a character like any other here.
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype=np.uint32), "utf-32-le"
