"""Find many values in a text as whole words, in time linear in the text.

A value found in every line of a long note must not cost a search of the whole note.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+")
_FEW = 32
"""So many values are searched one by one: faster in a note of ordinary length."""
_LONGEST_KEY = 256
"""Longer values are looked up by so many characters, so that no look-up is long."""

Keys = Mapping[str, Sequence[str]]
ByLength = Mapping[int, Keys]


@dataclass(frozen=True, slots=True, repr=False)
class Occurrences:
    """Finds values as whole words.

    Args:
        values: Each with what it is looked up by; see `of`.
        lookups: By the first word of the values and how far it is from their start:
            the keys by their length, and the values that begin with each key.
    """

    values: tuple[str, ...]
    lookups: Mapping[str, Mapping[int, ByLength]]

    @classmethod
    def of(cls, values: Iterable[str]) -> Occurrences:
        """Prepare values for texts."""
        given = tuple(dict.fromkeys(values))
        return cls(given, _lookups(given) if len(given) > _FEW else {})

    def find(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield each value and where it starts, ordered by value and place.

        Those of one value do not overlap.
        """
        found = self._all_places(text) if self.lookups else {}
        for value in self.values:
            is_looked_up = self.lookups and _WORD.search(value)
            places = found.get(value, ()) if is_looked_up else _places(text, value)
            for start in places:
                yield value, start

    def _all_places(self, text: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for value, start in self._matches(text):
            places = found.setdefault(value, [])
            if not places or start >= places[-1] + len(value):
                places.append(start)
        return found

    def _matches(self, text: str) -> Iterator[tuple[str, int]]:
        lookup = self.lookups.get
        for word in _WORD.finditer(text):
            leads = lookup(word[0])
            for lead, by_length in leads.items() if leads else ():
                start = word.start() - lead
                if start >= 0 and not _is_inside_word(text, start):
                    for value in _values_at(text, start, by_length):
                        yield value, start


def _lookups(values: Iterable[str]) -> Mapping[str, Mapping[int, ByLength]]:
    lookups: defaultdict[str, defaultdict[int, defaultdict[int, dict[str, list[str]]]]]
    lookups = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for value in values:
        word = _WORD.search(value)
        if word is not None:
            key = value[:_LONGEST_KEY]
            by_length = lookups[word[0]][word.start()]
            by_length[len(key)].setdefault(key, []).append(value)
    return lookups


def _values_at(text: str, start: int, by_length: ByLength) -> Iterator[str]:
    for length, keys in by_length.items():
        for value in keys.get(text[start : start + length], ()):
            end = start + len(value)
            if _is_end(text, end) and text.startswith(value, start):
                yield value


def _places(text: str, value: str) -> Iterator[int]:
    """Yield where one value starts."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if _is_end(text, end) and not _is_inside_word(text, start):
            yield start
        else:
            # The next place can only be where another word begins.
            word = _WORD.match(text, start)
            end = word.end() if word else start + 1
        start = text.find(value, end)


def _is_inside_word(text: str, start: int) -> bool:
    return start > 0 and text[start - 1].isalnum()


def _is_end(text: str, end: int) -> bool:
    return not text[end : end + 1].isalnum()
