"""Rules for dates with words in them: months, weekdays."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import (
    DAY,
    JOINED_TIME,
    MONTH,
    MONTH_NAME,
    UNIT,
    WEEKDAY,
    YEAR,
    ends_with,
)

_FLAGS = re.VERBOSE | re.IGNORECASE
# In lower case these are verbs, "decreased" and "septum"; they need more than a day.
_WORDS_TOO = {"may", "march", "mar", "dec", "sep", "sept"}
_LONG_YEAR = re.compile(rf"'[0-9]{{2}}|{YEAR}")
_ORDINAL = re.compile(r"[0-9][ ]?(?:st|nd|rd|th)", re.IGNORECASE)
_VERB_AFTER_MAY = re.compile(
    r"[ ](?:also|be|benefit|cause|consider|continue|have|help|increase|need|not|repeat"
    r"|require|resume|return|shower|start|take|try|use)\b"
)
_ORDINAL_WORD = r"""
    (?:(?:twenty|thirty)[- ])?
    (?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh
      |twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth)(?![a-z])
"""
_MONTH_CUE = re.compile(
    r"""
    (?<![a-z])(?:in|since|last|of|this|next|early|late|mid|until|till|during|from|through
      |by|before|after|around|between|every|each|past|late[ ]in|back|til|circa|starting
      |beginning|due)[ -]\Z
    """,
    _FLAGS,
)
_DAY_CUE = re.compile(r"(?<![a-z])(?:on|by|since|until|till|from)[ ]\Z", re.IGNORECASE)
_DAY_IN_USE = rf"{DAY}(?![.:/][0-9])(?!{UNIT})"


def is_month_not_verb(match: re.Match[str]) -> bool:
    """Return whether the month is one: a lower-case "may" needs a year or ordinal."""
    month = match["month"].rstrip(".")
    if _LONG_YEAR.search(match[0]) or _ORDINAL.search(match[0]):
        return True
    if month in _WORDS_TOO:
        # "on 1 march" is a day, "3 may be" is none.
        return match[0][0].isdigit() and ends_with(
            _DAY_CUE, match.string, match.start(), within=10
        )
    return not (month == "May" and _VERB_AFTER_MAY.match(match.string, match.end()))


def is_month_after_cue(match: re.Match[str]) -> bool:
    """Return whether a month alone is capitalised and follows "in", "since" etc."""
    # "Flat by OCT" is a scan; a note in capitals has its small letters back.
    is_scan = match["phi"] == "OCT"
    return (
        match["phi"][0].isupper()
        and not is_scan
        and (
            match["year"] is not None
            or ends_with(_MONTH_CUE, match.string, match.start(), within=12)
        )
    )


MONTH_FIRST = Rule(
    name="date_month_first",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?P<month>{MONTH})
        (?:
          [ ]{{0,2}},?[ ]{{0,2}}(?:the[ ])?{_DAY_IN_USE}
            (?:[ ]?(?:-|to|through|thru|and|&)[ ]?{_DAY_IN_USE})?
            (?:(?:,?[ ]{{0,2}}(?:of[ ])?|[-/]){YEAR}|,?[ ]?'[0-9]{{2}}(?![0-9]))?
            {JOINED_TIME}?
        | [-/. ]{_DAY_IN_USE}[-/](?:[0-9]{{4}}|[0-9]{{2}})(?![0-9])
        | [ ]{{0,2}}[-/,]?[ ]{{0,2}}(?:of[ ])?(?:'[0-9]{{2}}(?![0-9])|{YEAR})
        | [-](?:[0-9]{{4}}|[0-9]{{2}})(?![0-9])
        | [ ](?:the[ ])?{_ORDINAL_WORD}(?:,?[ ]{YEAR})?
        )
        (?!-[0-9])
        """,
        _FLAGS,
    ),
    score=0.95,
    is_valid=is_month_not_verb,
    found=(
        "«January 5th, 2024» and «Jan-05-24»",
        "«January 5», «Sept 12», «Sep. 3, 2019», «DEC 24 2023»",
        "«Jan 2024», «January of 2024», «Jan '24», «Jan-24»",
        "«January 5-8, 2024», «January 5 to 8»",
        "«March 5» and 2 weeks later",
        "«January 5» - «February 2, 2024»",
        "on «may 5th» and «march 3, 2021»",
        "«Jan 5, 2024» at 14:05",
        "«January fifth, 2024»",
    ),
    not_found=(
        "She may 5 times",
        "May 2 mg be given",
        "may take 2 tablets in march 3 miles",
        "Marc 5, decreased 20, sepsis 3, sep 4",
        "dec 20",
        "Augmentin 875",
        "Mar 875",
        "primary 5",
    ),
)

DAY_FIRST = Rule(
    name="date_day_first",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        [0-9](?<![0-9][0-9])(?<![0-9][-/.,:][0-9])
        (?:(?<=[12])[0-9]|(?<=3)[01]|(?<=0)[1-9]|(?<=[1-9]))
        (?:st|nd|rd|th)?
        (?:[ ]?(?:-|to|and|&)[ ]?{DAY})?
        (?:[ ]{{0,2}}(?:(?:day[ ])?of[ ])?|[-/.])(?P<month>{MONTH})
        (?:(?:[-/., ]{{0,2}}(?:of[ ])?){YEAR}|[ ]?'[0-9]{{2}}(?![0-9])
          |[-/][0-9]{{2}}(?![0-9]))?
        {JOINED_TIME}?
        """,
        _FLAGS,
    ),
    score=0.95,
    is_valid=is_month_not_verb,
    found=(
        "«5 Jan 2024», «05-Jan-24», «05JAN2024», «5/Jan/2024»",
        "the «5th of January» and the «31st day of May, 2020»",
        "«5-8 January 2024»",
        "on «5 May» she",
        "«20 October» again",
        "«10 Sept. 2019» 09:30",
        "ishihara on «1 march» and again",
    ),
    not_found=(
        "grade 3 may be",
        "1. May shower",
        "item 2 May be resumed",
        "35 Jan",
        "7.5 Mar",
        "2 marked lesions",
        "phase 2 may",
    ),
)

WEEKDAY_DATE = Rule(
    name="date_with_weekday",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){WEEKDAY}[.,]{{0,2}}[ ]{{1,2}}(?:the[ ])?
        (?:{MONTH}[ ]{{1,2}}{DAY}(?:,?[ ]{{1,2}}{YEAR})?
          |{DAY}[ ]{{1,2}}(?:of[ ])?{MONTH}(?:,?[ ]{{1,2}}{YEAR})?
          |(?:1[0-2]|0?[1-9])/(?:3[01]|[12][0-9]|0?[1-9])(?:/(?:[0-9]{{4}}|[0-9]{{2}}))?
           (?![0-9/])
          |(?:3[01]|[12][0-9]|[1-9])(?:st|nd|rd|th)(?![a-z]))
        """,
        _FLAGS,
    ),
    score=0.97,
    found=(
        "on «Monday, January 5, 2024»",
        "«Tues. 5 March 2024»",
        "«Fri 3/14» and «Sunday the 5th»",
        "«SAT 3/14/24»",
    ),
    not_found=("sat 98", "O2 sat 9/10", "on Monday", "Monday 120/80", "sun 5/10"),
)

ORDINAL_WORD_FIRST = Rule(
    name="date_day_in_words",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"(?<![a-z]){_ORDINAL_WORD}[ ](?:day[ ])?of[ ]{MONTH}(?:,?[ ]{YEAR})?", _FLAGS
    ),
    score=0.9,
    found=("the «fifth of June 2020» and «twenty-third of May»",),
    not_found=("first of all", "the second of maybe three", "a third of Mayo"),
)

MONTH_AFTER_CUE = Rule(
    name="date_month_after_cue",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])
        (?P<phi>{MONTH_NAME}
          (?:[ ]?(?:-|/|to|and|or|through|until)[ ]?{MONTH_NAME})?)
        (?!['-]?[a-z0-9])
        (?P<year>[ ]of[ ](?:this|last|next|that|the)[ ](?:\w{{4,9}}[ ])?year)?
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=is_month_after_cue,
    found=(
        "in «March» she",
        "since last «November», and between «May and July»",
        "biopsy «June» of this year",
        "In «May», early «Sept», mid-«August», back «March».",
    ),
    not_found=(
        "in march order, flat on OCT, seen by OCT",
        "She may of may",
        "in Mayo",
        "May I",
        "out of Marching",
        "The March",
    ),
)

RULES = (
    MONTH_FIRST,
    DAY_FIRST,
    WEEKDAY_DATE,
    ORDINAL_WORD_FIRST,
    MONTH_AFTER_CUE,
)
