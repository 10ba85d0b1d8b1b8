"""Holidays: when they are, and which of them is near a day."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any

from deid_core.language.lexicons import forms_of
from deid_core.runtime.toml_files import table_of

_NEAR = timedelta(days=4)
_WEEK = 7
_NO_NAME = frozenset({"day", "eve", "s", "new", "st"})


def _fixed(month: int, day: int, year: int) -> date:
    return date(year, month, day)


def _weekday(month: int, weekday: int, number: int, more: int, year: int) -> date:
    """Return the nth weekday of a month, counted from its end if negative."""
    if number > 0:
        first = date(year, month, 1)
        ahead = (weekday - first.weekday()) % _WEEK + _WEEK * (number - 1)
        return first + timedelta(days=ahead + more)
    last = date(year, month, monthrange(year, month)[1])
    back = (last.weekday() - weekday) % _WEEK - _WEEK * (number + 1)
    return last - timedelta(days=back - more)


def _easter(more: int, year: int) -> date:
    """Return a day around Easter Sunday.

    Source: the anonymous Gregorian algorithm (Nature, 20 April 1876; Meeus,
    Astronomical Algorithms, chapter 8).
    """
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    last = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * last) // 451
    month, day = divmod(h + last - 7 * m + 114, 31)
    return date(year, month, day + 1) + timedelta(days=more)


_TABLE = table_of("deid_core.language.lexicons", "holidays")
_RULES: Mapping[str, Callable[[Any], Callable[[int], date]]] = {
    "fixed": lambda row: partial(_fixed, *row),
    "weekday": lambda row: partial(_weekday, *row),
    "easter": lambda days: partial(_easter, days),
}


def _holidays() -> Iterator[tuple[str, Callable[[int], date]]]:
    for kind, rule in _RULES.items():
        for names, row in _TABLE[kind].items():
            yield from ((name, rule(row)) for name in names.split("|"))


HOLIDAYS: Mapping[str, Callable[[int], date]] = dict(_holidays())
"""The date of each holiday, by its name and the year."""


def holiday_near(day: date, name: str) -> tuple[str, date] | None:
    """Return the holiday at most four days from a day, and its date.

    Args:
        day: Of any year.
        name: The holiday to replace; one that shares a word with it does not count.
    """
    around = [
        (abs(at - day), other, at)
        for other in _TABLE["written"]["names"]
        for year in {(day - _NEAR).year, (day + _NEAR).year}
        if abs((at := HOLIDAYS[other.lower()](year)) - day) <= _NEAR
        and not _words(other) & _words(name)
    ]
    return min(around)[1:] if around else None


def _words(name: str) -> set[str]:
    return set(forms_of(name)) - _NO_NAME
