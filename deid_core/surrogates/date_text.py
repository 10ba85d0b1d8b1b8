"""Read a date as it is written, and write another day in the same way."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from ..language.fragments import to_ascii
from .date_fields import Printed, numbers_in_order, print_field, weekday_name
from .date_forms import (
    FORMS,
    MONTHS,
    ORDINAL_WORDS,
    SEASONS,
    WEEKDAY_ALONE,
    WEEKDAYS,
    Form,
    Grain,
)
from .holidays import HOLIDAYS, holiday_near

PIVOT = 50
"""Years of two digits below are of this century, the others of the last.  Only the
leap day of 1900 depends on it."""

_MID_MONTH = 15
_MID_YEAR = (7, 1)
_COMMON_YEAR = 2001
_AROUND = (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6)
"""Some year of these has any weekday on any day but the leap day."""
_EARLIEST, _LATEST = 1800, 2199


@dataclass(frozen=True, slots=True)
class DateText:
    """A date as it is written.

    Args:
        text: As it stands.
        form: Which one.
        spans: Where each part stands, by the names of `date_forms`.
        year: None if the text has none.
        month: Likewise.
        day: Likewise; a middle one if the form is coarser.
    """

    text: str = field(repr=False)
    form: Form
    spans: dict[str, tuple[int, int]] = field(repr=False)
    year: int | None = field(repr=False)
    month: int = field(repr=False)
    day: int = field(repr=False)

    @property
    def has_long_year(self) -> bool:
        """Whether the year is written in four digits."""
        start, end = self.spans.get("y", (0, 0))
        return end - start == 4

    def meant(self, anchor: date | None = None) -> date | None:
        """Return the day that is meant; None if the calendar has no such day.

        Args:
            anchor: Without a year, the one nearest to this day is meant; without an
                anchor, a year without a leap day.  A weekday's name goes before either.
        """
        if self.year is not None:
            return self._in(self.year)
        middle = anchor.year if anchor else _COMMON_YEAR
        # Two leap days are at most eight years apart.
        steps = _AROUND if "wd" in self.spans else _AROUND[:9]
        days = [day for step in steps if (day := self._in(middle + step))]
        if anchor is not None:
            days.sort(key=lambda day: abs(day - anchor))
        return next((day for day in days if self._fits(day)), days[0] if days else None)

    def written(self, other: date, weekdays: int) -> str:
        """Return the text with another day, in the same format.

        Args:
            other: What to write.
            weekdays: By how many days a weekday's name moves.
        """
        if self.form.grain is Grain.HOLIDAY:
            return self._as_holiday(other)
        pieces: list[Printed] = []
        for name, (start, end) in self.spans.items():
            part = self.text[start:end]
            if name == "wd":
                pieces.append((start, end, weekday_name(part, weekdays)))
            else:
                pieces.append((start, end, print_field(name, part, other, self)))
        return spliced(self.text, pieces)

    def _in(self, year: int) -> date | None:
        if "holiday" in self.spans:
            return HOLIDAYS[self._part("holiday")](year)
        return _date(year, self.month, self.day)

    def _fits(self, day: date) -> bool:
        weekday = self._part("wd")
        return not weekday or WEEKDAYS[day.weekday()][:2] == weekday[:2]

    def _part(self, name: str) -> str:
        return to_ascii(self.text[slice(*self.spans.get(name, (0, 0)))]).lower()

    def _as_holiday(self, other: date) -> str:
        """Return the holiday that is near a day, else its month and day."""
        start, end = self.spans["holiday"]
        near = holiday_near(other, self._part("holiday"))
        name, day = near or (
            f"{MONTHS[other.month - 1].capitalize()} {other.day}",
            other,
        )
        if "y" in self.spans:
            end = self.spans["y"][1]
            name = f"{name} {day.year}" if near else f"{name}, {day.year}"
        name = name.upper() if self.text.isupper() else name
        return self.text[:start] + name + self.text[end:]


def read(text: str, *, day_first: bool) -> DateText | None:
    """Return the date that a text is as a whole; None if it is none.

    Args:
        text: An annotation.
        day_first: Whether 3/4 is the third of April.
    """
    folded = to_ascii(text).replace("\t", " ")
    for form in FORMS:
        found = form.pattern.fullmatch(folded)
        if found and (each := read_as(text, form, found, day_first=day_first)):
            return each
    return None


def is_weekday(text: str) -> DateText | None:
    """Return a weekday's name that stands alone."""
    found = WEEKDAY_ALONE.pattern.fullmatch(to_ascii(text))
    if found is None:
        return None
    return DateText(text, WEEKDAY_ALONE, {"wd": found.span("wd")}, None, 1, 1)


def spliced(text: str, pieces: list[Printed]) -> str:
    """Return the text with ranges replaced."""
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def long_year(written: str) -> int:
    """Return the year of two or four digits."""
    year = int(written)
    if len(written) == 4:
        return year
    return year + (2000 if year < PIVOT else 1900)


def read_as(
    text: str, form: Form, found: re.Match[str], *, day_first: bool
) -> DateText | None:
    """Return the date that a form found; None if the calendar has no such day."""
    spans = {
        name: found.span(name)
        for name in found.re.groupindex
        if name != "s" and found[name] is not None
    }
    spans = numbers_in_order(spans, found, day_first=day_first)
    parts = {
        name: found.string[start:end].lower() for name, (start, end) in spans.items()
    }
    year = long_year(parts["y"]) if "y" in parts else None
    if year is not None and not _EARLIEST <= year <= _LATEST:
        return None
    month, day = _month_and_day(parts)
    written = DateText(text, form, spans, year, month, day)
    return written if 1 <= month <= 12 and written.meant() is not None else None


def _month_and_day(parts: dict[str, str]) -> tuple[int, int]:
    if "season" in parts:
        return SEASONS[parts["season"]]
    if "holiday" in parts:
        return _MID_YEAR
    if "q" in parts:
        return 3 * int(parts["q"]) - 1, _MID_MONTH
    if "m" in parts:
        month = int(parts["m"])
    elif "mon" in parts:
        short = parts["mon"][:3]
        month = 1 + next(at for at, name in enumerate(MONTHS) if name.startswith(short))
    else:
        return _MID_YEAR
    if "word" in parts:
        return month, 1 + ORDINAL_WORDS.index(parts["word"].replace(" ", "-"))
    return month, int(parts.get("d", _MID_MONTH))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
