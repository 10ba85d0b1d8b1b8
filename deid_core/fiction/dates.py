"""Dates as people write them, from patterns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from deid_core.language import fragments

# Not strftime's names, which follow the locale of the process.
MONTHS = tuple(map(str.capitalize, fragments.MONTHS))
WEEKDAYS = tuple(map(str.capitalize, fragments.WEEKDAYS))


def write_date(day: date, pattern: str, months: Sequence[str] = MONTHS) -> str:
    """Return a date in a pattern of `str.format`, e.g. ``{m:02}/{d:02}/{y}``.

    Args:
        day: What to write.
        pattern: Fields are ``d``, ``m``, ``y``, ``yy``, ``month``, ``MONTH``,
            ``weekday`` and ``nth``, e.g. ``3rd``.
        months: In the language of the pattern.
    """
    month = months[day.month - 1]
    return pattern.format(
        d=day.day,
        m=day.month,
        y=day.year,
        yy=day.year % 100,
        month=month,
        MONTH=month.upper(),
        weekday=WEEKDAYS[day.weekday()],
        nth=f"{day.day}{ordinal_ending(day.day)}",
    )


def ordinal_ending(number: int) -> str:
    """Return "st", "nd", "rd" or "th"."""
    if 11 <= number % 100 <= 13:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
