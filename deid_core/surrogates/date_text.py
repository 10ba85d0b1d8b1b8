"""Dates as they are written: read one, and write another day in the same form.

A form is a pattern of a whole annotation.  Its groups name the parts: ``wd`` weekday,
``d`` day, ``o`` its ordinal ending, ``word`` a day in words, ``m`` month in digits,
``mon`` in letters, ``y`` year, ``q`` quarter, ``season``, ``holiday``; ``n1 n2 n3`` are
numbers whose order depends on their values or the calendar.  ``d2`` is the end of a
range within a month.  Patterns match text in ASCII (`to_ascii`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from deid_core.fiction.dates import ordinal_ending
from deid_core.language.fragments import MONTHS, TIME, WEEKDAYS, to_ascii

from .holidays import HOLIDAYS, holiday_near
from .letter_case import capitalised_like

ORDINAL_WORDS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"),
    *("ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth"),
    *("sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"),
    *("twenty-first", "twenty-second", "twenty-third", "twenty-fourth"),
    *("twenty-fifth", "twenty-sixth", "twenty-seventh", "twenty-eighth"),
    *("twenty-ninth", "thirtieth", "thirty-first"),
)
SEASONS = {
    "winter": (1, 15),
    "spring": (4, 15),
    "summer": (7, 15),
    "fall": (10, 15),
    "autumn": (10, 15),
}
"""Season to its middle, as month and day."""


class Grain(StrEnum):
    """The smallest part of a date that a form has."""

    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    SEASON = "season"
    QUARTER = "quarter"
    HOLIDAY = "holiday"
    WEEKDAY = "weekday"


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a date."""

    name: str
    grain: Grain
    pattern: re.Pattern[str]


_WEEKDAY = r"""(?P<wd>(?:mon|tues|wednes|thurs|fri|satur|sun)day
    |mon|tues?|wed|thur?s?|fri|sat|sun)(?![a-z])"""
_BEFORE = rf"(?:{_WEEKDAY}[.,]{{0,2}}[ ]{{0,2}})?(?:the[ ])?"
_MONTH = r"""(?P<mon>jan(?:uary)?|feb(?:r(?:uary)?)?|mar(?:ch)?|apr(?:il)?|may|june?
    |july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)
    (?![a-z])\.?"""
_DAY = r"(?P<d>[0-9]{1,2})(?:[ ]?(?P<o>st|nd|rd|th)(?![a-z]))?"
_DAY_2 = _DAY.replace("<d>", "<d2>").replace("<o>", "<o2>")
_LONG_YEAR = r"(?:1[89]|2[01])[0-9]{2}"
_YEAR = rf"(?:'(?=[0-9]{{2}}(?![0-9])))?(?P<y>{_LONG_YEAR}|[0-9]{{2}})"
_GAP = r"[ ]{0,2}[-/.,_:]?[ ]{0,2}"
_AND_YEAR = rf"(?:{_GAP}(?:of[ ])?(?<![0-9]){_YEAR})?"
_WORD = (
    rf"(?P<word>{'|'.join(w.replace('-', '[- ]') for w in reversed(ORDINAL_WORDS))})"
)
_TO = r"[ ]{0,2}(?:-|to|through|thru|and|&|or)[ ]{0,2}"
_LOOSE_YEAR = rf"'?(?P<y>{_LONG_YEAR}|(?<=')[0-9]{{2}})"
_SEASON = rf"(?P<season>{'|'.join(SEASONS)})"
_HOLIDAY = "|".join(
    re.escape(each).replace(r"\ ", "[ ]") for each in sorted(HOLIDAYS, reverse=True)
)


def _form(name: str, grain: Grain, core: str, *, before: str = _BEFORE) -> Form:
    time = rf"(?:{TIME})?" if grain is Grain.DAY else ""
    pattern = re.compile(rf"[ ]*{before}{core}{time}[ ]*", re.VERBOSE | re.IGNORECASE)
    return Form(name, grain, pattern)


FORMS = (
    _form(
        "three numbers",
        Grain.DAY,
        r"""(?P<n1>[0-9]{1,4})[ ]?(?P<s>[-/._:,\ ])[ ]?(?P<n2>[0-9]{1,2})
        [ ]?(?P=s)[ ]?(?P<n3>[0-9]{1,4})""",
    ),
    _form(
        "year first, run together",
        Grain.DAY,
        rf"""(?P<y>{_LONG_YEAR})(?P<m>0[1-9]|1[0-2])(?P<d>[0-3][0-9])
        (?:T?(?:[01][0-9]|2[0-3])(?:[0-5][0-9](?:[0-5][0-9](?:\.[0-9]{{1,4}})?)?)?
        (?:Z|[+-][0-9]{{4}})?)?""",
    ),
    _form(
        "numbers run together",
        Grain.DAY,
        rf"(?P<n1>\d\d)(?P<n2>\d\d)(?P<n3>{_LONG_YEAR}|\d\d)",
    ),
    _form(
        "two numbers",
        Grain.DAY,
        r"(?P<n1>[0-9]{1,2})[ ]?[-/.][ ]?(?P<n2>[0-9]{1,2})(?:(?<=\.[0-9]{2})\.)?",
    ),
    _form(
        "month and long year",
        Grain.MONTH,
        rf"(?P<m>[0-9]{{1,2}})[-/.,: ](?P<y>{_LONG_YEAR})",
    ),
    _form(
        "long year and month",
        Grain.MONTH,
        rf"(?P<y>{_LONG_YEAR})[-/.,: ](?P<m>[0-9]{{1,2}})",
    ),
    # Before month and day: "Jan-24" is a year, "Jan 24" is a day.
    _form("month-year", Grain.MONTH, rf"{_MONTH}[-/](?P<y>[0-9]{{2}})"),
    _form(
        "month and year",
        Grain.MONTH,
        rf"{_MONTH}{_GAP}(?:of[ ])?{_LOOSE_YEAR}",
    ),
    _form(
        "month, day",
        Grain.DAY,
        rf"{_MONTH}{_GAP}(?:the[ ])?(?:{_DAY}|{_WORD}){_AND_YEAR}",
    ),
    _form(
        "day, month",
        Grain.DAY,
        rf"(?:{_DAY}|{_WORD}){_GAP}(?:(?:day[ ])?of[ ])?{_MONTH}{_AND_YEAR}",
    ),
    _form(
        "year, month, day", Grain.DAY, rf"(?P<y>{_LONG_YEAR}){_GAP}{_MONTH}{_GAP}{_DAY}"
    ),
    _form(
        "year, day, month", Grain.DAY, rf"(?P<y>{_LONG_YEAR}){_GAP}{_DAY}{_GAP}{_MONTH}"
    ),
    _form("year, month", Grain.MONTH, rf"(?P<y>{_LONG_YEAR}){_GAP}{_MONTH}"),
    _form("month", Grain.MONTH, _MONTH),
    _form("year", Grain.YEAR, rf"(?P<y>{_LONG_YEAR})"),
    _form("short year", Grain.YEAR, r"'(?P<y>[0-9]{2})"),
    _form("season", Grain.SEASON, rf"{_SEASON}(?:,?[ ](?:of[ ])?{_LOOSE_YEAR})?"),
    _form(
        "quarter",
        Grain.QUARTER,
        rf"Q(?P<q>[1-4])(?:[ ,/-]{{1,2}}|[ ]of[ ]){_LOOSE_YEAR}",
    ),
    _form("year, quarter", Grain.QUARTER, rf"(?P<y>{_LONG_YEAR})[ /-]?Q(?P<q>[1-4])"),
    _form(
        "holiday",
        Grain.HOLIDAY,
        rf"(?P<holiday>{_HOLIDAY})(?:,?[ ](?:of[ ])?(?P<y>{_LONG_YEAR}))?",
    ),
)
"""The forms of a single date; the first match counts."""

WEEKDAY_ALONE = Form(
    "weekday",
    Grain.WEEKDAY,
    re.compile(rf"[ ]*{_WEEKDAY}\.?(?:[ ]week)?[ ]*", re.VERBOSE | re.I),
)

RANGES_IN_A_MONTH = (
    _form(
        "month, day to day",
        Grain.DAY,
        rf"{_MONTH}[ ]{{1,2}}{_DAY}{_TO}{_DAY_2}{_AND_YEAR}",
        before="",
    ),
    _form(
        "day to day, month",
        Grain.DAY,
        rf"{_DAY}{_TO}{_DAY_2}{_GAP}(?:of[ ])?{_MONTH}{_AND_YEAR}",
        before="",
    ),
)
"""Ranges that name their month once."""

BETWEEN = re.compile(
    r"[ ]{1,2}(?:-|to|through|thru|until|and|&|or)[ ]{1,2}"
    r"|(?<=[0-9a-z.])-(?=[0-9a-z'])",
    re.IGNORECASE,
)
"""The separators of the two dates of a range."""

_Printed = tuple[int, int, str]
"""A range of the text, and what to write there."""

_MOST_MONTH, _MOST_DAY = 12, 31
_SHORT = 3
_PIVOT = 50
"""Years of two digits below are of this century, the others of the last.  Only the
leap day of 1900 depends on it."""

_MID_MONTH = 15
_MID_YEAR = (7, 1)
_COMMON_YEAR = 2001
_AROUND = (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6)
"""Among these years, any day but the leap day falls on any weekday."""
_EARLIEST, _LATEST = 1800, 2199


@dataclass(frozen=True, slots=True)
class DateText:
    """A date as it is written.

    Args:
        text: As written.
        form: Which one.
        spans: Of each part, by group name.
        year: None if the text has none.
        month: A middle one if the form is coarser.
        day: A middle one if the form is coarser.
    """

    text: str = field(repr=False)
    form: Form
    spans: dict[str, tuple[int, int]] = field(repr=False)
    year: int | None = field(repr=False)
    month: int = field(repr=False)
    day: int = field(repr=False)

    @property
    def has_long_year(self) -> bool:
        """True if the year is written in four digits."""
        start, end = self.spans.get("y", (0, 0))
        return end - start == 4

    def resolve(self, anchor: date | None = None) -> date | None:
        """Return the day; None if the calendar has no such day.

        Args:
            anchor: A date without a year is the nearest one to this day; without an
                anchor, one of a common year.  A weekday's name takes precedence.
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
            other: The day to write.
            weekdays: By how many days a weekday's name moves.
        """
        if self.form.grain is Grain.HOLIDAY:
            return self._as_holiday(other)
        pieces: list[_Printed] = []
        for name, (start, end) in self.spans.items():
            part = self.text[start:end]
            if name == "wd":
                pieces.append((start, end, _weekday_name(part, weekdays)))
            else:
                pieces.append((start, end, _PRINTERS[name](part, other, self)))
        return _spliced(self.text, pieces)

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
        """Return a holiday near the day, or else its month and day."""
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
    """Return the date that the whole text is, or None.

    Args:
        text: An annotation.
        day_first: Whether 3/4 is the third of April.
    """
    folded = to_ascii(text).replace("\t", " ")
    for form in FORMS:
        found = form.pattern.fullmatch(folded)
        if found and (each := _read_as(text, form, found, day_first=day_first)):
            return each
    return None


def lone_weekday(text: str) -> DateText | None:
    """Return a lone weekday's name, or None."""
    found = WEEKDAY_ALONE.pattern.fullmatch(to_ascii(text))
    if found is None:
        return None
    return DateText(text, WEEKDAY_ALONE, {"wd": found.span("wd")}, None, 1, 1)


def _spliced(text: str, pieces: list[_Printed]) -> str:
    """Return the text with ranges replaced."""
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _long_year(written: str) -> int:
    """Return the year of two or four digits."""
    year = int(written)
    if len(written) == 4:
        return year
    return year + (2000 if year < _PIVOT else 1900)


def _read_as(
    text: str, form: Form, found: re.Match[str], *, day_first: bool
) -> DateText | None:
    """Return the date that a form found; None if the calendar has no such day."""
    spans = {
        name: found.span(name)
        for name in found.re.groupindex
        if name != "s" and found[name] is not None
    }
    spans = _numbers_in_order(spans, found, day_first=day_first)
    parts = {
        name: found.string[start:end].lower() for name, (start, end) in spans.items()
    }
    year = _long_year(parts["y"]) if "y" in parts else None
    if year is not None and not _EARLIEST <= year <= _LATEST:
        return None
    month, day = _month_and_day(parts)
    written = DateText(text, form, spans, year, month, day)
    return written if 1 <= month <= 12 and written.resolve() is not None else None


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


def read_range(text: str) -> tuple[DateText, int] | None:
    """Return the first day of a range in one month, and the number of the last.

    The last day's spans are ``d2`` and ``o2``.
    """
    folded = to_ascii(text)
    for form in RANGES_IN_A_MONTH:
        found = form.pattern.fullmatch(folded)
        if found and int(found["d"]) < int(found["d2"]):
            first = _read_as(text, form, found, day_first=False)
            if first is not None:
                return first, int(found["d2"])
    return None


def written_range(first: DateText, start: date, end: date) -> str:
    """Return another range in the same format: "March 30-April 2, 2024".

    Both of two months are named; the year is that of the last day, in its old form.
    """
    old = {name: first.text[slice(*span)] for name, span in first.spans.items()}
    months = [_month_name(old["mon"], day.month, first) for day in (start, end)]
    year = (end if "y" in old else start).year
    new = {
        "d": str(start.day),
        "o": capitalised_like(old.get("o", ""), ordinal_ending(start.day)),
        "d2": str(end.day),
        "o2": capitalised_like(old.get("o2", ""), ordinal_ending(end.day)),
        "mon": months[0],
        "y": f"{year % 100:02}" if len(old.get("y", "")) == 2 else str(year),
    }
    if months[0] != months[1]:
        if first.spans["mon"] < first.spans["d"]:
            new["d2"] = f"{months[1]} {new['d2']}"
        else:
            new["o" if "o" in old else "d"] += f" {months[0]}"
            new["mon"] = months[1]
    pieces: list[_Printed] = [
        (*span, new[name]) for name, span in first.spans.items() if name in new
    ]
    return _spliced(first.text, pieces)


def _numbers_in_order(
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


def _weekday_name(text: str, days: int) -> str:
    """Return the weekday so many days later, in the format of this one."""
    old = next(at for at, name in enumerate(WEEKDAYS) if text.lower()[:2] == name[:2])
    new = WEEKDAYS[(old + days) % len(WEEKDAYS)]
    return capitalised_like(text, new if text.lower() in WEEKDAYS else new[:_SHORT])


def _month_name(text: str, month: int, whole: DateText) -> str:
    """Return a month's name, long or short, in the case of another."""
    name = MONTHS[month - 1]
    is_short = text.lower() != "may" and text.lower() not in MONTHS
    if text.lower() == "may":
        # May is its own abbreviation: the characters around it decide.
        start, end = whole.spans["mon"]
        around = whole.text[start - 1 : start] + whole.text[end : end + 1]
        is_short = bool(re.search(r"[-./0-9]", around))
    return capitalised_like(text, name[:_SHORT] if is_short else name)


def _year(text: str, day: date, _: DateText) -> str:
    return f"{day.year % 100:02}" if len(text) == 2 else f"{day.year:04}"


def _ordinal_word(text: str, day: date, _: DateText) -> str:
    new = ORDINAL_WORDS[day.day - 1]
    return capitalised_like(text, new.replace("-", " ") if " " in text else new)


def _season(text: str, day: date, _: DateText) -> str:
    autumn = "autumn" if text.lower() == "autumn" else "fall"
    return capitalised_like(
        text, ("winter", "spring", "summer", autumn)[day.month % 12 // 3]
    )


def _number(value: int, text: str, whole: DateText) -> str:
    return f"{value:02}" if _is_padded(text, whole) else str(value)


def _is_padded(text: str, whole: DateText) -> bool:
    """Return whether numbers have two digits, by the date's own numbers if possible."""
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


_PRINTERS: dict[str, Callable[[str, date, DateText], str]] = {
    "y": _year,
    "m": lambda text, day, whole: _number(day.month, text, whole),
    "d": lambda text, day, whole: _number(day.day, text, whole),
    "o": lambda text, day, _: capitalised_like(text, ordinal_ending(day.day)),
    "mon": lambda text, day, whole: _month_name(text, day.month, whole),
    "q": lambda text, day, _: str((day.month + 2) // 3),
    "word": _ordinal_word,
    "season": _season,
}
