"""Line ends that cut a name, a number or an address: "Dr. Bertrand-" and "villon".

Text that was broken at a fixed width, or taken from a PDF, has such places.  What is
around them is read once more with the line end taken out, and of that reading only what
goes across counts: all else was read before.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from string import ascii_letters, digits
from typing import NamedTuple

from .fragments import MONTH_WORDS, UNIT, any_of
from .lexicons.lists import load_list, load_pairs
from .lexicons.word_classes import is_mere_word
from .reading import Reading, moved

_REACH = 120
"""How much of both lines is read again."""
_BETWEEN = "\n\n"
_LABEL_REACH = 48
_BLANKS = " \t\r"
_LAST = frozenset(f"-./),{digits}{ascii_letters}")
_MONTH = any_of(MONTH_WORDS)
_MONTH_AT_END = re.compile(rf"(?<![a-z]){_MONTH}\.?\Z", re.IGNORECASE)
_DAY_AT_END = re.compile(r"(?<![0-9./-])(?:3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th)?\Z")
_YEAR_OR_DAY = re.compile(
    r"(?:[0-9]{1,2}(?:st|nd|rd|th)?,?[ ](?:1[89]|20)[0-9]{2}|(?:1[89]|20)[0-9]{2})"
    r"(?![0-9./-])"
)
_MONTH_FIRST = re.compile(rf"{_MONTH}(?![a-z])", re.IGNORECASE)
_STREET_AT_END = re.compile(
    r"(?<![0-9./])[0-9]{1,5}[ ](?:[NSEW][.]?[ ])?[A-Z][a-z]+(?:[ ][A-Z][a-z]+)?\Z"
)
_FIRST_WORD = re.compile(r"([A-Z][a-z]+)(?![A-Za-z'-])")
_NAME_AT_END = re.compile(
    r"(?<![A-Za-z])(?i:dr|mr|mrs|ms|prof)\.?[ ][A-Z][A-Za-z'-]+\Z"
)
_NAME_ALONE = re.compile(r"[A-Z][A-Za-z'-]+(?=[.,]?\Z)")
_LABELLED_DIGITS_AT_END = re.compile(
    r"""
    (?<![a-z])(?:mrn|ssn|csn|fin|id|nhs|hicn|number|no|nr|acct|account|policy|record
      |member|chart|case|file|claim|[#])
    [.:#=]{0,2}[ ]{0,3}(?:(?:is|was|of)[ ])?[a-z]{0,4}[0-9]{2,7}\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AREA_CODE = re.compile(r"(?<![0-9./,-])[0-9]{3}\Z")
_REST_OF_PHONE = re.compile(r"[0-9]{3}[-. ][0-9]{4}(?![0-9])")
_MIDDLE_OF_PHONE = re.compile(r"[0-9]{3}[)]?[. ][0-9]{3}[.]\Z")
_FIRST_OF_PHONE = re.compile(r"[0-9]{3}(?:[)]?[ ]|-)[0-9]{3}\Z")
_END_OF_PHONE = re.compile(r"[0-9]{4}(?![0-9])")
_MORE_DIGITS = re.compile(r"[0-9]{3,}(?![0-9.,:/%-]*[0-9:/%])")
_MEASURED = re.compile(rf"[0-9]+(?:{UNIT}|[ -]?(?:y|c/|x[ ]))", re.VERBOSE | re.I)


@dataclass(frozen=True, slots=True)
class MendedReading(Reading):
    """The lines around such line ends, without these.

    Args:
        joints: Where a line end was, in the reading.
        doubtful: Those of them between numbers without a label.
        bounds: Where lines begin that do not follow what is before, in the reading.
    """

    joints: Sequence[int] = field(default=(), repr=False)
    doubtful: frozenset[int] = field(default=frozenset(), repr=False)
    bounds: Sequence[int] = field(default=(), repr=False)

    def of_note(self, start: int, end: int) -> str:
        """Return how a range of the note reads if it goes across, else nothing."""
        first = moved(start, self.note_starts, self.note_ends, self.starts, self.ends)
        last = moved(end - 1, self.note_starts, self.note_ends, self.starts, self.ends)
        is_across = self.goes_across(first[0], last[1])
        return self.text[first[0] : last[1]] if is_across else ""

    def goes_across(self, start: int, end: int) -> bool:
        """Return whether a range goes across such a line end, and is in one piece."""
        at = bisect_left(self.joints, start + 1)
        if at == len(self.joints) or self.joints[at] >= end:
            return False
        bound = bisect_left(self.bounds, start + 1)
        return bound == len(self.bounds) or self.bounds[bound] > end

    def is_one_word(self, start: int, end: int) -> bool:
        """Return whether each word is surely one that a range holds both parts of.

        It is if a hyphen was between them that was kept, or was between letters; no
        blank and no two numbers are.
        """
        first = bisect_left(self.joints, start + 1)
        joints = self.joints[first : bisect_left(self.joints, end)]
        return all(map(self._is_one_word, joints))

    def is_doubtful(self, start: int, end: int) -> bool:
        """Return whether a range goes across two numbers that may be two values."""
        first = bisect_left(self.joints, start + 1)
        joints = self.joints[first : bisect_left(self.joints, end)]
        return not self.doubtful.isdisjoint(joints)

    def _is_one_word(self, joint: int) -> bool:
        before, after = self.text[joint - 1], self.text[joint]
        return before in "-/." or (before.isalpha() and after.isalpha()) or after == "@"


class _Cut(NamedTuple):
    """A line end that may cut something.

    Args:
        start: Of what is taken out, a hyphen included.
        end: Of it.
        joint: What takes its place.
        is_doubtful: Whether it is between numbers without a label.
    """

    start: int
    end: int
    joint: str
    is_doubtful: bool = False


def mended(text: str, *, numbers: bool = False) -> MendedReading | None:
    """Return the lines around line ends that may cut something; None without any.

    Args:
        text: The note.
        numbers: Whether any two numbers may be one, not only what has a label.
    """
    cuts = [*_cuts(text)] if "\n" in text else []
    if not numbers:
        cuts = [cut for cut in cuts if not cut.is_doubtful]
    if not cuts:
        return None
    writer = _Writer(text)
    for first, last, own in _lines_around(text, cuts):
        writer.write_lines(first, last, own)
    return writer.reading()


class _Writer:
    """Writes the reading of a note, and the way back to it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str] = []
        self._starts, self._ends, self._note_starts, self._note_ends = (
            array("q") for _ in range(4)
        )
        self._joints, self._bounds = array("q"), array("q")
        self._doubtful: set[int] = set()
        self._size = self._cursor = 0

    def write_lines(self, first: int, last: int, cuts: Iterable[_Cut]) -> None:
        """Write a range of the note without the line ends in it that cut something."""
        self._skip_to(first, _BETWEEN if self._size else "")
        self._bounds.append(self._size)
        for cut in cuts:
            self._copy_to(cut.start)
            self._joints.append(self._size)
            if cut.is_doubtful:
                self._doubtful.add(self._size)
            self._skip_to(cut.end, cut.joint)
        self._copy_to(last)

    def reading(self) -> MendedReading:
        """Return what was written."""
        return MendedReading(
            "".join(self._pieces),
            self._starts,
            self._ends,
            self._note_starts,
            self._note_ends,
            self._joints,
            frozenset(self._doubtful),
            self._bounds,
        )

    def _skip_to(self, place: int, instead: str) -> None:
        self._pieces.append(instead)
        if place > self._cursor:
            self._starts.append(self._size)
            self._ends.append(self._size + len(instead))
            self._note_starts.append(self._cursor)
            self._note_ends.append(place)
        self._size += len(instead)
        self._cursor = place

    def _copy_to(self, place: int) -> None:
        self._pieces.append(self._text[self._cursor : place])
        self._size += place - self._cursor
        self._cursor = place


def _lines_around(
    text: str, cuts: Sequence[_Cut]
) -> Iterator[tuple[int, int, list[_Cut]]]:
    """Yield the ranges of the note to read again, each with its cuts."""
    first = last = -1
    own: list[_Cut] = []
    for cut in cuts:
        start = max(text.rfind("\n", 0, cut.start) + 1, cut.start - _REACH)
        line_end = text.find("\n", cut.end)
        end = min(len(text) if line_end < 0 else line_end, cut.end + _REACH)
        if start > last:
            if own:
                yield first, last, own
            first, own = start, []
        own.append(cut)
        last = end
    yield first, last, own


def _cuts(text: str) -> Iterator[_Cut]:
    start = 0
    lines = text.split("\n")
    for line, following in pairwise(lines):
        end = start + len(line)
        before = line.rstrip(_BLANKS) if line[-1:] in _BLANKS else line
        after = following.lstrip(_BLANKS) if following[:1] in _BLANKS else following
        if before and after and before[-1] in _LAST:
            joint = _joint(before, after)
            if joint is not None:
                is_hyphen = before[-1] == "-" and after[0].islower()
                are_numbers = before[-1].isdigit() and after[0].isdigit()
                yield _Cut(
                    start + len(before) - is_hyphen,
                    end + 1 + len(following) - len(after),
                    joint,
                    are_numbers and not joint and not _is_labelled(before, after),
                )
        start = end + 1


def _joint(before: str, after: str) -> str | None:
    """Return what joins two lines, or None where they may be as they are."""
    last, first = before[-1], after[0]
    if first == "@":
        return "" if last.isalnum() else None
    if last == "-":
        return "" if first.isalnum() and before[-2:-1].isalnum() else None
    if last == "/":
        return "" if first.isdigit() and before[-2:-1].isdigit() else None
    if last == ".":
        is_phone = _MIDDLE_OF_PHONE.search(before) and _END_OF_PHONE.match(after)
        return "" if is_phone else None
    if last == ")":
        return " " if first.isdigit() and before[-2:-1].isdigit() else None
    if last.isdigit() and first.isdigit():
        is_phone = _AREA_CODE.search(before) and _REST_OF_PHONE.match(after)
        if is_phone or (_FIRST_OF_PHONE.search(before) and _END_OF_PHONE.match(after)):
            return " "
        return ""
    is_cut = any(each(before, after) for each in (_is_date, _is_street, _is_name))
    return " " if is_cut else None


def _is_labelled(before: str, after: str) -> bool:
    """Return whether a number with a label goes on in the next line."""
    return bool(
        _LABELLED_DIGITS_AT_END.search(before[-_LABEL_REACH:])
        and _MORE_DIGITS.match(after)
        and not _MEASURED.match(after)
    )


def _is_date(before: str, after: str) -> bool:
    if after[0].isdigit():
        ends = before.rstrip(",")[-12:]
        return bool(_MONTH_AT_END.search(ends) and _YEAR_OR_DAY.match(after))
    return bool(_MONTH_FIRST.match(after) and _DAY_AT_END.search(before[-8:]))


def _is_name(before: str, after: str) -> bool:
    """Return whether a name after a title goes on as all of the next line."""
    name = _NAME_ALONE.match(after)
    if name is None or not _NAME_AT_END.search(before[-48:]):
        return False
    return not all(map(is_mere_word, name[0].lower().replace("'", "").split("-")))


def _is_street(before: str, after: str) -> bool:
    word = _FIRST_WORD.match(after)
    if word is None or not before[-1].isalpha():
        return False
    name = word[1].lower()
    suffix = load_pairs("street_words").get(name, name)
    return suffix in load_list("street_suffixes") and bool(
        _STREET_AT_END.search(before[-48:])
    )
