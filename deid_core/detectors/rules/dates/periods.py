"""Rules for parts of a year: weeks, quarters, seasons.  The year alone stays."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT, YEAR

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_SHORT_OR_LONG = rf"(?:{YEAR}|'[0-9]{{2}}(?![0-9]))"
_QUARTER = r"(?:1st|2nd|3rd|4th|first|second|third|fourth|last)[ ]quarter"

SEASON_AND_YEAR = Rule(
    name="date_season_year",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:spring|summer|fall|autumn|winter),?[ ](?:of[ ])?{_SHORT_OR_LONG}
        (?:[/-][0-9]{{2,4}}(?![0-9]))?
        """,
        _FLAGS,
    ),
    score=0.8,
    found=(
        "in the «fall of 2019» and «Summer 2021»",
        "the «winter of 2022-2023», «Spring '22»",
    ),
    not_found=("a fall in 2019", "last winter", "fall 202 ago"),
)

ISO_WEEK = Rule(
    name="date_iso_week",
    label=Label.DATE,
    # ISO 8601: year, W, week; then the day of the week.
    pattern=LazyPattern(
        r"""
        [12](?<![\w./-][12])[0-9]{3}-?W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-?[1-7])?(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    found=("in «2024-W05», on «2024-W05-3» and «2024W053»",),
    not_found=("2024-W60", "X2024-W05", "2024-W05A", "2024 w05"),
)

WEEK_OF_YEAR = Rule(
    name="date_week_of_year",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])w(?:ee)?k[ ]?(?:[1-4][0-9]|5[0-3]|0?[1-9])
        (?:[ ]of[ ]|,?[ ]|/){YEAR}
        """,
        _FLAGS,
    ),
    score=0.85,
    found=("in «week 12 of 2024», calendar «week 7, 2023»", "«wk 05/2024»"),
    not_found=("week 12 of 40", "week 60 of 2024", "12 week 2024", "weekly 2024"),
)

QUARTER = Rule(
    name="date_quarter",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z0-9])
        (?:Q[1-4](?:[ ,/-]{{1,2}}|[ ]of[ ])?{_SHORT_OR_LONG}
          |[1-4]Q[ ,/-]?{_SHORT_OR_LONG}
          |{YEAR}[ /-]?Q[1-4](?![0-9])
          |{_QUARTER}(?:,?[ ](?:of[ ])?){_SHORT_OR_LONG})
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=lambda match: not _UNIT.match(match.string, match.end()),
    found=(
        "in «Q1 2024», «Q3 of 2023», «4Q2022», «2024-Q2»",
        "the «third quarter of 2022», «2nd quarter 2021»; «Q2 '23»",
    ),
    not_found=(
        "Q12 2024",
        "q4 2000 mg",
        "upper quarter 2",
        "quarter of 2000",
        "12024 Q1",
    ),
)

RULES = (SEASON_AND_YEAR, ISO_WEEK, WEEK_OF_YEAR, QUARTER)
