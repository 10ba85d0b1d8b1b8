"""The street line of an address."""

from __future__ import annotations

from dataclasses import dataclass

from ...lexicons import forms_of, is_ordinary, load_list
from .note import Note, Word
from .phrases import canonical, consume, is_placeholder


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
    """

    number: str
    before: str
    key: str
    after: str
    is_whole: bool
    is_ordinary: bool

    @classmethod
    def of(cls, line: str) -> Street | None:
        """Prepare a street line; None if nothing in it tells where someone lives."""
        words = list(forms_of(line))
        number = words.pop(0) if words and words[0].isdigit() and len(words) > 1 else ""
        core = _without_unit(words)
        name = _without_suffix_and_directions(core)
        is_whole = not number and len(name) == len(core)
        if not name or (is_whole and len(name) < 2) or is_placeholder(name):
            return None
        at = max(range(len(name)), key=lambda i: (len(name[i]), -i))
        forms = [canonical(word) for word in name]
        return cls(
            number,
            "".join(forms[:at]),
            name[at],
            "".join(forms[at + 1 :]),
            is_whole,
            all(map(is_ordinary, name)),
        )

    def extent(self, note: Note, key: Word) -> tuple[int, int] | None:
        """Return the range of the street line around its key.

        The name counts with its house number before it or a suffix behind it.
        """
        end = consume(note, key, self.after, forward=True)
        start = consume(note, key, self.before, forward=False)
        if start is None or end is None:
            return None
        if self.is_whole:
            return start, end
        first, has_number = self._number_before(note, start)
        last, has_suffix = _suffix_after(note, end)
        if not (has_number or (has_suffix and self._is_name(note, start))):
            return None
        return first, _unit_after(note, last)

    def _is_name(self, note: Note, start: int) -> bool:
        return not (self.is_ordinary and note.text[start].islower())

    def _number_before(self, note: Note, start: int) -> tuple[int, bool]:
        place = start
        for _ in range(3):
            gap, word = note.before(place)
            if word is None or len(gap) > 2 or "\n" in gap:
                break
            place = word.start
            if word.normal == self.number:
                return place, True
            # "12 N. Oak St", "12B Oak St": a direction or a letter stands between.
            if (
                canonical(word.normal) not in load_list("directions")
                and len(word.text) > 1
            ):
                break
        return start, False


def _suffix_after(note: Note, end: int) -> tuple[int, bool]:
    gap, word = note.after(end)
    if word is None or gap.strip(" ") or not gap:
        return end, False
    if canonical(word.normal) not in load_list("street_suffixes"):
        return end, False
    return word.end, True


def _unit_after(note: Note, end: int) -> int:
    gap, word = note.after(end)
    if word is None or len(gap) > 3 or "\n" in gap:
        return end
    if canonical(word.normal) in load_list("street_units"):
        _, unit = note.after(word.end)
        return unit.end if unit else end
    is_number_sign = gap.endswith("#") and word.text.isdigit()
    return word.end if is_number_sign else end


def _without_unit(words: list[str]) -> list[str]:
    for index, word in enumerate(words):
        if index and canonical(word) in load_list("street_units"):
            return words[:index]
    return words


def _without_suffix_and_directions(words: list[str]) -> list[str]:
    directions, suffixes = load_list("directions"), load_list("street_suffixes")
    kept = list(words)
    while len(kept) > 1 and canonical(kept[0]) in directions:
        kept.pop(0)
    while len(kept) > 1 and canonical(kept[-1]) in directions | suffixes:
        kept.pop()
    return kept
