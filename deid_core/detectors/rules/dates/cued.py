"""Rules for dates that need a cue around them: "on 3/14"."""

from __future__ import annotations

import re
from string import ascii_letters

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT, ends_with, words
from deid_core.language.lexicons import load_list

from .numeric import are_day_and_month, is_date

_UNIT = re.compile(UNIT, re.VERBOSE | re.IGNORECASE)
_FULL_CUES = load_list("day_cues")
_FULL_PHRASES = (
    *("scheduled for", "rescheduled for", "planned for", "booked for", "arranged for"),
    *("as of", "due on", "week of", "weekend of", "visit today"),
    *("dc'd", "d/c'd", "d/c", "f/u"),
)
_WEEKDAYS = words("mon tue tues wed wednes thur thurs fri sat satur sun")
_EVERY_FULL_CUE = (
    *(*_FULL_CUES, *_FULL_PHRASES),
    *(day + ending for day in _WEEKDAYS for ending in ("", "day")),
)
_CUES_BY_LAST_WORD: dict[str, list[str]] = {}
for _cue in _EVERY_FULL_CUE:
    _CUES_BY_LAST_WORD.setdefault(re.split("[^a-z]", _cue)[-1], []).append(_cue)
_GAP_BEHIND_CUE = re.compile(r"[.,]?[ \t]{0,2}[:=(]?[ \t]{0,2}")
_LETTERS = frozenset(ascii_letters)
_BEHIND_CUE = " \t.,:=("
_REACH = 32
_WEAK_CUES = words("from to thru through between and before after by of")
_WEAK_CUE = re.compile(rf"(?<![a-z])(?:{'|'.join(_WEAK_CUES)})[ ]\Z", re.IGNORECASE)

_SECOND_DAY = re.compile(
    r"""
    [ ]?(?:to|thru|through|until|and|-)[ ]?
    (?P<a>[0-9]{1,2})/(?P<b>[0-9]{1,2})(?![0-9/])
    """,
    re.VERBOSE,
)
_FIRST_DAY = re.compile(
    r"""
    (?<![a-z])(?:from|between)[ ](?P<a>[0-9]{1,2})/(?P<b>[0-9]{1,2})
    [ ](?:to|thru|through|until|and)[ ]\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_cued_day(match: re.Match[str]) -> bool:
    """Return whether the text around ``3/14`` makes it a date, not a score."""
    # Most scores and pressures are ruled out by the word before them.
    word = _word_before(match.string, match.start())
    if word not in _CUES_BY_LAST_WORD and word not in _WEAK_CUES:
        return False
    first, second = match["a"], match["b"]
    if not are_day_and_month(first, second) or (first, second) == ("24", "7"):
        return False
    if not _is_cued(match, word, max(int(first), int(second))):
        return False
    return _UNIT.match(match.string, match.end()) is None


def _is_cued(match: re.Match[str], word: str, larger: int) -> bool:
    text, start = match.string, match.start()
    if _has_full_cue(text, start, word):
        return True
    # "from 3/10 to 2/10" is pain, "strength of 4/5" is strength; 3/14 is neither.
    return (
        word in _WEAK_CUES
        and (larger > 12 or _is_in_one_month(match))
        and ends_with(_WEAK_CUE, text, start, within=12)
    )


def _word_before(text: str, start: int) -> str:
    """Return the word before an offset in lower case, past the marks after a cue."""
    left = text[max(0, start - _REACH) : start].rstrip(_BEHIND_CUE)
    return left[len(left.rstrip(ascii_letters)) :].lower()


def _has_full_cue(text: str, start: int, word: str) -> bool:
    """Return whether a cue that ends with the word precedes the offset.

    Letter by letter: a pattern of all cues would be tried at each of 32 offsets.
    """
    cues = _CUES_BY_LAST_WORD.get(word)
    if cues is None:
        return False
    left = text[max(0, start - _REACH) : start]
    bare = left.rstrip(_BEHIND_CUE)
    if _GAP_BEHIND_CUE.fullmatch(left, len(bare)) is None:
        return False
    heads = (bare[: -len(cue)] for cue in cues if bare.lower().endswith(cue))
    return any(head[-1:] not in _LETTERS for head in heads)


def _is_in_one_month(match: re.Match[str]) -> bool:
    """Return whether ``3/4`` is one end of "from 3/4 to 3/9": no scale has two ends."""
    text, day = match.string, (match["a"], match["b"])
    other = _SECOND_DAY.match(text, match.end())
    if other:
        return other["a"] == day[0] and int(day[1]) < int(other["b"])
    first = _FIRST_DAY.search(text, max(0, match.start() - 24), match.start())
    return first is not None and first["a"] == day[0] and int(first["b"]) < int(day[1])


def is_range_of_days(match: re.Match[str]) -> bool:
    """Return whether ``3/14-3/20`` are days, by a cue or by a 13 and more."""
    text, start = match.string, match.start()
    days = (match["a"], match["b"]), (match["c"], match["d"])
    return (
        all(are_day_and_month(*day) for day in days)
        and (
            max(int(part) for day in days for part in day) > 12
            or _has_full_cue(text, start, _word_before(text, start))
            or (
                match["a"] == match["c"]
                and int(match["b"]) < int(match["d"])
                and ends_with(_WEAK_CUE, text, start, within=12)
            )
        )
        and not _UNIT.match(text, match.end())
    )


def _has_possible_digits(match: re.Match[str]) -> bool:
    parts = re.findall("[0-9]+", match["phi"])
    if len(parts) == 3:
        return is_date(*parts)
    digits = parts[0]
    if len(digits) == 6:
        return is_date(digits[:2], digits[2:4], digits[4:])
    return is_date(digits[:2], digits[2:4], digits[4:]) or is_date(
        digits[:4], digits[4:6], digits[6:]
    )


def _is_cued_date(match: re.Match[str]) -> bool:
    text, start = match.string, match.start()
    if not is_date(match["a"], match["b"], match["c"]):
        return False
    return _has_full_cue(text, start, _word_before(text, start))


CUED_DAY = Rule(
    name="date_day_after_cue",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<a>[0-9](?<![0-9][0-9])(?<![0-9][-/.][0-9])[0-9]?)/(?P<b>[0-9]{1,2})
        (?![0-9])(?![-/.][0-9])(?![ ](?:ago|out[ ]of))(?!h(?![a-z]))
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=is_cued_day,
    found=(
        "seen on «3/14» for",
        "dated «3/14».",
        "cough since «6/03»",
        "labs «12/3»: fine. Date: «11/2», LMP «4/28»",
        "from «3/14» to «3/20»",
        "on Monday, «3/14», planned for «1/1».",
        "away from «3/4» to «3/9», between «11/2» and «11/5»",
        "RTC «11/25», dc'd «6/27», called «7/1»: Anticipated DC «2/10»",
    ),
    not_found=(
        "pain 2/10 and 120/80 on 24/7 care",
        "vomiting 2/7, LOW 1/12",
        "pain went from 8/10 to 2/10, strength from 3/5 to 4/5, from 3/9 to 3/4",
        "strength of 4/5",
        "on 3/10 pain",
        "on 20/40",
        "Grade 3/6 murmur",
        "on 1/2 tablets, up to 7/24h",
    ),
)

RANGE_OF_DAYS = Rule(
    name="date_range_of_days",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<a>[0-9](?<![0-9][0-9])(?<![0-9][-/.][0-9])[0-9]?)/(?P<b>[0-9]{1,2})
        [ ]?-[ ]?
        (?P<c>[0-9]{1,2})/(?P<d>[0-9]{1,2})(?:/(?:[0-9]{4}|[0-9]{2}))?(?![0-9/])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=is_range_of_days,
    found=(
        "away «3/14-3/20»",
        "away «3/14 - 3/20/2024», the weekend of «6/1-6/3»",
        "«1/2-1/15/2024», from «3/4-3/9»",
    ),
    not_found=("motor 4/5-5/5", "BP 120/80-130/90", "2/10-3/10"),
)

DOTTED_DATE = Rule(
    name="date_dotted_after_cue",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![0-9.])(?P<a>[0-9]{1,2})\.(?P<b>[0-9]{1,2})\.(?P<c>[0-9]{2})(?!\.?[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_cued_date,
    found=("next appt «4.28.25», on «1.2.24».",),
    not_found=("version 4.28.25", "on 44.28.25", "on 1.2.3"),
)

LABELLED_DATE = Rule(
    name="date_labelled",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![a-z])
        (?:dob|d\.o\.b\.?|dos|dod|date[ ]of[ ][a-z]{4,12}|birth[ ]?date|birthday|born
          |admi(?:t|ssion)[ ]date|discharge[ ]date|visit[ ]date|service[ ]date)
        (?:[ \t]{0,3}(?:[:=#(-]|is|was|on)){0,2}[ \t]{0,3}
        (?P<phi>
            [0-9]{1,2}(?P<separator>[ ,.:])[ ]?[0-9]{1,2}(?P=separator)[ ]?
              (?:[0-9]{4}|[0-9]{2})
          | [0-9]{8} | [0-9]{6}
        )
        (?![0-9])
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.9,
    is_valid=_has_possible_digits,
    found=(
        "DOB: «3 14 1952»",
        "dob «031452»",
        "Date of birth is «03141952»",
        "born on «12.5.48»",
        "D.O.B.: «5:12:1948»",
    ),
    not_found=("DOB: unknown", "dose 031452", "DOB 991452", "update 5 12 1948"),
)

BIRTH_YEAR = Rule(
    name="date_birth_year",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![a-z])
        (?:dob|d\.o\.b\.?|yob|born|b\.(?=[ ]?(?:1[89]|20)[0-9]{2})
          |(?:date|year)[ ]of[ ]birth|birth[ ]?(?:date|year|day))
        (?:[ \t]{0,3}(?:[:=(-]|is|was|on|in|about|around|circa|ca\.?|the[ ]year)){0,3}
        (?:(?<=[ ]in)[ ][a-z][a-z.'-]{1,20}(?:,?[ ][a-z][a-z.'-]{1,20}){0,3},?[ ]in)?
        [ \t]{0,3}
        (?P<phi>(?:1[89]|20)[0-9]{2}|'[0-9]{2})
        (?!['0-9])(?![-/.,:][0-9])(?![ ]?(?:g|grams?|lbs?|hrs?|hours?|h)(?![a-z]))
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.85,
    found=(
        "born in «1932», DOB: «1948», YOB «1951»",
        "She was born in «'41» and he was born about «1950».",
        "Year of birth: «1939»",
        "born in Lagos, Nigeria, in «1932»",
        "b. «1930» per the chart, father b.«1899»",
    ),
    not_found=(
        "born at 1932",
        "born at 1932 g",
        "born in 12 hours",
        "DOB: 1948/03/14",
        "stillborn 1990",
        "born in Lagos with 1932 others",
        "b. 12, hep b. 1930-1940, lab. 1930",
    ),
)

DAY_OF_MONTH = Rule(
    name="date_day_of_month",
    label=Label.DATE,
    # Toes, ribs and nerves end at the twelfth.
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:on|until|by|since)[ ](?:the[ ])
        (?P<phi>(?:1[3-9]|2[0-9]|3[01])(?:st|nd|rd|th)
              (?=[ ]?(?:[.,;)\n]|at[ ][0-9]|\Z))
          |(?:[12]?[0-9]|3[01])(?:st|nd|rd|th)[ ]of[ ](?:this|last|next|that|the)
              [ ]month)
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.7,
    found=(
        "seen on the «14th», and by the «31st».",
        "since the «3rd of this month»",
    ),
    not_found=(
        "on the 3rd, 4th and 5th toes",
        "on the 50th percentile",
        "on the 14th day",
        "on the 14 th",
    ),
)

DAY_OF_MONTH_AT_END = Rule(
    name="date_day_of_month_at_end",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![a-z])
        (?:on|until|till?|by|since|from|after|before|out|off|due|is|for|back|tomorrow
          |today|yesterday|again|clinic|appt|board|review|next|moved[ ]to|seen)[ ]
        (?:the[ ])?
        (?P<phi>(?:1[3-9]|2[0-9]|3[01])(?:st|nd|rd|th)|(?<=the[ ])
          (?:(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth
            |twenty-(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)))
        (?=[ ]{0,2}(?:[.,;)|\n]|at[ ][0-9]|w/|\Z))
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.65,
    found=(
        "- Clips out «16th»\n(Matariki is the «20th», ward), off til the «19th»;",
        "early case tomorrow the «sixteenth», hold",
    ),
    not_found=(
        "weight on the 50th, from the 15th percentile, seen 2nd, is the 14th of 20",
        "after sixteenth, by the tenth, the 13th.",
    ),
)

RULES = (
    DAY_OF_MONTH_AT_END,
    DAY_OF_MONTH,
    CUED_DAY,
    RANGE_OF_DAYS,
    DOTTED_DATE,
    LABELLED_DATE,
    BIRTH_YEAR,
)
