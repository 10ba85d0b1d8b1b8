"""Rules for dates in digits: all elements but the year, 45 CFR 164.514(b)(2)(i)(C).

Days and months are checked loosely where a separator already says "date": a mistyped
31 February is still somebody's date.  Bare digit runs must be days of the calendar.
"""

from __future__ import annotations

import re
from datetime import date

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import JOINED_TIME, MONTH, UNIT, ends_with

_VERSION = re.compile(r"(?:\bv|ver|version|release|section)\.?[ ]?\Z", re.IGNORECASE)
_UNIT = re.compile(UNIT, re.VERBOSE | re.IGNORECASE)


def is_month_and_day(month: int, day: int) -> bool:
    """Return whether the numbers are in range; not whether the month has the day."""
    return 1 <= month <= 12 and 1 <= day <= 31


def are_day_and_month(first: str, second: str) -> bool:
    """Return whether two numbers are a day and a month in either order."""
    a, b = int(first), int(second)
    return is_month_and_day(a, b) or is_month_and_day(b, a)


def is_date(a: str, b: str, c: str) -> bool:
    """Return whether three numbers are day, month and year in any usual order."""
    if len(a) == 4:
        return 1800 <= int(a) < 2200 and len(c) <= 2 and are_day_and_month(b, c)
    if len(c) == 4:
        return 1800 <= int(c) < 2200 and are_day_and_month(a, b)
    return are_day_and_month(a, b) or (len(a) == 2 and are_day_and_month(b, c))


def is_numeric_date(match: re.Match[str]) -> bool:
    """Return whether three numbers are a date in any usual order."""
    a, b, c, separator = match["a"], match["b"], match["c"], match["separator"]
    if 3 in (len(a), len(c)) or (len(c) == 1 and len(a) != 4):
        return False
    has_long_year = len(a) == 4 or len(c) == 4
    if " " in match["date"] and not (has_long_year and separator in "/-"):
        return False
    if separator == "." and not has_long_year and min(len(a), len(b)) < 2:
        return False
    return is_date(a, b, c) and _is_separate(match, has_long_year=has_long_year)


def _is_separate(match: re.Match[str], *, has_long_year: bool) -> bool:
    text, start, end = match.string, match.start(), match.end()
    tail_of_number = start >= 2 and text[start - 1] == match["separator"]
    if tail_of_number and text[start - 2].isdigit():
        return False
    if ends_with(_VERSION, text, start, within=10):
        return False
    return has_long_year or not _UNIT.match(text, end)


def is_calendar_day(match: re.Match[str]) -> bool:
    """Return whether eight digits are a day between 1900 and 2100."""
    try:
        day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    except ValueError:
        return False
    return 1900 <= day.year <= 2100


NUMERIC_DATE = Rule(
    name="date_numeric",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?P<date>
          (?P<a>[0-9](?<![0-9][0-9])(?<![0-9][/.][0-9])[0-9]{{0,3}})
          [ ]?(?P<separator>[-/._])[ ]?
          (?P<b>[0-9]{{1,2}})
          [ ]?(?P=separator)[ ]?
          (?P<c>[0-9]{{1,4}})(?![0-9])(?!(?P=separator)[0-9])
        )
        {JOINED_TIME}?
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.95,
    is_valid=is_numeric_date,
    found=(
        "Seen «1/2/2024» and «01-31-24».",
        "«31.12.2023» Aufnahme, «2024/1/31», «2024.01.31»",
        "«2024-01-31T14:05:06.123Z» and «2024-01-31T14:05:06+05:30»",
        "drawn «1/2/2024» 14:05 and «1/2/24» at 3:15 PM, «12/25/2023» 1405 hrs",
        "Since«6/03/04» she",
        "stay «1/2/2024»-«1/5/2024»",
        "«12 / 05 / 2004»",
        "«12\u201305\u20132004»",
        "yy first «98-12-25», «24/14/05»",
        "DOB:«3/14/52».",
        "«1/2/24» L knee",
        "scan_«2024_01_31»",
        "mistyped «2/30/2024»",
    ),
    not_found=(
        "BP 120/80, pulse 72",
        "SSN 123-45-6789",
        "call 555-12-2024",
        "1.2.3 and v1.10.2024 and 10.0.12.24",
        "ABG 7.35/40/90",
        "given at 12/24/48 hours",
        "5-10-15 reps",
        "24/7/365",
        "20/20/20",
        "L4-5-S1, 13/32/2024",
        "1 - 2 - 24",
        "outline 1.2.10",
        "strength 5/5/5",
    ),
)

TIMESTAMP = Rule(
    name="date_timestamp",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<year>[12](?<![0-9.][12])[0-9]{3})(?P<month>[01][0-9])(?P<day>[0-3][0-9])
        (?:T?(?:[01][0-9]|2[0-3])
           (?:[0-5][0-9](?:[0-5][0-9](?:\.[0-9]{1,4})?)?)?
           (?:Z|[+-][0-9]{4})?)?
        (?![0-9])(?!\.[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=is_calendar_day,
    found=(
        "day «20240131»",
        "|«202401311405»|«20240131140506»|«20240131140506.123-0500»",
        "«20240131T140506Z»",
        "leap «20240229»",
    ),
    not_found=(
        "MRN 20241331",
        "20230229",
        "17760704",
        "120240131",
        "2024013",
        "2024013114056",
        "0.20240131",
    ),
)

MONTH_AND_YEAR = Rule(
    name="date_month_year",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?:
          [0-9](?<![0-9][0-9])(?<![0-9][-/.,:][0-9])
          (?:(?<=1)[0-2]|(?<=0)[1-9]|(?<=[1-9]))[/-](?:19[0-9]{2}|20[0-4][0-9])
        | [12](?<![0-9][12])(?<![0-9][-/.,:][12])
          (?:(?<=1)9[0-9]|(?<=2)0[0-4])[0-9][/-](?:0[1-9]|1[0-2])
        )
        (?![0-9])(?![-/.,][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    is_valid=lambda match: not _UNIT.match(match.string, match.end()),
    found=(
        "diagnosed «01/2024», again «7/2019»",
        "in «2024-01», «10-2023»",
        "(«12/1999»)",
    ),
    not_found=(
        "1/2/2024",
        "13/2024",
        "0/2024",
        "epinephrine 1:2000",
        "titer 1/2560, 1/2000,000",
        "120/1990",
        "10-2000 mg",
        "2024-13",
        "2019-2024",
    ),
)

YEAR_FIRST = Rule(
    name="date_year_first_written",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        [12](?<![0-9][12])(?:(?<=1)[89]|(?<=2)[01])[0-9]{{2}}
        [-/., ]{{1,2}}{MONTH}[-/., ]{{1,2}}(?:3[01]|[12][0-9]|0?[1-9])(?![0-9])
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.95,
    found=("on «2024-Jan-05»", "«2024 January 5»", "«1998/Sep/30»"),
    not_found=("in 2024 May have", "12024 Jan 5", "2024 Junior 5"),
)

RULES = (
    NUMERIC_DATE,
    TIMESTAMP,
    MONTH_AND_YEAR,
    YEAR_FIRST,
)
