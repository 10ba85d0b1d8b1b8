"""Rules for dates with commas, colons, spaces or tabs between their numbers.

With these, all forms of NUS's section 3.3 are found: days and months of one or two
digits or month names, years of two or four digits, in the orders dmy, mdy, ydm, ymd,
dm, md, ym and my, separated by dash, comma, slash, colon, space or tab.  NUS's system
takes every such string; here, one that could be a list of results needs a cue, and two
small numbers ("vomiting 2/7") are no date.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import DAY, MONTH, MONTH_WORDS, UNIT, ends_with

from .numeric import are_day_and_month, is_date

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_YEAR_NOW = r"(?:19[0-9]{2}|20[0-4][0-9])"
_TWO_DIGIT_DAYS = re.compile(r"[0-9]{2}[ \t]+[0-9]{2}[ \t]+[0-9]{4}|[0-9]{4}[ \t].*")
_CUE = re.compile(
    r"""
    (?<![a-z])(?:on|dated?|since|until|till|dob|dos|dod|born|lmp|seen|visit|admitted
      |discharged|performed|done|signed|effective|expires|due|as[ ]of)
    [.,]?[ \t]{0,2}[:=(]?[ \t]{0,2}\Z
    """,
    _FLAGS,
)
_PAIR_CUE = re.compile(
    r"""
    (?<![a-z])(?:seen|admitted|admission|discharged|dated?|visit|performed|done|signed
      |dob|born|drawn|collected|transferred|expired|lmp|last[ ]menstrual[ ]period)
    (?:[ ]again)?[ ]?(?:on|:|of|was|is)?[ ]{0,2}\Z
    """,
    _FLAGS,
)
_MOST_MONTHS = 12
_ON = re.compile(
    r"(?<![a-z])(?:on|since|until|till|rec'd|received)[ ]\Z", re.IGNORECASE
)
_FLOW = re.compile(
    r"[ ]?(?:l|lpm|h|g|k|of|to|per|beats|people)(?![a-z])", re.IGNORECASE
)
_MONTH_AND_YEAR_CUE = re.compile(
    r"""
    (?<![a-z])(?:in|since|until|till|from|of|by|before|after|during|dated?|on|seen)[ ]\Z
    """,
    _FLAGS,
)
_NUMBER_BEFORE = re.compile(r"[0-9][0-9.,%/:-]*[ \t]{1,3}\Z")
_NUMBER_AFTER = re.compile(r"[ \t]{1,3}[0-9]")


def _is_separated_date(match: re.Match[str]) -> bool:
    a, b, c = match["a"], match["b"], match["c"]
    if 3 in (len(a), len(c)) or (len(a) != 4 and len(c) == 1):
        return False
    if not is_date(a, b, c) or _UNIT.match(match.string, match.end()):
        return False
    has_cue = ends_with(_CUE, match.string, match.start())
    has_year = 4 in (len(a), len(c))
    if match["separator"] == ":":
        # "14:05:24" is a time even after a cue.
        return has_year
    if match["separator"] == ",":
        return has_year or has_cue
    if match["separator"] == ".":
        return has_cue and len(c) == 2
    return has_cue or (_TWO_DIGIT_DAYS.match(match[0]) is not None and _is_alone(match))


def _is_alone(match: re.Match[str]) -> bool:
    """Return whether no number precedes or follows, as in a line of results."""
    return not (
        ends_with(_NUMBER_BEFORE, match.string, match.start())
        or _NUMBER_AFTER.match(match.string, match.end())
    )


def _is_month_not_verb(match: re.Match[str]) -> bool:
    """Return whether a capital or a mark shows a month, unlike "3. may"."""
    return not match[0].islower() or any(mark in match[0] for mark in "/:,-")


def _is_cued_pair(match: re.Match[str]) -> bool:
    return (
        are_day_and_month(match["a"], match["b"])
        and not _UNIT.match(match.string, match.end())
        and (
            ends_with(_PAIR_CUE, match.string, match.start())
            or _is_day_of_dashes(match)
        )
    )


def _is_day_of_dashes(match: re.Match[str]) -> bool:
    """Return whether "on 7-15" is a day: few ranges lie on both sides of twelve."""
    text, start, end = match.string, match.start(), match.end()
    return (
        match[0][-len(match["b"]) - 1] == "-"
        and (max(int(match["a"]), int(match["b"])) > _MOST_MONTHS or match[0][0] == "0")
        and ends_with(_ON, text, start, within=12)
        and _FLOW.match(text, end) is None
    )


def _is_month_and_year(match: re.Match[str]) -> bool:
    if _UNIT.match(match.string, match.end()):
        return False
    return match["sure"] is not None or ends_with(
        _MONTH_AND_YEAR_CUE, match.string, match.start(), within=12
    )


SEPARATED_DATE = Rule(
    name="date_separated",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<a>[0-9](?<![\w.][0-9])(?<![0-9][,:/-][0-9])[0-9]{0,3})
        (?P<separator>[,:.]|[ \t]{1,2})(?P<b>[0-9]{1,2})(?P=separator)
        (?P<c>[0-9]{1,4})(?![0-9A-Za-z])(?![.,:/-][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    is_valid=_is_separated_date,
    found=(
        "seen «14,5,2024» and «5,14,2024», «2024,05,14»",
        "taken «14:5:2024», then «2024:05:14»",
        "clinic «14 05 2024» and, «2024 05 14».",
        "on «3 5 2024», dated «3 5 24», dob: «14,5,48»",
        "«14\t05\t2024» review, seen on «3.14.24».",
    ),
    not_found=(
        "at 14:05:24",
        "BP 120 80 2000",
        "12 10 2000 1500",
        "on 13,000,24",
        "grades 1,2,3",
        "on 10 20 30 mg",
        "14 05 2024 mL",
        "L4 5 2020",
        "12:30:2500",
        "outline 3.14.24",
    ),
)

WRITTEN_BETWEEN_MARKS = Rule(
    name="date_written_between_marks",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?:
          [0-9](?<![\w.,:/-][0-9])[0-9]?[ \t]{{0,2}}[-/.,:\t ][ \t]{{0,2}}
            {MONTH}(?:[ ]{{0,2}}[-/.,:\t ][ \t]{{0,2}}
            (?:{_YEAR_NOW}|[0-9]{{1,2}})(?![\w:/]))
        | [0-9]{{2}}(?<![\w.,:/-][0-9]{{2}})[-/,:\t]{DAY}[-/,:\t]{MONTH}
            (?![-/:]?[0-9a-z])
        | (?<![a-z]){MONTH}(?:,{DAY},|[ ]{DAY}[ ]
              (?=[0-9]{{2}}[ ]{{0,2}}(?:[.;)\n]|and|\Z)))[0-9]{{2}}(?![\w:/-])
        | {_YEAR_NOW}(?<![\w.,:/-][0-9]{{4}})[-/.,:\t ][ ]?
            (?:{DAY}[-/.,:\t ][ ]?{MONTH}|{MONTH}(?:[-/.,:\t ][ ]?{DAY})?)
            (?![-/:]?[0-9a-z])
        | (?<![a-z]){MONTH}[/:\t][ \t]?{DAY}[-/:,\t ][ ]?
            (?:{_YEAR_NOW}|[0-9]{{2}})(?![\w:/])
        | (?<![a-z]){MONTH}[/:\t]{DAY}(?![\w:/\t]|[.,][0-9])
        | (?<![a-z]){MONTH}[:\t]{_YEAR_NOW}(?![\w:/])
        | [0-9](?<![\w.,:/-][0-9])[0-9]?[:,\t]{MONTH}(?![\w/:\t-])
        )
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=_is_month_not_verb,
    triggers=(
        *(f"0{mark}{month}" for mark in "-/,:\t" for month in MONTH_WORDS),
        *(f"{month}{mark}0" for mark in "/:\t," for month in MONTH_WORDS),
        *(f"{month} {day} 00" for day in ("0", "00") for month in MONTH_WORDS),
        *(f"0000{day} {month}" for day in ("", " 0", " 00") for month in MONTH_WORDS),
    ),
    lookbehind=10,
    window=28,
    found=(
        "on «14:May:2024», «14,May,2024», «14\tMay\t2024», «14/May/24»",
        "«24/14/May», «May,14,24»; «May 14 24».",
        "«2024/14/May», «2024:May:14», «2024 14 May» and «2024/May»",
        "«May/14/2024», «May:14:2024», «May\t14\t2024», «May/14»",
        "«May:2024», «2024-May»; «14:May»; «14,May» seen",
    ),
    not_found=("in 2024 may", "item 2. may 24 x", "mayor/14", "dec/140"),
)

CUED_PAIR = Rule(
    name="date_pair_after_cue",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<a>[0-9](?<![\w.,/-][0-9])[0-9]?)
        [.-](?P<b>[0-9]{2}|(?<=[123][0-9]-)[0-9])(?![\w%])(?![-./,:][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_cued_pair,
    found=(
        "seen on «14-05», admitted «5-14».",
        "discharged on «05.14», LMP: «5-14»",
        "scoped on «7-15» and, shock on «9-14». Rec'd «08-22»",
    ),
    not_found=(
        "on 5-14 units",
        "L4-05",
        "pH on 7.35",
        "take on 10-12, on 5-15 L, on 10-14 h, since 3-4",
        "seen 10-14 times",
        "visit 5.85",
    ),
)

SEPARATED_MONTH = Rule(
    name="date_month_and_year_separated",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?:(?P<sure>0[1-9](?<![\w.,:/-]0[1-9])[,:]{_YEAR_NOW}
            |{_YEAR_NOW}(?<![\w.,:/-][0-9]{{4}})/[1-9](?![/.-])
            |(?<![\w.,:/-])(?:0?[1-9]|1[0-2])/'[0-9]{{2}})
          |(?<![\w.,:/-])(?:(?:0?[1-9]|1[0-2])[,: \t]{_YEAR_NOW}
            |{_YEAR_NOW}[,: \t](?:0[1-9]|1[0-2])))
        (?![\w%])(?![.,:/-][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_month_and_year,
    found=(
        "«05,2024» and «05:2024», «12/'19»",
        "«2024/5»",
        "in «10:2023», since «05 2024»",
    ),
    not_found=(
        "epinephrine 10:2000",
        "05 2024",
        "1 2024",
        "2019/2020",
        "2024/13",
        "05:2024:11",
        "05,2024 mL",
    ),
)

RULES = (
    SEPARATED_DATE,
    WRITTEN_BETWEEN_MARKS,
    CUED_PAIR,
    SEPARATED_MONTH,
)
