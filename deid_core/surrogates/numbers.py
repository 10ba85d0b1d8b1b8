"""Surrogates of numbers in the same format: digit for digit, letter for letter.

A number is its letters and digits without leading zeros: other separators, other case
and missing zeros give the same digits again.  North American phone numbers become ones
that are reserved for fiction, 555-0100 to 555-0199 in any area (ATIS-0300115); of other
international ones the country code stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase

from deid_core.fiction.numbers import AREA_CODES, FICTIONAL_LINE
from deid_core.labels import Label

from .crosswalk import TRIES, Crosswalk
from .real import number_key, without_separators

_SOCIAL_SECURITY = re.compile(r"\s*\d{3}([- ])\d{2}\1\d{4}\s*")
_SSN_DIGITS = 9
_LAST_DIGITS = 4
_MOST_GROUPS = 49
_EXTENSION = re.compile(r"(?i)[ ,;]{0,2}(?:x|ext(?:ension)?\.?)[ :#]{0,2}(?=\d)")
_INTERNATIONAL = re.compile(r"\s*\+\s*(?!1\b)(\d{1,3})(?=[ ().-])")
_LOCAL, _NATIONAL, _WITH_CODE = 7, 10, 11


def number(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another number of the same format; None for what holds no digit."""
    key = number_key(text)
    if not any(map(str.isdigit, key)):
        return None
    if _is_social_security(crosswalk, key, text):
        return social_security(crosswalk, label, text)
    other = other_number(crosswalk, "number", key, text)
    return other and in_format(text, other)


def social_security(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return a number that is never issued: areas 900 to 999 (SSA, POMS RM 10201.035).

    Groups 01 to 49 keep it clear of the IRS's taxpayer numbers, too.  The last four
    digits, which often occur alone, are the same there as in the whole number.
    """
    key = without_separators(text)
    if not is_plain(text) or not key.isdigit():
        return None
    if len(key) not in (_SSN_DIGITS, _LAST_DIGITS):
        other = other_number(crosswalk, "number", key.lstrip("0"), text)
        return other and in_format(text, other)
    for counter in range(TRIES):
        last = _drawn(crosswalk, "ssn last", key[-_LAST_DIGITS:], counter)
        other = last
        if len(key) == _SSN_DIGITS:
            draws = crosswalk.draws
            area = 900 + draws.number("ssn area", key, counter, below=100)
            group = 1 + draws.number("ssn group", key, counter, below=_MOST_GROUPS)
            other = f"{area}{group:02}{last}"
        if other != key and crosswalk.is_free_number(other):
            return in_format(text, other, skip_zeros=False)
    return None


def phone(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another phone number in the same format, its extension as well."""
    cut = _EXTENSION.search(text)
    if cut is None:
        return _main_number(crosswalk, label, text)
    start = text[: cut.start()]
    # A bare extension: "x4821".
    main = _main_number(crosswalk, label, start) if start.strip() else start
    tail = text[cut.end() :]
    extension = other_number(
        crosswalk, "extension", without_separators(tail).lstrip("0"), tail
    )
    if main is None or extension is None:
        return None
    return main + cut[0] + in_format(tail, extension)


def other_number(crosswalk: Crosswalk, kind: str, key: str, text: str) -> str | None:
    """Return another number for a key; None if it is empty or none is free.

    Args:
        crosswalk: The patient's.
        kind: Of value.
        key: Letters and digits without leading zeros.
        text: As it is written, to see that the other is free in that form.
    """
    if not key or not is_plain(text):
        return None
    for counter in range(TRIES):
        other = _drawn(crosswalk, kind, key, counter)
        if other != key and crosswalk.is_free_number(in_format(text, other)):
            return other
    return None


def is_plain(text: str) -> bool:
    """Return whether all letters and digits are ASCII: one stays one when compared."""
    return all(map(str.isascii, filter(str.isalnum, text)))


def in_format(text: str, core: str, *, skip_zeros: bool = True) -> str:
    """Return the text with the core's letters and digits in place of its own.

    Leading zeros stay, unless the core has characters for them.
    """
    following: Iterator[str] = iter(core)
    is_leading = skip_zeros
    written = []
    for character in text:
        is_leading = is_leading and (character == "0" or not character.isalnum())
        if is_leading or not character.isalnum():
            written.append(character)
        else:
            other = next(following)
            written.append(other.upper() if character.isupper() else other)
    return "".join(written)


def _drawn(crosswalk: Crosswalk, kind: str, key: str, counter: int) -> str:
    drawn = crosswalk.draws.numbers(kind, key, counter, count=len(key))
    return "".join(
        _like(character, value, is_first=at == 0)
        for at, (character, value) in enumerate(zip(key, drawn, strict=True))
    )


def _like(character: str, value: int, *, is_first: bool) -> str:
    if character.isalpha():
        return ascii_lowercase[value % 26]
    # A first digit that is no zero stays none.
    if is_first and character != "0":
        return str(1 + value % 9)
    return str(value % 10)


def _is_social_security(crosswalk: Crosswalk, key: str, text: str) -> bool:
    if _SOCIAL_SECURITY.fullmatch(text):
        return True
    ids = crosswalk.document.known.ids
    return any(
        each.label is Label.SSN and number_key(each.value) == key for each in ids
    )


def _main_number(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    digits = without_separators(text)
    if not is_plain(text) or not digits.isdigit():
        return number(crosswalk, label, text)
    is_national = len(digits) in (_LOCAL, _NATIONAL) and "+" not in text
    if is_national or (len(digits) == _WITH_CODE and digits[0] == "1"):
        return _north_american(crosswalk, digits, text)
    code = _INTERNATIONAL.match(text)
    start = code.end() if code else 0
    rest = number(crosswalk, label, text[start:])
    return rest and text[:start] + rest


def _north_american(crosswalk: Crosswalk, digits: str, text: str) -> str | None:
    """Return a fictional number; its last seven digits depend only on those."""
    draws, local, national = crosswalk.draws, digits[-_LOCAL:], digits[-_NATIONAL:]
    code = digits[:-_NATIONAL]
    for counter in range(TRIES):
        line = draws.number("phone", local, counter, below=100)
        other = f"{FICTIONAL_LINE}{line:02}"
        if len(digits) > _LOCAL:
            at = draws.number("area", national, counter, below=len(AREA_CODES))
            other = AREA_CODES[at] + other
        if other != national and crosswalk.is_free_number(other):
            return in_format(text, code + other, skip_zeros=False)
    return None
