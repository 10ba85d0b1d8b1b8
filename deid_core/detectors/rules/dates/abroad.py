"""Rules for dates of other languages and calendars, and for misread digits."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import MONTH_NAME, any_of, ends_with
from deid_core.language.lexicons import load_list

from .numeric import are_day_and_month, is_date

_FLAGS = re.VERBOSE | re.IGNORECASE
_MONTH = any_of(load_list("months_abroad")).replace(r"\ ", "[ ]")
_NEAR = 2_000
_YEAR = r"(?:1[0-9]|20|21)[0-9]{2}(?![0-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_AS_DIGITS = str.maketrans({"l": "1", "L": "1", "I": "1", "O": "0", "o": "0"})
_DOTTED_CUE = re.compile(
    r"(?<![a-z])(?:from|since|until|till|on|by|am|bis|ab|seit|vom|zum|to|of|between|and)"
    r"[ ]\Z",
    re.IGNORECASE,
)
_DOTTED_DATE = re.compile(
    r"\.(?<=[0-9]{2}\.)[0-9]{1,2}\.[ ]?(?:19|20)[0-9]{2}(?![0-9])"
)

MONTH_ABROAD = Rule(
    name="date_month_abroad",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        [0-9](?<![0-9.a-z][0-9])(?<![0-9][-/.,:][0-9])
        (?:(?<=[12])[0-9]|(?<=3)[01]|(?<=0)[1-9]|(?<=[1-9]))
        (?:\.|st|nd|rd|th|er|o)?[ ](?:(?:de|di|of)[ ])?
        (?P<month>{_MONTH})(?![a-z])(?![ ](?:clinic|protocol|score|stand)(?![a-z]))
        (?:,?[ ](?:de[ ]|del[ ])?{_YEAR})?
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=lambda match: (
        # "2 mars" and "3 mai" are days, "4 magh" hardly anything else.
        match["month"][0].isupper() or len(match["month"]) > 3
    ),
    found=(
        "geboren «16 januari 1987», op «3 maart»",
        "«5 de mayo de 2024», «12 août 2023», «1er juillet», «9. März 2024»",
        "«5 Ramadan 1446», «9 Muharram», «3 Kartik»",
    ),
    not_found=(
        "item 12 mai",
        "stage T2. Mayo protocol",
        "45 marzo",
        "1.5 mars",
        "12 marching, 3 maize",
    ),
)

MONTH_ABROAD_ALONE = Rule(
    name="date_month_abroad_after_cue",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:in|since|last|until|till|of|early|late|en|im|seit)[ ]
        (?P<phi>{_MONTH}(?![a-z])(?:[ ]{_YEAR})?)(?=[ ]{{0,2}}(?:[.,;)\n]|\Z))
        """,
        _FLAGS,
    ),
    score=0.7,
    is_valid=lambda match: match["phi"][0].isupper() or match["phi"].endswith("bre"),
    found=("Deworming last given in «Kartik». Since «Rajab», in «Januar 2024»",),
    not_found=("in mars. of safar, in Kartik Rao's words",),
)

WEEKDAY_ABROAD = Rule(
    name="date_weekday_abroad",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?P<phi>{any_of(load_list("weekdays_abroad"))})
        (?=,?[ ](?:den[ ]|de[ ]|le[ ])?{_DAY}(?:[/. -]|er|th|st|nd|rd))
        """,
        _FLAGS,
    ),
    score=0.75,
    found=("«Khamis» 6/2/25, «lundi» 3 mars, «Montag», den 4. Mai",),
    not_found=("Ahad was seen", "Domingo, 54"),
)

DAY_OF_WEEKDAY = Rule(
    name="date_weekday_of_month",
    label=Label.DATE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z0-9])(?:1st|2nd|3rd|[45]th|first|second|third|fourth|last)[ ]
        (?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?
        [ ](?:of|in)[ ](?:{MONTH_NAME}|next[ ]month|the[ ]month)
        """,
        _FLAGS,
    ),
    score=0.85,
    found=("place «2nd Wed of March» if road, «last Friday in June»",),
    not_found=("2nd day of March", "the second of March"),
)

DOTTED_DAY = Rule(
    name="date_dotted_day",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<a>[0-3](?<![0-9.,/-][0-3])[0-9])\.(?P<b>[01][0-9])\.(?!\.)(?![ ]?[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=lambda match: (
        are_day_and_month(match["a"], match["b"])
        and (
            ends_with(_DOTTED_CUE, match.string, match.start(), within=10)
            or _DOTTED_DATE.search(
                match.string, max(0, match.start() - _NEAR), match.end() + _NEAR
            )
            is not None
        )
    ),
    found=("treatment from «28.04.» to 09.05.2025; «12.05.» seen",),
    not_found=("creatinine 10.04.", "from 28.04", "from 28.04.5", "section 12.10.1"),
)


def _is_misread(match: re.Match[str]) -> bool:
    """Return whether letters that scanners take for digits make a date."""
    parts = [match[name] for name in "abc" if match[name]]
    if not any(letter in part for part in parts for letter in "lLIOo"):
        return False
    digits = [part.translate(_AS_DIGITS) for part in parts]
    if len(digits) == 3:
        return len(digits[2]) in (2, 4) and is_date(digits[0], digits[1], digits[2])
    # Intake and output are "I/O", a flow "2/l", vertebrae "l1/l2".
    return (
        match["separator"] == "/"
        and not any("L" in part for part in parts)
        and not all(part[0] == "l" for part in parts)
        and are_day_and_month(digits[0], digits[1])
        and max(map(len, parts)) == 2
        and parts[0].upper() != "O2"
        and any(each.isdigit() for part in parts for each in part)
    )


MISREAD_DATE = Rule(
    name="date_misread",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![A-Za-z0-9./-])
        (?P<a>[0-9lLIOo]{1,2})(?P<separator>[-/.])(?P<b>[0-9lLIOo]{1,2})
        (?:(?P=separator)(?P<c>[0-9lLIOo]{4}|[0-9lLIOo]{2}))?
        (?![A-Za-z0-9])(?![-/.][A-Za-z0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    is_valid=_is_misread,
    triggers=tuple(
        pair
        for letter in "lio"
        for pair in (f"0{letter}", f"{letter}0", f"0/{letter}", f"0.{letter}")
    ),
    lookbehind=8,
    window=10,
    found=(
        "Date «l4-O3-2O25», D.O.A «3/lO/24», D.O.D «8.1O.24»",
        "«4/lO» cons. «6/lO» walking, «l3.Ol.2O25»",
    ),
    not_found=(
        "I/O 1180/950, 2/l, O2/1, l/l, lo/hi",
        "14-03-2025, 3/10",
        "l.O, o.o, 4.O mg, Hb 1O.8, l3-4, l1/l2",
    ),
)

MISREAD_MONTH = Rule(
    name="date_misread_month",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![A-Za-z0-9])(?:(?P<first>[0-9lIOo]{1,2})[ ])?
        (?:rnar(?:ch)?|rnay|apri1|apr1l|aprll|apri1|ju1y|jul[1i]|juiy|0ct(?:ober)?|oct0ber
          |n0v(?:ernber|ember)?|novernber|decernber|septernber|febr?uarv|januarv
          |lanuary|au9(?:ust)?|iune|iuly)
        (?![A-Za-z0-9])(?:[ ][0-9lIOo]{1,2}(?![A-Za-z0-9]))?
        (?:,?[ ](?:19|2O|20|l9)[0-9lIOo]{2}(?![A-Za-z0-9]))?
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.85,
    found=("lst Roza was «2 rnarch» ) so, tentative «7 Apri1»; «l2 Novernber 2O24»",),
    not_found=("march on, 7 April", "July 4"),
)

RULES = (
    MONTH_ABROAD,
    MONTH_ABROAD_ALONE,
    WEEKDAY_ABROAD,
    DAY_OF_WEEKDAY,
    DOTTED_DAY,
    MISREAD_DATE,
    MISREAD_MONTH,
)
