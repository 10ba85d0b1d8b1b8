"""Dates shifted by the patient's own number of days, or reduced to their year.

A shift keeps the format, and the number of days between any two full dates of a patient
in all notes, and so every age at every date.  A day without a year is the one nearest
to the last full date of its note.  Months, seasons and years move by the same days from
their middle, so intervals between them are right to half of one.  A holiday becomes one
near the shifted day, or else that day.  Times, separators and words stay.

Of years, Safe Harbor removes those that reveal an age over 89.  Source: 45 CFR
164.514(b)(2)(i)(C): "all elements of dates (except year) [...] and all ages over 89 and
all elements of dates (including year) indicative of such age, except that such ages and
elements may be aggregated into a single category".
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from deid_core.labels import Label

from .ages import OLDEST
from .calendar import NEVER, RELEASED
from .crosswalk import TRIES, Crosswalk
from .date_text import DateText, lone_weekday, read_range, written_range

_LEAST_DAYS = 31
_YEAR = 365
_WEEK = 7
_MIDDLE = (7, 1)


def shift(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return the date, shifted like all dates of the patient.

    None for what is no date of the calendar, and for what would become the birth date.
    """
    calendar = crosswalk.calendar
    days = days_moved(crosswalk)
    weekday = lone_weekday(text)
    if weekday is not None:
        return weekday.written(date(2001, 1, 1), days)
    in_a_month = read_range(text)
    if in_a_month is not None:
        start, last = in_a_month
        day = start.resolve(calendar.anchor)
        end_day = day and replace(start, year=day.year, day=last).resolve()
        start_day, end_day = (_plus(crosswalk, each, days) for each in (day, end_day))
        if start_day is None or end_day is None:
            return None
        return written_range(start, start_day, end_day)
    single = calendar.read(text)
    if single is not None:
        return _moved(crosswalk, single, days)
    return _moved_pair(crosswalk, text, days)


def days_moved(crosswalk: Crosswalk) -> int:
    """Return by how many days the patient's dates move: a month and more, either way.

    Never about a whole year, so that every month changes; whole weeks with
    ``keep_weekday``, and never without.
    """
    options = crosswalk.options
    span = options.most_days - _LEAST_DAYS + 1
    for counter in range(TRIES):
        drawn = crosswalk.draws.number("days", "", counter, below=2**64)
        days = _LEAST_DAYS + drawn // 2 % span
        if options.keep_weekday:
            days -= days % _WEEK
        if _moves_all(days) and bool(days % _WEEK) is not options.keep_weekday:
            return days if drawn % 2 else -days
    raise AssertionError("nearly all numbers of days are allowed")


def _moves_all(days: int) -> bool:
    """Return whether every day moves to another month, even from mid-month."""
    return days >= _LEAST_DAYS and (
        _LEAST_DAYS <= days % _YEAR <= _YEAR - _LEAST_DAYS // 2
    )


def _moved(crosswalk: Crosswalk, single: DateText, days: int) -> str | None:
    day = single.resolve(crosswalk.calendar.anchor)
    other = _plus(crosswalk, day, days)
    return single.written(other, days) if other else None


def _moved_pair(crosswalk: Crosswalk, text: str, days: int) -> str | None:
    """Return both ends of a range moved; a single year applies to both."""
    ends = crosswalk.calendar.ends_of(text)
    if ends is None:
        return None
    left, between, right = ends
    new_left = _moved(crosswalk, _with_year_of(right, left), days)
    new_right = _moved(crosswalk, right, days)
    return new_left and new_right and new_left + between + new_right


def _with_year_of(right: DateText, left: DateText) -> DateText:
    if left.year is not None or right.year is None:
        return left
    same = replace(left, year=right.year)
    start, end = same.resolve(), right.resolve()
    return replace(left, year=right.year - 1) if start and end and start > end else same


def _plus(crosswalk: Crosswalk, day: date | None, days: int) -> date | None:
    """Return the moved day.

    None for no day, for a birth date, and for `NEVER`, which would reveal the shift.
    """
    if day is None or day == NEVER:
        return None
    other = day + timedelta(days=days)
    return None if other in crosswalk.document.known.birth_dates else other


def year(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return the year of a date, or both years of a range.

    None for a date that does not show its year in four digits.
    """
    in_a_month = read_range(text)
    single = in_a_month[0] if in_a_month else crosswalk.calendar.read(text)
    if single is not None:
        return _long_year(single)
    ends = crosswalk.calendar.ends_of(text)
    if ends is None:
        return None
    left, between, right = ends
    start, end = _long_year(left), _long_year(right)
    if end is None or (start is None and left.year is not None):
        return None
    return end if start in (None, end) else f"{start}{between}{end}"


def reveals_old_age(crosswalk: Crosswalk, text: str) -> bool:
    """Return whether a date's year reveals an age over 89, if it is a birth date."""
    births = crosswalk.document.known.birth_dates
    return crosswalk.calendar.reveals_old_age(text, births)


def old_year(crosswalk: Crosswalk, *, is_shifted: bool) -> str:
    """Return the category of all years that reveal an age over 89: "1936 or earlier".

    Args:
        crosswalk: Of the patient.
        is_shifted: Whether the note's other dates are shifted.
    """
    latest = crosswalk.calendar.this_year
    if is_shifted and latest > RELEASED:
        latest = date.fromordinal(
            date(latest, *_MIDDLE).toordinal() + days_moved(crosswalk)
        ).year
    return f"{latest - OLDEST - 1} or earlier"


def _long_year(each: DateText) -> str | None:
    return each.text[slice(*each.spans["y"])] if each.has_long_year else None
