"""The forms in which dates are written, as data.

A form is a pattern of a whole annotation.  Its groups say what is what: ``wd`` weekday,
``d`` day, ``o`` its ordinal ending, ``word`` a day in words, ``m`` month in digits,
``mon`` in letters, ``y`` year, ``q`` quarter, ``season``, ``holiday``; ``n1 n2 n3`` are
numbers whose order the numbers themselves or the calendar must tell.  ``d2`` is the end
of a range in one month.  Patterns see folded text (`to_ascii`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from ..language.fragments import TIME
from .holidays import HOLIDAYS

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
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
    """The smallest part of a date that a form tells."""

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
        "two numbers", Grain.DAY, r"(?P<n1>[0-9]{1,2})[ ]?[-/.][ ]?(?P<n2>[0-9]{1,2})"
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
"""Every form of one date; the first that fits is taken."""

WEEKDAY_ALONE = Form(
    "weekday", Grain.WEEKDAY, re.compile(rf"[ ]*{_WEEKDAY}\.?[ ]*", re.VERBOSE | re.I)
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
"""What may stand between the two dates of a range."""
