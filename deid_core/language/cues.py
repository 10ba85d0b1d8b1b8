"""What stands around a run and says whether it is a place or a house here."""

from __future__ import annotations

import re
from typing import NamedTuple

from .context import before
from .fragments import MONTH_WORDS, MONTHS, STATE, WEEKDAYS, any_of, words

_REACH = 64
_PLACE_CUE = re.compile(
    r"""
    (?<![A-Za-z])
    (?:(?:in|from|to|near|of|outside|around|downtown|visiting|toward|leaving|via)
       (?:[ ](?:the|our|downtown|nearby|greater|north|south|east|west))?
      |(?:our|the|at|at[ ]our|at[ ]the))[ ]\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_STRICT_PLACE_CUE = re.compile(
    r"""
    (?<![A-Za-z])
    (?:(?:live[sd]?|living|resid(?:es|ed|ing)|resident|born|raised|grew[ ]up|moved
        |travell?(?:s|ed|ing)?|trip|visit(?:ing|ed)?|flew|native|originally
        |works?|working|worked|drove|came|comes|located|vacation(?:ing)?|based|home
        |practice|hospital|clinic|center|school|arrived|returned|transferred|stationed
        |family|house|job)
       [ ](?:[a-z]+[ ]){0,2}(?:in|from|to|near|outside|around|at)
     |(?:resident|native|hometown|outside|north|south|east|west|city|town)[ ]of)
    (?:[ ]the)?[ ]\Z
    """,
    re.VERBOSE,
)
_HOME_ENDS = tuple(
    f" {word} " for word in words("in from to near outside around at of the")
)
_NO_PLACE_AFTER = re.compile(
    r"""
    [ -](?:[Hh]eart|[Cc]lassification|[Cc]riteria|score|scale|virus|fever|grade|brace
      |encephalitis|bag|disease|equine|valve|sign|syndrome|terrier|protocol|system
      |[Ss]cientific|[Cc]oma|Outcome|[Ss]ling|needle|knot|forceps|Conference
      |[Cc]onsensus|study|trial|variant|Marathon|[Aa]ngle|River)(?![a-z])
    """,
    re.VERBOSE,
)
# Only where no cue makes it a town: "Paris IIa", but "in London N1", "Boston group".
_GRADE_AFTER = re.compile(
    r"""
    [ ](?:(?:tables?|biops(?:y|ies)|group|staging|stage|index|questionnaire|stirrups
          |bridge)(?![a-z])
      |(?:[0-9]{1,2}|[IVX]{1,4}[A-Ca-c]?|[A-Z][0-9](?:[ ][A-Z][0-9])+)(?=[.,;:)\n]|\Z))
    """,
    re.VERBOSE,
)
_NO_PLACE_BEFORE = re.compile(
    r"(?:(?<![A-Za-z])(?:Dr|Mr|Mrs|Ms|by|with|a|an|[Rr]evised)\.?[ ]"
    r"|-|[0-9][ ]?ga?[ ])\Z"
)
_PLACE_TAIL = re.compile(
    rf"""
    (?:,[ ](?P<state>{STATE})(?![A-Za-z])
      |(?:[ ](?:downtown|uptown|area|main|north|south|east|west|satellite|metro))?
       [ ](?:clinic|office|hospital|campus|branch|location|facility)(?![a-z]))
    """,
    re.VERBOSE,
)
_MONTHS = rf"(?:{any_of(map(str.capitalize, MONTH_WORDS))})(?![a-z])"
_DAYS = any_of(map(str.capitalize, (*WEEKDAYS, *MONTHS)))
_HOUSE_TAIL = re.compile(
    rf"""
    (?P<house>(?:'s)?(?:[ ](?:hospital|clinic|office|campus|hosp)(?![a-z]))?)
    (?:,?[ ](?:(?:in|of|at)[ ])?(?:the[ ])?
       (?P<city>[A-Z][A-Za-z]+(?:[ ][A-Z][a-z]+){{0,2}})
       ,[ ](?P<state>{STATE})(?![A-Za-z])
      |,?[ ]in[ ](?!{_MONTHS})(?P<town>[A-Z][a-z]+(?:[ ][A-Z][a-z]+){{0,2}}))?
    """,
    re.VERBOSE,
)
_HOUSE_CUE = re.compile(
    r"""
    (?<![A-Za-z])(?:at|from|to|in|by|with|through|of|via|our|the)(?:[ ]the|[ ]our)?[ ]\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CARE = frozenset(
    words(
        """
        seen treated admitted evaluated hospitalized hospitalised visit visited visits
        visiting appointment follow followed follows following follow-up followup
        scheduled care presented presenting transferred diagnosed report discharged
        surgery checkup check-up consultation consulted works work working worked
        employed room stay stayed performed done therapy operated received receiving
        managed examined referred rehab ed residing resides living lives delivered
        stationed enrolled attends attended student teaches last patient center biopsy
        imaging lab labs team colleagues specialist session trial treatment seeing
        readmitted being underwent assessment assessed review exam
        """
    )
)
_DETERMINERS = frozenset({"the", "our"})
_EMPLOYED = frozenset(
    words(
        """
        retired laid fired employed employee works work worked working job driver clerk
        cashier manager engineer teacher nurse worker technician agent professor
        accountant mechanic operator analyst executive assembly
        """
    )
)
_EMPLOYED_BY = frozenset(words("from by with at of for"))
_EMPLOYED_ENDS = (*(f" {word} " for word in sorted(_EMPLOYED_BY)), " the ")
_CARE_ENDS = (" at ", " the ", " our ")
_HOUSE_ENDS = (*_EMPLOYED_ENDS, *_CARE_ENDS)
_IN_TOWN = re.compile(
    r"(?<=[a-z)])[ ](?:in|from|near|to)[ ](?:the[ ](?:[a-z]+[ ])?)?\Z"
)
_NO_HOUSE = re.compile(
    rf"""
    (?:[A-Z]{{1,3}}|[A-Z][0-9].*
      |(?:The|Her|His|Bedtime|Home|Night|Noon|Baseline|Least|Most|First|This|That
         |Emergency|Urgent|Operating|Recovery|Bedside|Dinner|Lunch|Breakfast
         |{_DAYS}|Christmas|Thanksgiving|Easter|Dr|Mr|Mrs|Ms|Stage|Grade|Level|Room)
       (?![a-z]).*)
    """,
    re.VERBOSE,
)


def is_in_town(text: str, start: int) -> bool:
    """Return whether "in" or "from" stands before, in the middle of a sentence."""
    return bool(_IN_TOWN.search(text, max(0, start - 24), start))


def is_beside_place(text: str, end: int) -> bool:
    """Return whether a state follows, or a house that bears a town's name."""
    return bool(_PLACE_TAIL.match(text, end))


def is_after_home_cue(text: str, start: int) -> bool:
    """Return whether somebody lives in, moved to or works near what follows."""
    # Before most towns stands another word.
    return text.endswith(_HOME_ENDS, 0, start) and bool(
        _STRICT_PLACE_CUE.search(text, max(0, start - _REACH), start)
    )


def is_after_place_cue(text: str, start: int) -> bool:
    """Return whether "in", "from", "near" or the like stands before."""
    return bool(_PLACE_CUE.search(text, max(0, start - _REACH), start))


def is_no_place(text: str, start: int, end: int) -> bool:
    """Return whether a town's name belongs to a score, a virus, a device, a person."""
    return bool(
        _NO_PLACE_AFTER.match(text, end)
        or _NO_PLACE_BEFORE.search(text, max(0, start - 8), start)
    )


def has_grade_behind(text: str, end: int) -> bool:
    """Return whether a number, a class or "tables" stands behind a town's name."""
    return bool(_GRADE_AFTER.match(text, end))


def may_follow_house_cue(text: str, start: int) -> bool:
    """Return whether `is_after_care` or `is_where_somebody_works` may be true."""
    return text.endswith(_HOUSE_ENDS, 0, start)


def is_where_somebody_works(text: str, start: int) -> bool:
    """Return whether somebody works for or is retired from what follows."""
    if not text.endswith(_EMPLOYED_ENDS, 0, start):
        return False
    left = _without_determiner(before(text, start).words)
    if left[0] not in _EMPLOYED_BY:
        return False
    return left[:3] == ("from", "off", "laid") or not _EMPLOYED.isdisjoint(left[1:2])


def _without_determiner(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if words[1:] and words[0] in _DETERMINERS else words


def end_of_place(text: str, end: int) -> tuple[int, tuple[int, int] | None]:
    """Return where a place ends with the house it lends its name, and its state."""
    tail = _PLACE_TAIL.match(text, end)
    if tail is None:
        return end, None
    return (end, tail.span("state")) if tail["state"] else (tail.end(), None)


class Tail(NamedTuple):
    """What follows the name of an institution: "'s hospital in Rochester, MN".

    Args:
        end: Where the institution itself ends.
        city: Where its town stands, if it does.
        state: Likewise.
    """

    end: int
    city: tuple[int, int] | None = None
    state: tuple[int, int] | None = None


def tail_of_house(text: str, end: int) -> Tail:
    """Return where an institution ends, and its town and state behind it."""
    tail = _HOUSE_TAIL.match(text, end)
    if tail is None:
        return Tail(end)
    if tail["state"]:
        return Tail(tail.end("house"), tail.span("city"), tail.span("state"))
    return Tail(tail.end("house"), tail.span("town") if tail["town"] else None)


def is_after_house_cue(text: str, start: int) -> bool:
    """Return whether "at", "from", "by" or the like stands before."""
    return bool(_HOUSE_CUE.search(text, max(0, start - _REACH), start))


def is_after_care(text: str, start: int) -> bool:
    """Return whether somebody is seen, treated or employed "at" what follows."""
    if not text.endswith(_CARE_ENDS, 0, start):
        return False
    left = _without_determiner(before(text, start).words)
    return left[:1] == ("at",) and not _CARE.isdisjoint(left[1:])


def may_be_house(text: str, start: int, end: int) -> bool:
    """Return whether what somebody is treated at is not a time, a level or a room."""
    return (
        not _NO_HOUSE.fullmatch(text, start, end) and not text[end : end + 1].isdigit()
    )
