"""Named days: when they are, and which is near another day.

Of those that a moon or a church moves, only Easter is reckoned; for the others a day in
the middle of where they fall stands, so that intervals are right to some two weeks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from ..language.lexicons import forms_of

_NEAR = timedelta(days=4)
_WEEK = 7
_MONDAY, _THURSDAY, _SUNDAY = 0, 3, 6
_NO_NAME = frozenset({"day", "eve", "s", "new", "st"})


@dataclass(frozen=True, slots=True)
class _Fixed:
    month: int
    day: int

    def __call__(self, year: int) -> date:
        return date(year, self.month, self.day)


def _nth(month: int, weekday: int, number: int, year: int, more: int = 0) -> date:
    """Return the nth weekday of a month, or some days after it."""
    first = date(year, month, 1)
    ahead = (weekday - first.weekday()) % _WEEK
    return first + timedelta(days=ahead + _WEEK * (number - 1) + more)


def _last_monday_of_may(year: int) -> date:
    last = date(year, 5, 31)
    return last - timedelta(days=last.weekday())


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


_CHRISTMAS, _NEW_YEAR = _Fixed(12, 25), _Fixed(1, 1)
_THANKSGIVING = partial(_nth, 11, _THURSDAY, 4)
_VALENTINE, _PATRICK = _Fixed(2, 14), _Fixed(3, 17)
_PRESIDENTS = partial(_nth, 2, _MONDAY, 3)
_MOTHER = partial(_nth, 5, _SUNDAY, 2)
_FATHER = partial(_nth, 6, _SUNDAY, 3)
_VETERANS = _Fixed(11, 11)

HOLIDAYS: Mapping[str, Callable[[int], date]] = {
    "christmas eve": _Fixed(12, 24),
    "christmas day": _CHRISTMAS,
    "christmas": _CHRISTMAS,
    "xmas": _CHRISTMAS,
    "boxing day": _Fixed(12, 26),
    "new year's eve": _Fixed(12, 31),
    "new years eve": _Fixed(12, 31),
    "new year's day": _NEW_YEAR,
    "new years day": _NEW_YEAR,
    "new year's": _NEW_YEAR,
    "new years": _NEW_YEAR,
    "new year": _NEW_YEAR,
    "mlk day": partial(_nth, 1, _MONDAY, 3),
    "groundhog day": _Fixed(2, 2),
    "valentine's day": _VALENTINE,
    "valentines day": _VALENTINE,
    "presidents day": _PRESIDENTS,
    "presidents' day": _PRESIDENTS,
    "president's day": _PRESIDENTS,
    "st. patrick's day": _PATRICK,
    "st patrick's day": _PATRICK,
    "mardi gras": partial(_easter, -47),
    "ash wednesday": partial(_easter, -46),
    "palm sunday": partial(_easter, -7),
    "good friday": partial(_easter, -2),
    "easter": partial(_easter, 0),
    "easter sunday": partial(_easter, 0),
    "easter monday": partial(_easter, 1),
    "pentecost": partial(_easter, 49),
    "cinco de mayo": _Fixed(5, 5),
    "mother's day": _MOTHER,
    "mothers day": _MOTHER,
    "memorial day": _last_monday_of_may,
    "father's day": _FATHER,
    "fathers day": _FATHER,
    "juneteenth": _Fixed(6, 19),
    "independence day": _Fixed(7, 4),
    "fourth of july": _Fixed(7, 4),
    "labor day": partial(_nth, 9, _MONDAY, 1),
    "columbus day": partial(_nth, 10, _MONDAY, 2),
    "halloween": _Fixed(10, 31),
    "veterans day": _VETERANS,
    "veterans' day": _VETERANS,
    "veteran's day": _VETERANS,
    "thanksgiving": _THANKSGIVING,
    "thanksgiving day": _THANKSGIVING,
    "black friday": partial(_nth, 11, _THURSDAY, 4, more=1),
    "cyber monday": partial(_nth, 11, _THURSDAY, 4, more=4),
    "kwanzaa": _Fixed(12, 29),
    "purim": _Fixed(3, 12),
    "passover": _Fixed(4, 12),
    "rosh hashanah": _Fixed(9, 20),
    "yom kippur": _Fixed(9, 29),
    "sukkot": _Fixed(10, 5),
    "hanukkah": _Fixed(12, 15),
    "chanukah": _Fixed(12, 15),
    "diwali": _Fixed(10, 30),
    "deepavali": _Fixed(10, 30),
    "lunar new year": _Fixed(2, 5),
    "chinese new year": _Fixed(2, 5),
}
"""When each holiday is, by its name and the year."""

_WRITTEN = (
    *("New Year's Day", "Valentine's Day", "Presidents' Day", "St. Patrick's Day"),
    *("Easter", "Cinco de Mayo", "Mother's Day", "Memorial Day", "Juneteenth"),
    *("Independence Day", "Labor Day", "Columbus Day", "Halloween", "Veterans Day"),
    *("Thanksgiving", "Christmas"),
)


def holiday_near(day: date, name: str) -> tuple[str, date] | None:
    """Return the holiday that is at most four days away from a day, and its own day.

    Args:
        day: Of any year.
        name: A holiday in whose place it is to stand: not the same, nor one of it.
    """
    around = [
        (abs(at - day), other, at)
        for other in _WRITTEN
        for year in {(day - _NEAR).year, (day + _NEAR).year}
        if abs((at := HOLIDAYS[other.lower()](year)) - day) <= _NEAR
        and not _words(other) & _words(name)
    ]
    return min(around)[1:] if around else None


def _words(name: str) -> set[str]:
    return set(forms_of(name)) - _NO_NAME
