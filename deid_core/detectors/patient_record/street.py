"""The street line of an address."""

from __future__ import annotations

from dataclasses import dataclass

from deid_core.language.lexicons import forms_of, is_ordinary, load_list

from .context import is_title_case
from .note import Note, Word
from .phrases import canonical, consume, is_placeholder

_CUES = frozenset({"on", "at", "off", "near"})
_SHORTEST_ALONE = 5


@dataclass(frozen=True, slots=True, repr=False)
class Street:
    """A street line as house number, name, and the rest, which may be left out.

    Args:
        number: Compared form, "" if the line has none.
        before: Words of the name before the key, run together.
        key: The word of the name that is sought first.
        after: Words of the name after the key, run together.
        is_whole: The line has no number and no suffix ("Rosewood Manor", "PO Box 12"),
            so all of it must be there, and that is enough.
        is_ordinary: The name is a common word ("main", "oak").
        is_telling: The name alone is enough behind "on" or "at".
    """

    number: str
    before: str
    key: str
    after: str
    is_whole: bool
    is_ordinary: bool
    is_telling: bool

    @classmethod
    def of(cls, line: str) -> Street | None:
        """Prepare a street line; None if nothing in it tells where someone lives."""
        words = list(forms_of(line))
        number = words.pop(0) if words and words[0].isdigit() and len(words) > 1 else ""
        core, _ = split_unit(words)
        name = _without_suffix_and_directions(core)
        is_whole = not number and len(name) == len(core)
        if not name or (is_whole and len(name) < 2) or is_placeholder(name):
            return None
        at = max(range(len(name)), key=lambda i: (len(name[i]), -i))
        forms = [canonical(word) for word in name]
        all_ordinary = all(map(is_ordinary, name))
        return cls(
            number,
            "".join(forms[:at]),
            name[at],
            "".join(forms[at + 1 :]),
            is_whole,
            all_ordinary,
            not all_ordinary
            and len(name[at]) >= _SHORTEST_ALONE
            and load_list("eponyms").isdisjoint(name),
        )

    def extent(self, note: Note, key: Word) -> tuple[int, int] | None:
        """Return the first and the last word of the street line around its key.

        The name counts with its house number before it or a suffix behind it.
        """
        last = consume(note, key.at, self.after, forward=True)
        first = consume(note, key.at, self.before, forward=False)
        if first is None or last is None:
            return None
        if self.is_whole:
            return first, last
        begin, has_number = self._number_before(note, first)
        end, has_suffix = _suffix_after(note, last)
        if not (has_number or (has_suffix and self._is_name(note, first))):
            is_cued = self.is_telling and _is_cued(note, first)
            return (first, last) if is_cued else None
        return begin, _unit_after(note, end)

    def _is_name(self, note: Note, first: int) -> bool:
        return not (self.is_ordinary and note.surface(first)[0].islower())

    def _number_before(self, note: Note, first: int) -> tuple[int, bool]:
        at = first
        for _ in range(3):
            gap, word = note.before(at)
            if word is None or len(gap) > 2 or "\n" in gap:
                break
            at = word.at
            if word.normal == self.number:
                return at, True
            # "12 N. Oak St", "12B Oak St": a direction or a letter stands between.
            if (
                canonical(word.normal) not in load_list("directions")
                and len(word.text) > 1
            ):
                break
        return first, False


def _is_cued(note: Note, first: int) -> bool:
    is_name = note.is_caseless or is_title_case(note.surface(first))
    return (
        first > 0
        and is_name
        and note.gap(first) == " "
        and note.form(first - 1) in _CUES
    )


def _suffix_after(note: Note, at: int) -> tuple[int, bool]:
    gap, word = note.after(at)
    if word is None or gap.strip(" ") or not gap:
        return at, False
    if canonical(word.normal) not in load_list("street_suffixes"):
        return at, False
    return word.at, True


def _unit_after(note: Note, at: int) -> int:
    gap, word = note.after(at)
    if word is None or len(gap) > 3 or "\n" in gap:
        return at
    if canonical(word.normal) in load_list("street_units"):
        _, unit = note.after(word.at)
        return unit.at if unit else at
    is_number_sign = gap.endswith("#") and word.text.isdigit()
    return word.at if is_number_sign else at


def split_unit(words: list[str]) -> tuple[list[str], list[str]]:
    """Return a street line's words before its unit, and those of the unit."""
    for index, word in enumerate(words):
        if canonical(word) in load_list("street_units"):
            if index:
                return words[:index], words[index:]
            # "Apt 4" on a line of its own; "Lot Street" is a street.
            if any(map(str.isdigit, words)):
                return [], words
    return words, []


def _without_suffix_and_directions(words: list[str]) -> list[str]:
    directions, suffixes = load_list("directions"), load_list("street_suffixes")
    kept = list(words)
    while len(kept) > 1 and canonical(kept[0]) in directions:
        kept.pop(0)
    while len(kept) > 1 and canonical(kept[-1]) in directions | suffixes:
        kept.pop()
    return kept
