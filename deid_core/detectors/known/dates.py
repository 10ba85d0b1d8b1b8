"""The birth date in every usual form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from .note import Note, Word

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_FILLERS = frozenset({"st", "nd", "rd", "th", "of", "the", "day"})
_GAP = re.compile(r"[\s,./\-\u2010-\u2013']{0,4}")
# No comma: in "3/14/57, 14 March" the second date does not belong to the first year.
_GAP_AFTER_YEAR = re.compile(r"[\s./\-\u2010-\u2013']{0,4}")


@dataclass(frozen=True, slots=True, repr=False)
class BirthDates:
    """Birth dates as words: what stands for the year, the month and the day.

    Args:
        dates: Each date as three sets of compared forms: year, month, day.
        years: All forms of all years; the place where the search begins.
        compact: Eight digits in the orders ymd, mdy and dmy, and six with a short year.
    """

    dates: tuple[tuple[frozenset[str], frozenset[str], frozenset[str]], ...]
    years: frozenset[str]
    compact: frozenset[str]

    @classmethod
    def of(cls, dates: Iterable[date]) -> BirthDates:
        """Prepare the dates of a record."""
        forms = tuple(_forms(each) for each in dates)
        years = frozenset().union(*(year for year, _, _ in forms))
        return cls(forms, years, frozenset(c for each in dates for c in _compact(each)))

    @property
    def keys(self) -> frozenset[str]:
        """The compared forms that must be located in a note."""
        return self.years | self.compact

    def find(self, note: Note, located: Iterable[Word]) -> Iterator[tuple[int, int]]:
        """Yield where a birth date stands, as half-open ranges.

        Args:
            note: Where to look.
            located: Hold all occurrences of ``keys``.
        """
        for word in located:
            if word.normal in self.years or word.normal in self.compact:
                yield from self._around(note, word)
        yield from self._in_timestamps(note.text)

    def _around(self, note: Note, word: Word) -> Iterator[tuple[int, int]]:
        if word.normal in self.compact:
            yield word.start, word.end
        if word.normal in self.years:
            back = _neighbours(note, word, forward=False)
            ahead = _neighbours(note, word, forward=True)
            for pair in (back, ahead):
                if len(pair) == 2 and self._is_date(word, *pair):
                    start = min(word.start, pair[1].start)
                    yield start, max(word.end, pair[1].end)

    def _is_date(self, year: Word, first: Word, second: Word) -> bool:
        return any(
            year.normal in years
            and (
                (first.normal in months and second.normal in days)
                or (first.normal in days and second.normal in months)
            )
            for years, months, days in self.dates
        )

    def _in_timestamps(self, text: str) -> Iterator[tuple[int, int]]:
        # HL7 TS: yyyymmddhhmm[ss]; the whole number goes, its head alone is no word.
        for digits in self.compact:
            if digits[:2] in {"19", "20"} and len(digits) == 8 and digits in text:
                pattern = rf"(?<!\d){digits}\d{{4}}(?:\d\d)?(?!\d)"
                for each in re.finditer(pattern, text):
                    yield each.span()


def _neighbours(note: Note, word: Word, *, forward: bool) -> list[Word]:
    """Return the two words beside a year that can be its month and day."""
    found: list[Word] = []
    place = word
    for _ in range(6):
        gap, other = note.after(place.end) if forward else note.before(place.start)
        joint = _GAP_AFTER_YEAR if forward else _GAP
        if other is None or not joint.fullmatch(gap):
            break
        place = other
        if other.normal not in _FILLERS:
            found.append(other)
        if len(found) == 2:
            break
    return found


def _forms(day: date) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    month = MONTHS[day.month - 1]
    months = {f"{day.month:02}", str(day.month), month, month[:3]}
    if month == "september":
        months.add("sept")
    return (
        frozenset({f"{day.year:04}", f"{day.year % 100:02}"}),
        frozenset(months),
        frozenset({f"{day.day:02}", str(day.day)}),
    )


def _compact(day: date) -> Iterator[str]:
    year, month, dom = f"{day.year:04}", f"{day.month:02}", f"{day.day:02}"
    yield from (year + month + dom, month + dom + year, dom + month + year)
    yield month + dom + year[2:]
    yield dom + month + year[2:]
    yield year[2:] + month + dom
