"""The parts of a written date: which number is which, and how each is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Protocol

from .date_forms import MONTHS, ORDINAL_WORDS, WEEKDAYS

Printed = tuple[int, int, str]
"""A range of the text, and what to write there."""

_MOST_MONTH, _MOST_DAY = 12, 31
_SHORT = 3


class Spans(Protocol):
    """What stands where in a written date."""

    @property
    def text(self) -> str:
        """The date as it stands."""
        ...

    @property
    def spans(self) -> dict[str, tuple[int, int]]:
        """Where each part stands."""
        ...


def numbers_in_order(
    spans: dict[str, tuple[int, int]], found: re.Match[str], *, day_first: bool
) -> dict[str, tuple[int, int]]:
    """Return the spans with ``n1 n2 n3`` as year, month and day."""
    if "n1" not in spans:
        return spans
    numbers = [name for name in ("n1", "n2", "n3") if name in spans]
    names = _order([found[name] for name in numbers], day_first)
    rest = {name: span for name, span in spans.items() if name not in numbers}
    ordered = zip(names, numbers, strict=False)
    return rest | {name: spans[number] for name, number in ordered}


def _order(numbers: list[str], day_first: bool) -> tuple[str, ...]:
    values = [int(number) for number in numbers]
    year_first = len(numbers[0]) == 4 or (len(values) == 3 and _is_year(values[0]))
    if year_first and len(values) == 3:
        return ("y", "d", "m") if values[1] > _MOST_MONTH else ("y", "m", "d")
    first, second = values[:2]
    if first > _MOST_MONTH or (day_first and second <= _MOST_MONTH):
        return ("d", "m", "y")
    return ("m", "d", "y")


def _is_year(value: int) -> bool:
    return value > _MOST_DAY or value == 0


def shows_day_first(numbers: tuple[str, str]) -> bool | None:
    """Return what two leading numbers show of the order; None if they fit both."""
    first, second = map(int, numbers)
    if first > _MOST_DAY or second > _MOST_DAY or (first <= 12) is (second <= 12):
        return None
    return first > _MOST_MONTH


def print_field(name: str, text: str, day: date, whole: Spans) -> str:
    """Return one part of another date, as this one is written.

    Args:
        name: Which part; see `date_forms`.
        text: The part as it stands.
        day: The other date.
        whole: All parts of the date as it stands.
    """
    return _PRINTERS[name](text, day, whole)


def weekday_name(text: str, days: int) -> str:
    """Return the weekday so many days later, in the format of this one."""
    old = next(at for at, name in enumerate(WEEKDAYS) if text.lower()[:2] == name[:2])
    new = WEEKDAYS[(old + days) % len(WEEKDAYS)]
    return cased(text, new if text.lower() in WEEKDAYS else new[:_SHORT])


def ordinal_ending(number: int) -> str:
    """Return "st", "nd", "rd" or "th"."""
    if 11 <= number % 100 <= 13:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def month_name(text: str, month: int, whole: Spans) -> str:
    """Return a month's name, long or short, in the case of another."""
    name = MONTHS[month - 1]
    is_short = text.lower() != "may" and text.lower() not in MONTHS
    if text.lower() == "may":
        # It is its own abbreviation: what stands beside it tells.
        start, end = whole.spans["mon"]
        beside = whole.text[start - 1 : start] + whole.text[end : end + 1]
        is_short = bool(re.search(r"[-./0-9]", beside))
    return cased(text, name[:_SHORT] if is_short else name)


def cased(like: str, text: str) -> str:
    """Return a text in the case of another: UPPER, lower or Title."""
    if like.islower():
        return text
    return text.upper() if like.isupper() else text.capitalize()


def _year(text: str, day: date, _: Spans) -> str:
    return f"{day.year % 100:02}" if len(text) == 2 else f"{day.year:04}"


def _ordinal_word(text: str, day: date, _: Spans) -> str:
    new = ORDINAL_WORDS[day.day - 1]
    return cased(text, new.replace("-", " ") if " " in text else new)


def _season(text: str, day: date, _: Spans) -> str:
    autumn = "autumn" if text.lower() == "autumn" else "fall"
    return cased(text, ("winter", "spring", "summer", autumn)[day.month % 12 // 3])


def _number(value: int, text: str, whole: Spans) -> str:
    return f"{value:02}" if _is_padded(text, whole) else str(value)


def _is_padded(text: str, whole: Spans) -> bool:
    """Return whether numbers have two digits: this date's own tell, if they can."""
    numbers = [
        whole.text[slice(*span)] for name, span in whole.spans.items() if name in "md"
    ]
    if any(number[0] == "0" for number in numbers):
        return True
    if any(len(number) == 1 for number in numbers):
        return False
    # Both have two digits.  In words nobody writes "January 05"; else the width stays.
    start, end = whole.spans.get("mon", (0, 0))
    gap = whole.text[end : end + 1] + whole.text[max(0, start - 1) : start]
    return not ("mon" in whole.spans and " " in gap)


_PRINTERS: dict[str, Callable[[str, date, Spans], str]] = {
    "y": _year,
    "m": lambda text, day, whole: _number(day.month, text, whole),
    "d": lambda text, day, whole: _number(day.day, text, whole),
    "o": lambda text, day, _: cased(text, ordinal_ending(day.day)),
    "mon": lambda text, day, whole: month_name(text, day.month, whole),
    "q": lambda text, day, _: str((day.month + 2) // 3),
    "word": _ordinal_word,
    "season": _season,
}
