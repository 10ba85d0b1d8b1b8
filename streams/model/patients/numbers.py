"""Digits that identify the patient: no number or code of a message may repeat them.

Systems send identifiers, telephone numbers and birth dates also as measured values, as
they are written by programs: 4829137.0, 4.829137E6, or without leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

SHORTEST = 5
"""Digits of a number that identifies somebody."""
_NATIONAL, _LOCAL = 10, 7
"""Digits of a telephone number without its country code, and without its area code."""
_NO_DIGIT = re.compile(r"\D+")


def numbers_of(
    ids: Iterable[str], phones: Iterable[str], days: Iterable[str]
) -> frozenset[str]:
    """Return the digits of identifiers, telephone numbers and days (YYYY-MM-DD).

    Telephone numbers are there with and without country and area code; zeros that lead
    are not.
    """
    found = [*map(digits_of, (*ids, *days))]
    for each in phones:
        digits = _NO_DIGIT.sub("", each)
        found += [digits[-n:].lstrip("0") for n in (0, _NATIONAL, _LOCAL)]
    return frozenset(each for each in found if len(each) >= SHORTEST)


def digits_of(written: str) -> str:
    """Return the digits of a text, without zeros that lead."""
    return _NO_DIGIT.sub("", written).lstrip("0")


def digits_of_number(written: str) -> str:
    """Return the digits of a number; those of a whole one, however it is written."""
    try:
        number = Decimal(written)
        is_whole = number == number.to_integral_value()
    except InvalidOperation:
        return digits_of(written)
    return digits_of(str(int(number)) if is_whole else written)
