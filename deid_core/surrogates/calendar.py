"""The calendar of one note, by which its dates are read: order, century, anchor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from deid_core.labels import Label
from deid_core.language.fragments import to_ascii

from .ages import OLDEST, is_over_89
from .date_text import BETWEEN, DateText, Grain, read, shows_day_first
from .real import Found

_LEADING_NUMBERS = re.compile(r"\D*?([0-9]{1,2})[ ]?[-/._:, ][ ]?([0-9]{1,2})(?![0-9])")
RELEASED = 2026
"""The year of this release.  The library reads no clock: a note is taken to be no older
than the latest year that it shows, and this one."""

NEVER = date(2099, 12, 31)
"""The end date of orders without an end."""

_CENTURY = 100
_LONGEST = 160
_AHEAD, _AHEAD_AT_MOST = 1, 9
_LONG_YEAR = re.compile(r"(?<![0-9])(?:1[89]|2[01])[0-9]{2}(?![0-9])")
_BIRTH = re.compile(
    r"(?:\bdob|d\.o\.b|\bborn|\bbirth[a-z]*|\byob|\bb\.)(?:\W|\b(?:on|in|is|was|the)\b)*\Z",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[0-9][ ]?\.[ ]?[0-9]{1,2}[ ]?\.")


@dataclass(frozen=True, slots=True)
class Calendar:
    """The calendar by which the dates of one note are read.

    Args:
        day_first: Whether 3/4 is the third of April.
        dotted_day_first: Whether 3.4.2024 is.
        anchor: The last full date of the note, for days without a year.
        this_year: The latest year of the note, at least that of the release.
        shown_year: The latest four-digit year of a full date, births apart; None
            without any.
        births: Dates that follow "born", "DOB".
        has_old_age: Whether the note holds an age over 89.
    """

    day_first: bool = False
    dotted_day_first: bool = True
    anchor: date | None = field(default=None, repr=False)
    this_year: int = RELEASED
    shown_year: int | None = field(default=None, repr=False)
    births: frozenset[str] = field(default=frozenset(), repr=False)
    has_old_age: bool = False

    @classmethod
    def of(cls, values: Sequence[Found], day_first: bool | None) -> Calendar:
        """Return the calendar of a note.

        Args:
            values: Of the note, dates and others.
            day_first: If None, a day over 12 decides, unless another contradicts it.
                Without any, the day comes first between dots only.
        """
        dates = [each for each in values if each.label is Label.DATE]
        texts = [each.text for each in dates]
        if day_first is None:
            dotted: list[str] = []
            others: list[str] = []
            for text in texts:
                (dotted if _DOTTED.search(to_ascii(text)) else others).append(text)
            order = cls(_shown(others, unless=False), _shown(dotted, unless=True))
        else:
            order = cls(day_first, day_first)
        births = frozenset(f.text for f in dates if _BIRTH.search(f.before))
        found = [each for text in texts if (each := order.read(text))]
        shown = _long_years(f for f in found if _is_full(f) and f.text not in births)
        return replace(
            order,
            anchor=_anchor(found),
            this_year=max((RELEASED, *_long_years(found), *_years_written(texts))),
            shown_year=max(shown, default=None),
            births=births,
            has_old_age=any(
                each.label is Label.AGE and is_over_89(each.text) for each in values
            ),
        )

    def read(self, text: str) -> DateText | None:
        """Return the date that the whole text is, or None."""
        is_dotted = _DOTTED.search(to_ascii(text)) is not None
        day_first = self.dotted_day_first if is_dotted else self.day_first
        return read(text, day_first=day_first)

    def ends_of(self, text: str) -> tuple[DateText, str, DateText] | None:
        """Return both dates of a range and the text between them, or None."""
        if len(text) > _LONGEST:
            return None
        for between in BETWEEN.finditer(to_ascii(text)):
            left = self.read(text[: between.start()])
            right = self.read(text[between.end() :])
            if left is not None and right is not None:
                return left, text[between.start() : between.end()], right
        return None

    def reveals_old_age(self, text: str, births: Iterable[date]) -> bool:
        """Return whether a person born at a date is over 89, or will soon be.

        Args:
            text: A date.
            births: Birth dates of the record.
        """
        latest = self.this_year - OLDEST - 1
        return any(year <= latest for year in self._years(text, births))

    def _years(self, text: str, births: Iterable[date]) -> Iterator[int]:
        """Yield the years of a date, a range or any other text with years."""
        yield from map(int, _LONG_YEAR.findall(to_ascii(text)))
        single = self.read(text)
        if single is not None:
            parts = [single]
        else:
            ends = self.ends_of(text)
            parts = [ends[0], ends[2]] if ends else []
        for part in parts:
            if part.year is None or part.has_long_year:
                yield from () if part.year is None else (part.year,)
                continue
            yield self._short_year(part.year, is_birth=text in self.births)
            yield from (
                day.year
                for day in births
                if (day.month, day.day) == (part.month, part.day)
                and day.year % _CENTURY == part.year % _CENTURY
            )

    def _short_year(self, year: int, *, is_birth: bool) -> int:
        """Return the year of two digits, of this century unless that is far ahead."""
        if is_birth:
            # '24 is not this year in a note about a person of 100.
            latest = (self.shown_year or self.this_year) - (
                OLDEST + 1 if self.has_old_age else 0
            )
        elif self.has_old_age:
            latest = self.this_year
        else:
            latest = self.this_year + (_AHEAD if self.shown_year else _AHEAD_AT_MOST)
        return latest - (latest - year) % _CENTURY


def _is_full(each: DateText) -> bool:
    return each.form.grain is Grain.DAY and each.year is not None


def _long_years(found: Iterable[DateText]) -> Iterator[int]:
    for each in found:
        if each.has_long_year and each.year and each.resolve() != NEVER:
            yield each.year


def _years_written(texts: Iterable[str]) -> Iterator[int]:
    for text in texts:
        years = _LONG_YEAR.findall(to_ascii(text))
        yield from (int(year) for year in years if int(year) != NEVER.year)


def _shown(texts: list[str], *, unless: bool) -> bool:
    shown = {shows_day_first(pair) for text in texts for pair in _pairs(text)} - {None}
    return shown == {True} if len(shown) == 1 else unless


def _pairs(text: str) -> list[tuple[str, str]]:
    found = _LEADING_NUMBERS.match(to_ascii(text))
    return [(found[1], found[2])] if found else []


def _anchor(found: list[DateText]) -> date | None:
    full = [each for each in found if _is_full(each)]
    # Years of two digits only without longer ones: '45 may be 1945 or 2045.
    chosen = [each for each in full if each.has_long_year] or full
    return max((day for each in chosen if (day := each.resolve())), default=None)
