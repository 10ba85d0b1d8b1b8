"""Ids and phone numbers: whole, and by their ends where the note says what they are."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deid_core.document import KnownId
from deid_core.labels import Label
from deid_core.language.lexicons import is_ordinary, load_list

from .note import Note, Word
from .without_separators import FREE_STANDING, LONG_ID, WithoutSeparators, is_bounded

MIN_ID = 4
_LOCAL_DIGITS = 7
_YEAR_LIKE = re.compile(r"(?:19|20)\d\d")
_EXTENSION = re.compile(r"\s*(?:x|ext|ext\.|extension)\s*\d+\s*$", re.IGNORECASE)
_PREFIX = re.compile(
    r"(?:(?:(?:\+|\b00)\d{1,3}|(?<![\w.])1)[ .\-]{0,2}(?:\(0\)[ ]?)?)?[(+]?$"
)
_LOCAL = re.compile(r"\d{3}[-. \u2010-\u2013]?\d{4}")
_SHORTEST_ID = 3
_TAIL = 4
_SHORTEST_WITH_TAIL = 7
_TAIL_CUES = frozenset({"ending", "ends", "last", "final"})
_OF_SSN = frozenset({"ssn", "ss", "social", "soc"})
_TAIL_REACH = 6
# From its first character on, so that a long gap is walked through once.
_END_OF_GAP = re.compile(r"(?<![-\s*\u2022#])[-\s*\u2022#]++\Z")
_MASK = re.compile(r"[*\u2022#]{2}")
_LABEL_GAP = re.compile(r"[ :#.\t]{0,4}")
_IN_BETWEEN = frozenset({"number", "no", "num", "nr", "id", "is"})
_NO_DIGITS = bytes(code for code in range(256) if chr(code) not in string.digits)


class Number(NamedTuple):
    """An id or a phone number.

    Args:
        key: Its compared form: lower case, no separators.
        needle: A part of every text that holds it; quick to look for.
        label: What it is.
        is_phone: It is no id.
    """

    key: str
    needle: str
    label: Label
    is_phone: bool

    def __repr__(self) -> str:
        return "Number()"


class IdForms(NamedTuple):
    """An id, prepared; what identifies nobody is left out.

    Args:
        label: What it is.
        number: The whole id.
        tail: Its last four digits, or "".
        short: The id, if alone it could be anything, or "".
    """

    label: Label
    number: Number | None
    tail: str
    short: str

    def __repr__(self) -> str:
        return "IdForms()"

    @classmethod
    def of(cls, known: KnownId) -> IdForms:
        """Prepare an id."""
        key, label = id_key(known.value), known.label
        number = Number(key, key, label, False) if is_identifying_id(key) else None
        if len(key) >= _SHORTEST_WITH_TAIL:
            tail = key[-_TAIL:]
            return cls(label, number, tail if tail.isdecimal() else "", "")
        return cls(label, number, "", key if _is_short(key) else "")


def phone_of(phone: str) -> Number | None:
    """Prepare a phone number; None if it identifies nobody."""
    key = phone_key(phone)
    return Number(key, key[-_LOCAL_DIGITS:], Label.PHONE, True) if key else None


@dataclass(frozen=True, slots=True, repr=False)
class Numbers:
    """All ids and phone numbers of a record, the longest first."""

    numbers: tuple[Number, ...]

    @classmethod
    def of(cls, numbers: Iterable[Number]) -> Numbers:
        """Prepare the numbers of a record."""
        return cls(
            tuple(sorted({*numbers}, key=lambda each: (-len(each.key), each.key)))
        )

    def find(self, note: Note) -> Iterator[tuple[Number, int, int]]:
        """Yield each number found and its half-open range."""
        # A value of digits alone is in the run of all digits, which is short.
        digits = digits_of(note.text)
        numbers = [each for each in self.numbers if _may_hold(digits, each.needle)]
        if not numbers:
            return
        kept = WithoutSeparators(note.text)
        for number in numbers:
            if number.needle not in kept.characters:
                continue
            find = _phones if number.is_phone else _ids
            for start, end in find(kept, number.key):
                yield number, start, end


def digits_of(text: str) -> str:
    """Return the digits of ASCII in a text, run together."""
    # UTF-8 writes nothing else with the bytes of ASCII.
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


def is_identifying_id(key: str) -> bool:
    """Return whether an id identifies somebody.

    Not so: fewer than four characters, one digit repeated, placeholders and words.
    """
    if len(key) < MIN_ID or len(set(key)) == 1 or _YEAR_LIKE.fullmatch(key):
        return False
    return not (
        key.isalpha() and (key in load_list("placeholders") or is_ordinary(key))
    )


def id_key(value: str) -> str:
    """Return the letters and digits of an id, small, without leading zeros."""
    key = value.lower() if value.isalnum() else WithoutSeparators(value).characters
    bare = key.lstrip("0")
    return bare if len(bare) >= MIN_ID else key


def _ids(kept: WithoutSeparators, key: str) -> Iterator[tuple[int, int]]:
    for start, end in kept.occurrences(key):
        first = start
        while first and kept.characters[first - 1] == "0" and key[0].isdigit():
            first -= 1
        for begin in {first, start}:
            span = kept.span(begin, end)
            if _is_id(kept, begin, end, span):
                yield span


def _is_id(
    kept: WithoutSeparators, start: int, end: int, span: tuple[int, int]
) -> bool:
    text = kept.text
    if not (kept.is_tight(start, end) and is_bounded(text, *span)):
        return False
    if not kept.characters[start:end].isdigit():
        return True
    between = text[span[0] : span[1]]
    if end - start < FREE_STANDING:
        return between.isdigit()
    # "12/31/24" is a date and "1234.56" a result, not the id 123124 or 123456.
    return end - start >= LONG_ID or not ("." in between or "/" in between)


def _phones(kept: WithoutSeparators, key: str) -> Iterator[tuple[int, int]]:
    for start, end in kept.occurrences(key):
        span = _with_country_code(kept, start, end)
        if span and kept.is_tight(start, end):
            yield span
    for start, end in kept.occurrences(key[-_LOCAL_DIGITS:]):
        begin, stop = kept.span(start, end)
        is_local = _LOCAL.fullmatch(kept.text, begin, stop)
        if is_local and is_bounded(kept.text, begin, stop):
            yield begin, stop


def _with_country_code(
    kept: WithoutSeparators, start: int, end: int
) -> tuple[int, int] | None:
    text = kept.text
    for first in range(start, max(-1, start - 5), -1):
        if first < start and not kept.characters[first].isdigit():
            return None
        begin, stop = kept.span(first, end)
        if is_bounded(text, begin, stop):
            prefix = _PREFIX.search(text[max(0, begin - 10) : begin])
            return begin - (len(prefix[0]) if prefix else 0), stop
    return None


@dataclass(frozen=True, slots=True, repr=False)
class Labelled:
    """The last digits of ids, and ids that alone could be anything.

    Args:
        tails: The last four digits: their label.
        ids: Ids of three characters or like a year: their label.
        keys: The compared forms that must be located in a note.
    """

    tails: dict[str, Label]
    ids: dict[str, Label]
    keys: frozenset[str]

    @classmethod
    def of(cls, ids: Iterable[IdForms]) -> Labelled:
        """Prepare the ids of a record."""
        tails: dict[str, Label] = {}
        short: dict[str, Label] = {}
        for each in ids:
            if each.tail:
                tails.setdefault(each.tail, each.label)
            if each.short:
                short.setdefault(each.short, each.label)
        return cls(tails, short, frozenset({*tails, *short}))

    def find(
        self, note: Note, located: Iterable[Word]
    ) -> Iterator[tuple[int, int, Label]]:
        """Yield each part found: a half-open range and its label.

        Args:
            note: Where to look.
            located: Hold all occurrences of ``keys``.
        """
        for word in located:
            label = self.tails.get(word.normal)
            if label and _is_tail(note, word, label):
                yield word.start, word.end, label
            label = self.ids.get(word.normal)
            if label and _is_labelled(note, word):
                yield word.start, word.end, label


def _is_short(key: str) -> bool:
    if len(key) < _SHORTEST_ID or not any(map(str.isdecimal, key)):
        return False
    is_one_word = key.isdecimal() or key.isalpha()
    return is_one_word and len(key) <= MIN_ID and not is_identifying_id(key)


def _is_tail(note: Note, word: Word, label: Label) -> bool:
    gap = note.gap(word.at)
    behind = note.gap(word.at + 1)[:1]
    if not gap or (not behind and word.at + 1 < len(note)):
        return False
    before = note.forms(note.clause(word.at, _TAIL_REACH).start, word.at)
    if _ends_with_mask(gap) or (before and set(before[-1]) == {"x"} and "-" in gap):
        return True
    if label is Label.SSN and before and before[-1] in _OF_SSN:
        return not gap.strip(" :#")
    return not _TAIL_CUES.isdisjoint(before[-4:])


def _ends_with_mask(gap: str) -> bool:
    """Return whether digits are hidden right before: "***-**-"."""
    end = _END_OF_GAP.search(gap)
    return end is not None and _MASK.search(end[0]) is not None


def _is_labelled(note: Note, word: Word) -> bool:
    at = word.at
    for _ in range(2):
        if not at or not _LABEL_GAP.fullmatch(note.gap(at)):
            return False
        at -= 1
        if note.form(at) in load_list("id_cues"):
            return True
        if note.form(at) not in _IN_BETWEEN:
            return False
    return False
