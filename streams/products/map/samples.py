"""The fields of samples of JSON events: paths, types and counts, never values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from streams.formats.json_map.paths import ELEMENTS, Steps
from streams.formats.json_map.sources import EPOCH, EPOCH_MS, day_of, moment_of, time_in

MAX_NAMES = 200
"""Names of one object, beyond which they are values."""
_LONGEST_DATE = 40
_YEARS = range(1900, 2101)
_NAME = re.compile(r"[A-Za-z_@$][\w@$:. -]{0,63}", re.ASCII)
_NUMBER = re.compile(r"\d{4}")
_DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%Y%m%d"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S", "%H%M")
ISO = ""
"""The format that needs no mention in a map."""
FORMATS = tuple(day + clock for day in _DAYS for clock in _CLOCKS)


@dataclass(slots=True)
class SampledField:
    """Statistics of the values that the samples have at one path.

    Args:
        events: How many of them have it.
        types: How many of its values have which type.
        longest: Characters of the longest text.
        days: The formats of dates that fit all values; None before the first.
        moments: The formats of times that fit all values; None before the first.
    """

    events: int = 0
    types: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    days: frozenset[str] | None = None
    moments: frozenset[str] | None = None

    def add(self, value: object) -> None:
        """Take a value."""
        if value is None or isinstance(value, bool):
            self.types["empty" if value is None else "boolean"] += 1
            return
        self.types["text" if isinstance(value, str) else "number"] += 1
        text = str(value).strip()
        self.longest = max(self.longest, len(text))
        if text:
            self.days = _fitting(text, self.days, is_day=True)
            self.moments = _fitting(text, self.moments, is_day=False)

    @property
    def described(self) -> str:
        """The types, in words."""
        return ", ".join(sorted(self.types)) or "empty"


@dataclass(slots=True)
class Samples:
    """The fields of a number of events.

    Args:
        events: How many.
        fields: By path.
        unnamed: Numbers of fields whose names look like values, by the path above.
    """

    events: int = 0
    fields: dict[Steps, SampledField] = field(default_factory=dict)
    unnamed: Counter[Steps] = field(default_factory=Counter)

    @classmethod
    def of(cls, events: Iterable[object]) -> Samples:
        """Return the fields of events."""
        samples = cls()
        for event in events:
            samples.add(event)
        return samples.without_values()

    def add(self, event: object) -> None:
        """Take an event."""
        self.events += 1
        seen: set[Steps] = set()
        for steps, value in leaves(event):
            found = self.fields.setdefault(steps, SampledField())
            found.events += steps not in seen
            seen.add(steps)
            found.add(value)

    def without_values(self) -> Samples:
        """Return the fields, with those left out whose names look like values."""
        below: dict[Steps, set[str]] = {}
        for steps in self.fields:
            for at, name in enumerate(steps):
                if name is not ELEMENTS:
                    below.setdefault(steps[:at], set()).add(name)
        kept = Samples(self.events, unnamed=Counter(self.unnamed))
        for steps, found in self.fields.items():
            hidden = next(
                (
                    at
                    for at, name in enumerate(steps)
                    if name is not ELEMENTS
                    and (len(below[steps[:at]]) > MAX_NAMES or not is_name(name))
                ),
                None,
            )
            if hidden is None:
                kept.fields[steps] = found
            else:
                kept.unnamed[steps[:hidden]] += 1
        return kept


def leaves(event: object) -> Iterator[tuple[Steps, object]]:
    """Yield the path and value of each text, number, boolean and empty value."""
    waiting: list[tuple[Steps, object]] = [((), event)]
    while waiting:
        steps, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting += [((*steps, name), v) for name, v in reversed(value.items())]
        elif isinstance(value, list) and value:
            waiting += [((*steps, ELEMENTS), each) for each in reversed(value)]
        else:
            yield steps, None if isinstance(value, dict | list) else value


def is_name(text: str) -> bool:
    """Return whether a property name does not look like a value."""
    return bool(_NAME.fullmatch(text)) and not _NUMBER.search(text)


def _fitting(
    text: str, before: frozenset[str] | None, *, is_day: bool
) -> frozenset[str]:
    """Return which formats fit a text, of those that have fitted so far."""
    if (before is not None and not before) or len(text) > _LONGEST_DATE:
        return frozenset()
    formats = (ISO, *FORMATS, EPOCH, EPOCH_MS) if before is None else before
    return frozenset(each for each in formats if _fits(text, each, is_day=is_day))


def _fits(text: str, format: str, *, is_day: bool) -> bool:
    if format == ISO:
        return bool(day_of(text, ()) if is_day else moment_of(text, ()))
    found = time_in(text, format)
    return found is not None and found.year in _YEARS
