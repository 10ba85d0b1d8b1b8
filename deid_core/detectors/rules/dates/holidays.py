"""Rules for holidays that date an event: "after Thanksgiving", "eve of Diwali"."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import YEAR, any_of, ends_with, words
from deid_core.runtime.toml_files import table_of

_TABLE = table_of("deid_core.language.lexicons", "holidays")
_NAMES = (
    *(
        name
        for kind in ("fixed", "weekday", "easter")
        for names in _TABLE[kind]
        for name in names.split("|")
    ),
    *_TABLE["elsewhere"]["names"],
)
_ANY_NAME = any_of(_NAMES).replace(r"\ ", "[ ]")
_OF_YEAR = rf"(?:,?[ ](?:of[ ])?(?:{YEAR}|'[0-9]{{2}}(?![0-9])))?"
_BEFORE = r"""
    (?:eve[ ]of[ ](?:the[ ])?
      |(?:1st|2nd|3rd|first|second|third|last)[ ]day[ ](?:of[ ])?
      |(?:mon|tues|wednes|thurs|fri|satur|sun)day[ ](?:after|before)[ ])
"""
_NEW_YEAR = r"(?:Chinese[ ]|Lunar[ ]|(?<!chinese[ ])(?<!lunar[ ]))New[ ]Year'?s?"
_FLAGS = re.VERBOSE | re.IGNORECASE
# Nouns after which the name of a holiday is no date.
_NO_DATE = r"""
    (?![ -](?:trees?|disease|factor|seals?|carols?|cards?|cactus|lights|lily|lilies
      |eggs?|bunny|island|candy|costumes?|cookies?|cruises?|lines?|rides?|workers?
      |number|no\b|[0-9]{3}-))
"""
_OFTEN_WORDS = frozenset(
    {
        *words("carnival epiphany holi raya onam rakhi midsummer eid cny losar diada"),
        "new year",
    }
)
"""Names that are other words without their capital."""
_OFTEN_PHRASES = re.compile(
    r"(?:may|flag|tax|family|youth|national|unity|victory|spring|king's|freedom"
    r"|human|election|women's|children's|heroes'?|teachers'|derby|holy)[ ]",
    re.IGNORECASE,
)


def _is_holiday(match: re.Match[str]) -> bool:
    """Return whether a name is no other word: in small letters many are."""
    name = match["name"]
    if name[0].isupper():
        # "May day!" is a call for help.
        return not _OFTEN_PHRASES.match(name) or name.split()[-1][0].isupper()
    is_often_word = name.lower() in _OFTEN_WORDS or _OFTEN_PHRASES.match(name)
    return not is_often_word or ends_with(_CUE, match.string, match.start(), within=12)


_CUE = re.compile(
    r"(?<![a-z])(?:after|before|since|over|until|till|til|during|near)[ ](?:the[ ])?\Z",
    re.IGNORECASE,
)

HOLIDAY = Rule(
    name="date_holiday",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?P<name>{_ANY_NAME}|{_NEW_YEAR})(?:[ ](?:Day|Eve))?
        (?![a-z]){_NO_DATE}{_OF_YEAR}
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=_is_holiday,
    found=(
        "the day after «Thanksgiving», before «Christmas Day 2023»",
        "on the «Fourth of July»",
        "since «New Year's Eve»",
        "near «Memorial Day», swims «memorial day» weekend, «new year's eve»",
        "fasting in «Ramadan», well since «Eid al-Fitr 2023», «Hari Raya Puasa»",
        "after «Chinese New Year», at «Deepavali», on «Vesak Day»",
        "«Martin Luther King Jr. Day», «Passover '22»",
        "fitted on «Burns Night», away over «Family Day», near «Waitangi Day»",
        "week after «carnival», over «family day»; before «CNY», «Thai Pongal eve»",
        "anointing before «All Souls», after «Dussehra»",
        "gone since «Ash Wednesday», week after «Carnival», «Farmers' Day», «Hogmanay»",
    ),
    not_found=(
        "a Christmas tree pattern rash",
        "Christmas disease",
        "northeastern, eastern",
        "Easter Seals",
        "every day",
        "may day, a new year, all day",
        "National Guard, Flag sign, Super",
        "an epiphany, a carnival, Carnival cruise, a raya",
        "EID 784-1995, a family day, on tax day",
    ),
)

HOLIDAY_EVE = Rule(
    name="date_around_holiday",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_BEFORE}(?:{_ANY_NAME}|{_NEW_YEAR})(?:[ ](?:Day|Eve))?
        (?![a-z]){_OF_YEAR}
        """,
        _FLAGS,
    ),
    score=0.85,
    found=(
        "on the «eve of Lunar New Year», fever since «second day raya»",
        "call «Tuesday after Easter», «last day of Ramadan 2024»",
    ),
    not_found=("Tuesday after lunch, the first day of school, eve of surgery",),
)

RULES = (HOLIDAY, HOLIDAY_EVE)
