"""The forms in which people write dates, phones and, with a slip, names."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date

SHORTEST_MISSPELT = 5
SHORTEST_TRANSPOSED = 7
LETTERS = "abcdefghijklmnopqrstuvwxyz"


# Not strftime's names: they follow the locale of the process.
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)


def _month(day: date) -> str:
    return MONTHS[day.month - 1]


def _weekday(day: date) -> str:
    return WEEKDAYS[day.weekday()]


def _ordinal(day: int) -> str:
    teens = 10 < day % 100 < 14
    return f"{day}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


DATE_FORMS: tuple[Callable[[date], str], ...] = (
    lambda d: f"{d:%m/%d/%Y}",
    lambda d: f"{d.month}/{d.day}/{d:%y}",
    lambda d: f"{d.month}/{d.day}/{d.year}",
    lambda d: f"{d:%m-%d-%Y}",
    lambda d: f"{d:%Y-%m-%d}",
    lambda d: f"{d:%Y/%m/%d}",
    lambda d: f"{d:%d.%m.%Y}",
    lambda d: f"{_month(d)} {d.day}, {d.year}",
    lambda d: f"{_month(d)[:3]} {d.day}, {d.year}",
    lambda d: f"{_month(d)[:3]}. {d.day}, {d.year}",
    lambda d: f"{d.day} {_month(d)} {d.year}",
    lambda d: f"{d.day:02}-{_month(d)[:3]}-{d.year}",
    lambda d: f"{d.day:02}{_month(d)[:3].upper()}{d.year}",
    lambda d: f"{_month(d)} {_ordinal(d.day)}, {d.year}",
    lambda d: f"{_ordinal(d.day)} of {_month(d)} {d.year}",
    lambda d: f"{_weekday(d)}, {_month(d)} {d.day}, {d.year}",
    lambda d: f"{_weekday(d)[:3]} {d:%m/%d/%y}",
)
"""Whole dates."""

PART_DATE_FORMS: tuple[Callable[[date], str], ...] = (
    lambda d: f"{d.month}/{d.day}",
    lambda d: f"{_month(d)} {d.day}",
    lambda d: f"{_month(d)} {_ordinal(d.day)}",
    lambda d: f"{_month(d)[:3]} {d.day}",
    lambda d: f"{_ordinal(d.day)} of {_month(d)}",
)
"""Dates without a year, for places where a preposition leads to them."""

PHONE_FORMS: tuple[Callable[[str], str], ...] = (
    lambda n: f"({n[:3]}) {n[3:6]}-{n[6:]}",
    lambda n: f"({n[:3]}){n[3:6]}-{n[6:]}",
    lambda n: f"{n[:3]}-{n[3:6]}-{n[6:]}",
    lambda n: f"{n[:3]}.{n[3:6]}.{n[6:]}",
    lambda n: f"{n[:3]} {n[3:6]} {n[6:]}",
    lambda n: f"+1 {n[:3]} {n[3:6]} {n[6:]}",
    lambda n: f"+1-{n[:3]}-{n[3:6]}-{n[6:]}",
    lambda n: n,
)
"""Ways to write the ten digits of a number."""


def misspelt(word: str, rng: random.Random) -> str:
    """Return the word with one slip: a letter wrong, missing, added, or two swapped.

    A swap counts two edits, so that only words of ``SHORTEST_TRANSPOSED`` letters stay
    below the ratio of edits to length of Yuwono, Ng and Ngiam 2016, section 3.1: 0.33.

    Raises:
        ValueError: The word is shorter than ``SHORTEST_MISSPELT``.
    """
    if len(word) < SHORTEST_MISSPELT:
        raise ValueError(f"too short to misspell: {len(word)} letters")
    slips = SLIPS if len(word) >= SHORTEST_TRANSPOSED else SLIPS[:3]
    while True:
        result = rng.choice(slips)(word, rng.randrange(1, len(word) - 1), rng)
        if result not in word and word not in result:
            return result


def _substituted(word: str, at: int, rng: random.Random) -> str:
    return word[:at] + rng.choice(LETTERS) + word[at + 1 :]


def _deleted(word: str, at: int, _rng: random.Random) -> str:
    return word[:at] + word[at + 1 :]


def _inserted(word: str, at: int, rng: random.Random) -> str:
    return word[:at] + rng.choice(LETTERS) + word[at:]


def _transposed(word: str, at: int, _rng: random.Random) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


SLIPS = (_substituted, _deleted, _inserted, _transposed)
