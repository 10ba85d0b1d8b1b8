"""Rules for weekdays that point to one day: "by Friday", "will follow Mon."

A habit has no date: "every Monday", "Mon/Wed/Fri", "Sundays".  Short forms that are
other words too ("sat 98", "sun exposure") need a cue or the end of their phrase.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import MONTH_NAME, words
from deid_core.language.lexicons import load_list

_FLAGS = re.VERBOSE | re.IGNORECASE
_DAY = r"""
    (?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?(?![a-z]))
"""
_SCHEDULE_BEFORE = re.compile(
    rf"""
    (?:\b(?:every|each|per|alternate|most|some|any|other|weekly|once|twice|usual
      |usually|always|only|q|qd|mwf|tts|schedule|days|closed)[ ](?:other[ ])?(?:on[ ])?
      |{_DAY}[ ]?(?:/|,[ ]?(?:{_DAY},?[ ](?:and|&)[ ])?|-|thru[ ]|through[ ]
         |to[ ](?!{_DAY}[ ]?[0-9])|[ ])
      |\bq\.?|\b[mtwf]/)\Z
    """,
    _FLAGS,
)
_SCHEDULE_AFTER = re.compile(
    rf"""
    [ ]?(?:/(?!\d)|-(?=[a-z]))(?:{_DAY}|[mtwfs]\b)
    |,[ ]?{_DAY},?[ ](?:and|&)[ ]{_DAY}
    |[ ](?:through|thru|to)[ ]{_DAY}
    |[ ](?:-[ ])?{_DAY}
    |'?s(?![a-z])|[ ]school|[ ](?:nights|mornings|evenings|afternoons)(?![a-z])
    """,
    _FLAGS,
)
_CUES = load_list("weekday_cues")
_CUE = re.compile(r"(?<![a-z])([a-z/-]+)[ ]?[:(]?[ ]{0,2}\Z", re.IGNORECASE)
_AFTER = re.compile(
    rf"""
    [.,]?[ ](?:am|pm|noon|night|morning|afternoon|evening|eve|early|late|week|wk
      |next|last|the[ ][0-9]|[0-9]{{1,2}}(?:st|nd|rd|th)\b|@|at[ ][0-9]
      |(?:[01][0-9]|2[0-3])[0-5][05](?![0-9])|[0-9]{{1,2}}[:.][0-9]{{2}}
      |[0-9]{{1,2}}[ ]?[ap]m?\b|{MONTH_NAME}|w/|for\b|with\b|to\b|if\b)
    """,
    _FLAGS,
)
_END = re.compile(r"[ ]?(?:[.;,|)]|-(?=[ ])|\n|\Z)", re.IGNORECASE)
_OXYGEN = re.compile(
    r"(?:\bo2|oxygen|pulse|room|venous|resting|low|tube|fe|iron|tsat|dr\.?|mrs?\.?|ms\.?"
    r"|[0-9]%?)[ ,.:]{0,2}\Z",
    re.IGNORECASE,
)
_NUMBER_AFTER = re.compile(r"[.,:;<>=~ ]{0,3}(?:(?:in[ ])?(?:low|mid|high)|[0-9]+%?)")
_NAME_BEFORE = re.compile(
    r"(?:\b(?i:dr|mrs?|ms|prof|miss)\.?[ ]|(?<![A-Za-z])[A-Z]\.[ ]?|['-])\Z"
)
_SURE_CUES = frozenset(
    words("by until till since next last back for arrange recheck home review appt")
)
_PAIR_AFTER = re.compile(
    r"[ ](?:(?:1[3-9]|2[0-9]|3[01])/(?:1[0-2]|0?[1-9])"
    r"|(?:1[0-2]|0?[1-9])/(?:1[3-9]|2[0-9]|3[01]))(?![0-9/])"
)
_WORD_AFTER = re.compile(r"[ ][a-z]")
_OTHER_WORDS = frozenset({"sat", "sun"})
_NO_DAYS = re.compile(
    r"[ ](?:exposure|glare|protect|screen|block|burn|light|down|damage|sensitiv|safety"
    r"|avoid|rash|goal|probe|held|done|monitor|up\b|on[ ](?:the|edge|side))",
    re.IGNORECASE,
)


def _is_one_day(match: re.Match[str]) -> bool:
    """Return whether a weekday's whole name is no habit."""
    text, start, end = match.string, match.start(), match.end()
    return not (
        _SCHEDULE_BEFORE.search(text, max(0, start - 40), start)
        or _SCHEDULE_AFTER.match(text, end)
    )


def _is_short_day(match: re.Match[str]) -> bool:
    """Return whether a weekday's short form is one, and no habit."""
    text, start, end = match.string, match.start(), match.end()
    word = match[0]
    if _NAME_BEFORE.search(text, max(0, start - 8), start):
        return False
    found = _CUE.search(text, max(0, start - 24), start)
    has_cue = found is not None and found[1].lower() in _CUES
    if word.lower() in _OTHER_WORDS and (
        _NO_DAYS.match(text, end)
        or _OXYGEN.search(text, max(0, start - 10), start)
        or (
            _NUMBER_AFTER.match(text, end)
            and not (_AFTER.match(text, end) or _PAIR_AFTER.match(text, end))
        )
    ):
        return False
    if word in _OTHER_WORDS and not _PAIR_AFTER.match(text, end):
        return found is not None and found[1].lower() in _SURE_CUES and _ends(match)
    if has_cue or _AFTER.match(text, end) or _PAIR_AFTER.match(text, end):
        return _is_one_day(match)
    if not _is_one_day(match):
        return False
    if word.islower():
        return word != "wed" and _ends(match)
    if word.lower() in _OTHER_WORDS or word.isupper():
        return found is not None and _ends(match)
    return _ends(match) or found is not None or _WORD_AFTER.match(text, end) is not None


def _ends(match: re.Match[str]) -> bool:
    """Return whether the phrase ends with the match."""
    return _END.match(match.string, match.end()) is not None


WEEKDAY_NAME = Rule(
    name="date_weekday",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:[ ]week)?(?![a-z])
        """,
        _FLAGS,
    ),
    score=0.7,
    is_valid=_is_one_day,
    found=(
        "by «Friday», on «Sunday» night, until «thursday» noon; off to «Monday week»",
        "pain since «SUNDAY»: review «Wednesday week».",
        "missed «Monday» and «Wednesday», dialysed «Friday»",
    ),
    not_found=(
        "every Monday, each other Friday, Sundays, alternate Tuesday mornings",
        "dialysis Monday, Wednesday and Friday; open Monday to Friday",
        "Monday/Wednesday/Friday, Monday-Friday, Monday through Saturday",
        "Sunday school, Friday's, Mondayish, Saturday nights",
    ),
)

WEEKDAY_SHORT = Rule(
    name="date_weekday_short",
    label=Label.DATE,
    pattern=LazyPattern(
        r"(?<![a-z0-9/-])(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)(?![a-z0-9'])(?!/[a-z])",
        _FLAGS,
    ),
    score=0.65,
    is_valid=_is_short_day,
    found=(
        "Will follow «Mon». RN to arrange «Sun».",
        "hip fx, OR «Tues» 0730; tap'd 6 L «Sun» | 2300",
        "recheck «fri» 0900, «Thurs» am; back «SAT».",
        "bed held, «sat» 25/1 07.12; prayers «fri». Labs",
        "see «Wed» for excision. «Mon»- call her; held «Tue», then",
    ),
    not_found=(
        "sat 98, O2 Sat 95 RA, SAT held, Sat. 97%, sats, RA sat. good",
        "Sun glare, sun exposure, Dr. Sun, Dr. Mon and H. Sun, SAT/SBT done",
        "Mon/Wed/Fri, M/W/F, Tue-Thu-Sat, Mon-Fri, every Fri, q Mon, Tue Thu Sat",
        "They wed, he sat on the bed, the sun. He sat. Newly wed.",
    ),
)

RULES = (WEEKDAY_NAME, WEEKDAY_SHORT)
