"""A rule for days without a year, "10/7", in notes that set them in no sentence.

Half of the pairs of small numbers in dense notes are scores, strengths, fractions,
doses, ventilator settings and durations.  A unit, a scale or a finding next to a pair
excludes a day.  Then how it is written weighs most: no score exceeds its scale, and
none is padded.  What is left is judged by the words around it, and by the days that
the rest of the note shows.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from string import ascii_letters

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT
from deid_core.language.lexicons import load_list

from .numeric import are_day_and_month

_UNIT = re.compile(UNIT, re.VERBOSE | re.IGNORECASE)
_LAST_MONTH = 12
_REACH = 28
_SCALES = frozenset({5, 10})
_LARGE_SCALES = frozenset({15, 20, 24, 25, 28, 30})
"""Denominators over 12 of scores, fields of vision and durations."""
_DURATIONS = frozenset({7, 12, 24, 30, 40, 52})
"""In the Commonwealth, n/7 are days, n/12 months, n/24 hours, n/40 weeks pregnant."""
_BEFORE_NO_DAY = load_list("before_no_day")
_IN_PHRASE_OF_NO_DAY = load_list("phrases_of_no_day")
_BEFORE_DAY = load_list("before_day")
_SURELY_BEFORE_DAY = load_list("surely_before_day")
_PROCEDURES = ("gram", "scopy", "ectomy", "graphy", "plasty", "otomy")
_MOVED_TO = ("moved to ", "moved up to ", "scheduled to ", "postponed to ")
_TIME_AFTER = re.compile(
    r"""
    [,]?[ ](?:at[ ]|@[ ]?)?
    (?:(?:[01]?[0-9]|2[0-3])[:.h][0-5][0-9](?![0-9])
      |(?:[01][0-9]|2[0-3])[0-5][05](?![0-9/])(?![ ]?(?:ml|cc|mg|units?)(?![a-z]))
      |(?:1[0-2]|[1-9])[ ]?[ap]\.?m?(?![a-z])|noon\b|midnight\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NO_DAY_AFTER = re.compile(
    r"""
    [ ]?(?:ppd|pack|of(?!f)|in\b(?![ ](?:clinic|person|the))|ns\b|cup|tsp|tbsp|mile
      |inch|strength|pain|scale|h(?:rs?)?\b|mm\b|u\b|\"|''|%|red\b|full|normal|wnl
      |correct|recall|pos(?:itive)?\b|neg(?:ative)?\b|with[ ]movement|at[ ]rest|rest\b
      |(?:r|l|b|bl|bilat\w*|left|right|both|in|od|os|ou|ph)(?![a-z])|bottles|sets|nodes
      |weeks?\b|day\b|days\b|yo\b|->|murmur|sem\b|reps|lb|kg|tab|mac\b|sys|llsb|rusb
      |lusb|deltoid|hip|knee|ankle|quad|grip|hold\b|mix|ratio|gestation|at[ ]baseline
      |signal|throughout|bilat|on[ ](?:the|a)[ ](?:scale|right|left))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SKIN_TEST = re.compile(r"ista(?:mine|trol)(?:[ ]control)?[ ,:]{1,2}[0-9]{1,2}[/x]")
_NUMBER_BEFORE = re.compile(r"[0-9+)][ ]?(?:[,;&+x]|->|to|and)?[ ]{0,2}\Z")
_PAIR_BEFORE = re.compile(r"[0-9]/[0-9]{1,2}[+-]?[^\n.|]{0,10}\Z")
_RANGE_START = re.compile(
    r"(?<![0-9/.])(?P<a>[0-9]{1,2})/(?P<b>[0-9]{1,2})"
    r"[ ]?(?:to|thru|through|and|&|-)[ ]?\Z"
)
_LINE_START = re.compile(r"(?:\A|\n)[ \t>*|-]{0,6}\Z")
_WORD_OR_END = re.compile(r"[ ]{0,2}(?:[-:|;]|[A-Za-z\"(]|\Z|\n)")
_FULL_DATE = re.compile(r"/(?<=[0-9]/)[0-9]{1,2}/(?:[0-9]{4}|[0-9]{2})(?![0-9/])")
_DAY_OF_MONTH = re.compile(
    r"""
    (?<![0-9/.-])0?(?P<month>1[0-2]|[1-9])/
    (?:(?:1[3-9]|2[0-9]|3[01])(?![0-9/])
      |[0-9]{1,2}/(?:[0-9]{4}|[0-9]{2})(?![0-9/]))
    """,
    re.VERBOSE,
)
_WIDEST_GAP = 3
_NEAR = 2_000
"""How far the rest of the note is asked: its length must not count squared."""
_ENOUGH, _OPEN = 2, 0
"""Points of a day, and the least with which the rest of the note is asked."""
_NEVER = -9


class BareDays:
    """Tell days from other pairs of numbers in one note.

    What the rest of the note shows is found once, when a pair first asks for it.

    Args:
        text: The note, folded (`fragments.to_ascii`).
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def is_day(self, match: re.Match[str]) -> bool:
        """Return whether a pair is a day and a month, and nothing measured."""
        points = self._points(match)
        if points >= _ENOUGH or points < _OPEN:
            return points >= _ENOUGH
        return points + self._of_note(match) >= _ENOUGH

    def is_no_day(self, start: int, end: int) -> bool:
        """Return whether what others take for a day is a pair that measures something.

        Args:
            start: Of what is taken for a day; nothing but two numbers and a slash
                between them is judged.
            end: Of it.
        """
        match = BARE_DAY.pattern.match(self.text, start)
        if match is None or match.end() != end:
            return False
        return self._points(match) + self._of_note(match) <= _OPEN

    def _points(self, match: re.Match[str]) -> int:
        """Return how much a pair and what is next to it look like a day."""
        text, start, end = self.text, match.start(), match.end()
        if not are_day_and_month(match["a"], match["b"]):
            return _NEVER
        if _UNIT.match(text, end) or _NO_DAY_AFTER.match(text, end):
            return _NEVER
        left = text[max(0, start - _REACH) : start]
        word, gap = _last_word(left)
        if _is_measured(left, word, gap):
            return _NEVER
        first, second = int(match["a"]), int(match["b"])
        points = _shape(match["a"], match["b"], first, second)
        if points >= _ENOUGH and self._is_skin_test(start):
            points = 0
        points += _before(match, left, first, second) + _cue(left, word, gap)
        if not _IN_PHRASE_OF_NO_DAY.isdisjoint(_phrase(left)):
            points -= 3
        return points + 3 if _TIME_AFTER.match(text, end) else points

    def _is_skin_test(self, start: int) -> bool:
        """Return whether wheals and flares are near: their sizes look like days."""
        return self._skin_tests.are_within(start - _NEAR, start + _NEAR)

    def _of_note(self, match: re.Match[str]) -> int:
        """Return what the rest of the note adds: days of the month, or any date."""
        start, end = match.span()
        # One is not evidence for itself.
        others = (start - _NEAR, start), (end, end + _NEAR)
        same = self._by_month.get(int(match["a"]), _NOWHERE)
        if any(same.are_within(*each) for each in others):
            return 2
        return 1 if any(self._full_dates.are_within(*each) for each in others) else 0

    @cached_property
    def _skin_tests(self) -> _Places:
        return _Places([each.span() for each in _SKIN_TEST.finditer(self.text)])

    @cached_property
    def _full_dates(self) -> _Places:
        return _Places([each.span() for each in _FULL_DATE.finditer(self.text)])

    @cached_property
    def _by_month(self) -> dict[int, _Places]:
        found: dict[int, list[tuple[int, int]]] = {}
        for each in _DAY_OF_MONTH.finditer(self.text):
            found.setdefault(int(each["month"]), []).append(each.span())
        return {month: _Places(spans) for month, spans in found.items()}


class _Places:
    """Spans of a note in their order, none in another."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def are_within(self, first: int, past: int) -> bool:
        """Return whether one of them lies between two offsets."""
        at = bisect_left(self._starts, first)
        return at < len(self._ends) and self._ends[at] <= past


_NOWHERE = _Places(())


def _is_measured(left: str, word: str, gap: str) -> bool:
    """Return whether what precedes measures: a scale, a dose, an instrument."""
    is_scale = word in _BEFORE_NO_DAY and gap.strip() in ("", ":", "=")
    return is_scale or left.endswith(("#", "+", "x", "X", "x "))


def _phrase(left: str) -> list[str]:
    """Return the words since the last mark."""
    marks = (left.rfind(mark) for mark in ".,;|\n")
    return left[max(marks) + 1 :].lower().split()


def _before(match: re.Match[str], left: str, first: int, second: int) -> int:
    """Return what the place of a pair adds: a line's start, a range, a list."""
    if _LINE_START.search(left):
        return 2 if _WORD_OR_END.match(match.string, match.end()) else 0
    if _ends_range(left, first, second):
        return 3
    if _NUMBER_BEFORE.search(left):
        return -2
    return -1 if _PAIR_BEFORE.search(left) else 0


def _cue(left: str, word: str, gap: str) -> int:
    """Return what the word right before a pair adds."""
    if len(gap) > _WIDEST_GAP:
        return 0
    if word in _SURELY_BEFORE_DAY or left.lower().endswith(_MOVED_TO):
        return 3
    return 2 if word in _BEFORE_DAY or word.endswith(_PROCEDURES) else 0


def _ends_range(left: str, month: int, day: int) -> bool:
    """Return whether an earlier day of the month precedes, as in "6/1 to 6/3"."""
    found = _RANGE_START.search(left)
    return found is not None and int(found["a"]) == month and int(found["b"]) < day


def _shape(a: str, b: str, first: int, second: int) -> int:
    """Return how much two numbers look like a day."""
    if a[0] == "0" or (b[0] == "0" and second):
        return 3
    if first > _LAST_MONTH:
        return 0 if second in _DURATIONS else 2
    if second > _LAST_MONTH:
        return 2 if second in _LARGE_SCALES else 3
    if first > second:
        return 1 if second in _DURATIONS or second in _SCALES else 2
    return -1 if second in _SCALES or second in _DURATIONS else 0


def _last_word(left: str) -> tuple[str, str]:
    """Return the last word in lower case, and what stands between it and the end."""
    bare = left.rstrip(" \t.,:;=(~-")
    head = bare.rstrip(ascii_letters + "'/-")
    return bare[len(head) :].lower(), left[len(bare) :]


BARE_DAY = Rule(
    name="date_bare_day",
    label=Label.DATE,
    pattern=LazyPattern(
        r"""
        (?P<a>[0-9](?<![0-9a-z][0-9])(?<![0-9][-/.,][0-9])(?<!/[0-9])[0-9]?)
        /(?P<b>[0-9]{1,2})(?![0-9a-z])(?![-/.][0-9])(?!/)
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.7,
    check_of=lambda text: BareDays(text).is_day,
    found=(
        "ecchymosis outlined «10/7», DP 2+. tx'd «1/11» from",
        "home ~«8/26» w/ HH; «12/19» 0830 rounds, follow «4/22»",
        "S. Roe md  «5/5» 1640\n«4/1» held 25 min. PT by phone «12/07».",
        "Antihistamine given, home «4/22»",
        "Seen 4/18/2024.\nExam «4/8», wound «6/1» to «6/3»",
    ),
    not_found=(
        "pain 2/10, strength 4/5, Katz 3/6, GCS 10/15, VA 6/9, 20/25",
        "ctx d 3/5, BiPAP 12/5, PSV 10/6, 1/2 ppd, 39 4/7 weeks, 2/2 bottles",
        "TCU 3/12, x 10/7, Vicryl 3/0, 6/5 mm, 24/7 care, Rib 7/8, 1/2",
        "Skin prick: Histamine 7/20, Timothy 6/14, Oak 8/22",
    ),
)

RULES = (BARE_DAY,)
