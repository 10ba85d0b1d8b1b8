"""The birth date in every usual form, with one digit wrong, and without its year."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache

from deid_core.language.fragments import MONTHS, WEEKDAYS

from .note import Note, Word

_WEEKDAYS = frozenset(form for day in WEEKDAYS for form in (day, day[:3])) | {"tues"}
_FILLERS = frozenset({"st", "nd", "rd", "th", "of", "the", "day"})
_CUES = frozenset(
    {"birthday", "bday", "birthdate", "birth", "born", "dob", "turns", "turned"}
)
_CUE_REACH = 6
_GAP = re.compile(r"[\s,./\-\u2010-\u2013']{0,4}")
# No comma: in "3/14/57, 14 March" the second date does not belong to the first year.
_GAP_AFTER_YEAR = re.compile(r"[\s./\-\u2010-\u2013']{0,4}")
_NUMERIC = re.compile(r"\d+\s?([-/.])\s?\d+\s?\1\s?\d+")
_WITH_NAME = re.compile(r"[^\W\d_]{3}")
# HL7 TS: yyyymmddhhmm[ss].
_TIMESTAMP = re.compile(r"(?<!\d)\d{12}(?:\d\d)?(?!\d)")
_LENGTH_OF_DATE = 8
_PAIR = re.compile(r"(\d{1,2})([/-])(\d{1,2})(?![/-]?\d)")


@dataclass(frozen=True, slots=True, repr=False)
class _Forms:
    """The written forms of a date's parts, and those with one digit wrong."""

    years: frozenset[str]
    near_years: frozenset[str]
    months: frozenset[str]
    days: frozenset[str]
    near_months: frozenset[str]
    near_days: frozenset[str]
    parts: frozenset[str]
    compact: frozenset[str]


@dataclass(frozen=True, slots=True, repr=False)
class BirthDates:
    """Birth dates as words: the forms of year, month and day.

    Args:
        dates: Each date.
        years: All forms of all years; the place where the search begins.
        near_years: The same with a digit wrong or two swapped.
        parts: What can be next to a year.
        compact: Eight digits in the orders ymd, mdy and dmy, and six with a short year.
        stamps: Those that a time stamp can begin with.
        keys: The compared forms that must be located in a note.
    """

    dates: tuple[_Forms, ...]
    years: frozenset[str]
    near_years: frozenset[str]
    parts: frozenset[str]
    compact: frozenset[str]
    stamps: frozenset[str]
    keys: frozenset[str]

    @classmethod
    def of(cls, dates: Iterable[date]) -> BirthDates:
        """Prepare the dates of a record."""
        forms = tuple(_forms(each) for each in dict.fromkeys(dates))
        years = _union(each.years for each in forms)
        near = _union(each.near_years for each in forms)
        compact = _union(each.compact for each in forms)
        return cls(
            forms,
            years,
            near,
            _union(each.parts for each in forms),
            compact,
            frozenset(c for c in compact if len(c) == 8 and c[:2] in {"19", "20"}),
            years.union(near, compact, _CUES) if forms else frozenset(),
        )

    def find(self, note: Note, located: Iterable[Word]) -> Iterator[tuple[int, int]]:
        """Yield the half-open ranges of birth dates.

        Args:
            note: Where to look.
            located: Hold all occurrences of ``keys``.
        """
        for word in located:
            form = word.normal
            if form not in self.keys:
                continue
            if form in self.compact:
                yield word.start, word.end
            if form in self.years or form in self.near_years:
                yield from self._around(note, word)
            if form in _CUES:
                yield from self._without_year(note, word)
        yield from self._in_timestamps(note.text)

    def _around(self, note: Note, year: Word) -> Iterator[tuple[int, int]]:
        for forward in (False, True):
            if not self._may_be_date(note, year.at, forward=forward):
                continue
            pair = _neighbours(note, year, forward=forward)
            if len(pair) < 2:
                continue
            first, last = min(year, pair[1]), max(year, pair[1])
            text = note.text[first.start : last.end]
            parts = (year.normal, pair[0].normal, pair[1].normal)
            if any(_is_date(each, *parts, text) for each in self.dates):
                yield _weekday_before(note, first), last.end

    def _may_be_date(self, note: Note, at: int, *, forward: bool) -> bool:
        """Return whether a part of a date is next to a year; cheap."""
        adjacent = at + 1 if forward else at - 1
        if not 0 <= adjacent < len(note):
            return False
        form = note.form(adjacent)
        if form.isdecimal() and note.gap(max(at, adjacent)) == " ":
            # "57 3" is no date but behind a month: "March 3 57".
            return forward or (at > 1 and note.form(at - 2) in self.parts)
        return form in self.parts

    def _without_year(self, note: Note, cue: Word) -> Iterator[tuple[int, int]]:
        """Yield the day and month next to "born on" or "birthday"."""
        for at in note.clause(cue.at, _CUE_REACH):
            form = note.form(at)
            for each in self.dates:
                if form in each.months or form in each.days:
                    yield from _day_and_month(note, at, each)

    def _in_timestamps(self, text: str) -> Iterator[tuple[int, int]]:
        if any(digits in text for digits in self.stamps):
            for each in _TIMESTAMP.finditer(text):
                if each[0][:_LENGTH_OF_DATE] in self.stamps:
                    yield each.span()


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    first, *others = tuple(sets) or (frozenset[str](),)
    return first.union(*others) if others else first


def _is_date(forms: _Forms, year: str, first: str, second: str, text: str) -> bool:
    for month, day in ((first, second), (second, first)):
        is_month, is_day = month in forms.months, day in forms.days
        if year in forms.years and is_month and is_day:
            return True
        is_near = (
            (year in forms.near_years and is_month and is_day)
            or (year in forms.years and is_month and day in forms.near_days)
            or (year in forms.years and month in forms.near_months and is_day)
        )
        # Only what can be nothing but a date: "3/5/57", "5 March 1957", no "3 5 57".
        if is_near and (_NUMERIC.fullmatch(text) or _WITH_NAME.search(text)):
            return True
    return False


def _day_and_month(note: Note, at: int, forms: _Forms) -> Iterator[tuple[int, int]]:
    first = note.word(at)
    other = at + 1
    last = min(len(note) - 1, at + 3)
    while other <= last and note.form(other) in _FILLERS:
        other += 1
    if other > last:
        return
    second = note.word(other)
    text = note.text[first.start : second.end]
    pair = {first.normal, second.normal}
    is_pair = (first.normal in forms.months and second.normal in forms.days) or (
        first.normal in forms.days and second.normal in forms.months
    )
    is_named = not all(map(str.isdigit, pair)) and len(text) < 24
    if is_pair and (is_named or _PAIR.fullmatch(note.text, first.start, second.end)):
        yield first.start, second.end


def _weekday_before(note: Note, word: Word) -> int:
    gap, before = note.before(word.at)
    if before is None or before.normal not in _WEEKDAYS or gap.strip(" ,."):
        return word.start
    return before.start


def _neighbours(note: Note, word: Word, *, forward: bool) -> list[Word]:
    """Return the two words next to a year that can be its month and day."""
    found: list[Word] = []
    at = word.at
    for _ in range(6):
        gap, other = note.after(at) if forward else note.before(at)
        joint = _GAP_AFTER_YEAR if forward else _GAP
        if other is None or not joint.fullmatch(gap):
            break
        at = other.at
        if other.normal not in _FILLERS:
            found.append(other)
        if len(found) == 2:
            break
    return found


def _forms(day: date) -> _Forms:
    months, near_months = _month(day.month)
    days, near_days = _day(day.day)
    return _Forms(
        *_year(day.year),
        months,
        days,
        near_months,
        near_days,
        _parts(day.month, day.day),
        frozenset(_compact(day)),
    )


@cache
def _year(number: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return how a year is written, and how with one of its last digits wrong."""
    year, short = f"{number:04}", f"{number % 100:02}"
    wrong = _one_digit_wrong(short)
    near = {*wrong, *(year[:2] + each for each in wrong)}
    near.update(century + short for century in ("18", "19", "20"))
    return frozenset((year, short)), frozenset(near - {year})


@cache
def _parts(month: int, day: int) -> frozenset[str]:
    return _FILLERS.union(*_month(month), *_day(day))


@cache
def _month(number: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return how a month is written, and how with one digit wrong."""
    name = MONTHS[number - 1]
    forms = {f"{number:02}", str(number), name, name[:3]}
    if name == "september":
        forms.add("sept")
    return frozenset(forms), _near(number) - forms


@cache
def _day(number: int) -> tuple[frozenset[str], frozenset[str]]:
    forms = frozenset({f"{number:02}", str(number)})
    return forms, _near(number) - forms


def _near(number: int) -> frozenset[str]:
    """Return how a day or month is written with one digit wrong or two swapped."""
    wrong = _one_digit_wrong(f"{number:02}")
    short = {each[1] for each in wrong if each[0] == "0" and each != "00"}
    return frozenset({*wrong, *short, *str(number)})


@cache
def _one_digit_wrong(digits: str) -> frozenset[str]:
    wrong = {other + digits[1] for other in "0123456789"}
    wrong |= {digits[0] + other for other in "0123456789"}
    return frozenset((wrong | {digits[::-1]}) - {digits})


def _compact(day: date) -> Iterator[str]:
    year, month, dom = f"{day.year:04}", f"{day.month:02}", f"{day.day:02}"
    yield from (year + month + dom, month + dom + year, dom + month + year)
    yield month + dom + year[2:]
    yield dom + month + year[2:]
    yield year[2:] + month + dom
