"""Parts of ids and ids like a year, which count only where the note says what they are.

"SSN ending in 6789", "xxx-xx-6789", "last four 6789", "MRN 2024", "ID: 123".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deid_core.document import KnownIdentifiers
from deid_core.labels import Label
from deid_core.language.lexicons import load_list

from .note import Note, Word
from .numbers import MIN_ID, id_key, is_telling_id

_SHORTEST_ID = 3
_TAIL = 4
_SHORTEST_WITH_TAIL = 7
_TAIL_CUES = frozenset({"ending", "ends", "last", "final"})
_OF_SSN = frozenset({"ssn", "ss", "social", "soc"})
_TAIL_REACH = 6
# From its first character on, so that a long gap is walked through once.
_END_OF_GAP = re.compile(r"(?<![-\s*\u2022#])[-\s*\u2022#]++\Z")
_MASK = re.compile(r"[*\u2022#]{2}")
_LABEL_GAP = re.compile(r"[ :#.\t]{0,4}")
_IN_BETWEEN = frozenset({"number", "no", "num", "nr", "id", "is"})


@dataclass(frozen=True, slots=True, repr=False)
class Labelled:
    """What an id ends with, and ids that alone could be anything.

    Args:
        tails: The last four digits: their label.
        ids: Ids of three characters or like a year: their label.
        keys: The compared forms that must be located in a note.
    """

    tails: dict[str, Label]
    ids: dict[str, Label]
    keys: frozenset[str]

    @classmethod
    def of(cls, known: KnownIdentifiers) -> Labelled:
        """Prepare the ids of a record; placeholders are left out."""
        tails: dict[str, Label] = {}
        ids: dict[str, Label] = {}
        for each in known.ids:
            key = id_key(each.value)
            if len(key) >= _SHORTEST_WITH_TAIL:
                tail = key[-_TAIL:]
                if tail.isdecimal():
                    tails.setdefault(tail, each.label)
            elif _is_short(key):
                ids.setdefault(key, each.label)
        return cls(tails, ids, frozenset({*tails, *ids}))

    def find(
        self, note: Note, located: Iterable[Word]
    ) -> Iterator[tuple[int, int, Label]]:
        """Yield each part found: a half-open range and its label.

        Args:
            note: Where to look.
            located: Hold all occurrences of ``keys``.
        """
        for word in located:
            label = self.tails.get(word.normal)
            if label and _is_tail(note, word, label):
                yield word.start, word.end, label
            label = self.ids.get(word.normal)
            if label and _is_labelled(note, word):
                yield word.start, word.end, label


def _is_short(key: str) -> bool:
    if len(key) < _SHORTEST_ID or not any(map(str.isdecimal, key)):
        return False
    is_one_word = key.isdecimal() or key.isalpha()
    return is_one_word and len(key) <= MIN_ID and not is_telling_id(key)


def _is_tail(note: Note, word: Word, label: Label) -> bool:
    gap = note.gap(word.at)
    behind = note.gap(word.at + 1)[:1]
    if not gap or (not behind and word.at + 1 < len(note)):
        return False
    before = note.forms(note.clause(word.at, _TAIL_REACH).start, word.at)
    if _ends_with_mask(gap) or (before and set(before[-1]) == {"x"} and "-" in gap):
        return True
    if label is Label.SSN and before and before[-1] in _OF_SSN:
        return not gap.strip(" :#")
    return not _TAIL_CUES.isdisjoint(before[-4:])


def _ends_with_mask(gap: str) -> bool:
    """Return whether digits are hidden right before: "***-**-"."""
    end = _END_OF_GAP.search(gap)
    return end is not None and _MASK.search(end[0]) is not None


def _is_labelled(note: Note, word: Word) -> bool:
    at = word.at
    for _ in range(2):
        if not at or not _LABEL_GAP.fullmatch(note.gap(at)):
            return False
        at -= 1
        if note.form(at) in load_list("id_cues"):
            return True
        if note.form(at) not in _IN_BETWEEN:
            return False
    return False
