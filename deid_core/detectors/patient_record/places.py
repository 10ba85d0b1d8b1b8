"""Addresses part by part, facilities and employers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from deid_core.document import Address
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, is_ordinary, load_list
from deid_core.language.lexicons.lists import load_pairs

from .context import is_capitalised_in_context, is_title_case
from .note import Note, Word
from .phrases import (
    Needs,
    Phrase,
    canonical,
    consume,
    is_placeholder,
    variants,
)
from .without_separators import is_bounded

_JOINERS = " ,\n\r\t-/"
_PARTS = frozenset({Label.CITY, Label.ZIP, Label.STATE, Label.STREET})
_CUES = frozenset({"on", "at", "off", "near"})
_SHORTEST_ALONE = 5
_SHORTEST_NAME = 3


@dataclass(frozen=True, slots=True, repr=False)
class Street:
    """A street line as house number, name, and the rest, which may be left out.

    Args:
        number: Compared form, "" if the line has none.
        before: Words of the name before the key, run together.
        key: The word of the name that is looked up first.
        after: Words of the name after the key, run together.
        is_whole: The line has no number and no suffix ("Rosewood Manor", "PO Box 12"),
            so all of it must be there, and that is enough.
        is_ordinary: The name is a common word ("main", "oak").
        is_enough: The name alone is enough behind "on" or "at".
    """

    number: str
    before: str
    key: str
    after: str
    is_whole: bool
    is_ordinary: bool
    is_identifying: bool

    @classmethod
    def of(cls, line: str) -> Street | None:
        """Prepare a street line; None if nothing in it identifies a street."""
        words = list(forms_of(line))
        number = words.pop(0) if words and words[0].isdigit() and len(words) > 1 else ""
        core, _ = split_unit(words)
        name = without_suffix_and_directions(core)
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

        The name counts with its house number before it or a suffix after it.
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
            is_cued = self.is_identifying and _is_cued(note, first)
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
            # "12 N. Oak St", "12B Oak St": a direction or a letter is between.
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


def without_suffix_and_directions(words: list[str]) -> list[str]:
    """Return the words of a street's name; one is always left."""
    directions, suffixes = load_list("directions"), load_list("street_suffixes")
    kept = list(words)
    while len(kept) > 1 and canonical(kept[0]) in directions:
        kept.pop(0)
    while len(kept) > 1 and canonical(kept[-1]) in directions | suffixes:
        kept.pop()
    return kept


class Place(NamedTuple):
    """A proposal: its first and last word, where, what, and under which rule."""

    first: int
    last: int
    start: int
    end: int
    label: Label
    rule: str


@dataclass(frozen=True, slots=True, repr=False)
class Places:
    """All places of a record, by the word that is looked up first."""

    phrases: dict[str, list[Phrase]]
    streets: dict[str, list[Street]]
    keys: frozenset[str]

    @classmethod
    def of(cls, phrases: Iterable[Phrase], streets: Iterable[Street]) -> Places:
        """Prepare the places of a record; those of several values count once."""
        by_key: defaultdict[str, list[Phrase]] = defaultdict(list)
        for phrase in dict.fromkeys(phrases):
            by_key[phrase.key].append(phrase)
        streets_by_key: defaultdict[str, list[Street]] = defaultdict(list)
        for street in dict.fromkeys(streets):
            streets_by_key[street.key].append(street)
        # Plain tables, since they are shared: looking up must never add to them.
        keys = frozenset({*by_key, *streets_by_key})
        return cls(dict(by_key), dict(streets_by_key), keys)

    def find(self, note: Note, located: list[Word]) -> Iterator[Place]:
        """Yield every place found; one that needs another next to it comes last.

        Args:
            note: Where to look.
            located: Hold all occurrences of ``keys`` in the note.
        """
        sure: list[Place] = []
        unsure: list[Place] = []
        for word in located:
            if word.normal not in self.keys:
                continue
            for phrase in self.phrases.get(word.normal, ()):
                extent = phrase.extent(note, word)
                if extent and _is_whole(note, extent, phrase.label):
                    place = _place(note, extent, phrase.label, phrase.rule)
                    is_unsure = phrase.needs is Needs.PLACE
                    (unsure if is_unsure else sure).append(place)
            for street in self.streets.get(word.normal, ()):
                if extent := street.extent(note, word):
                    sure.append(_place(note, extent, Label.STREET, "address"))
        yield from sure
        if unsure:
            yield from _adjacent(note, sure, unsure)

    def without_evidence(self, note: Note, located: list[Word]) -> Iterator[Place]:
        """Yield the phrases that need evidence wherever their words are.

        No codes: "IN", "OR" and "ME" are states, too.

        Args:
            note: Where to look.
            located: As for `find`.
        """
        for word in located:
            for phrase in self.phrases.get(word.normal, ()):
                if phrase.needs is Needs.NOTHING or len(phrase.key) < _SHORTEST_NAME:
                    continue
                bare = phrase._replace(needs=Needs.NOTHING)
                if extent := bare.extent(note, word):
                    yield _place(note, extent, phrase.label, phrase.rule)


def _place(note: Note, extent: tuple[int, int], label: Label, rule: str) -> Place:
    first, last = extent
    start, end = note.word(first).start, note.word(last).end
    return Place(first, last, start, end, label, rule)


def _is_whole(note: Note, extent: tuple[int, int], label: Label) -> bool:
    if label is not Label.ZIP:
        return True
    start, end = note.word(extent[0]).start, note.word(extent[1]).end
    return is_bounded(note.text, start, end, free_standing=0)


class AddressParts(NamedTuple):
    """An address, prepared.

    Args:
        phrases: Its town, ZIP code, state, country and units.
        streets: Its street lines.
    """

    phrases: tuple[Phrase, ...]
    streets: tuple[Street, ...]

    def __repr__(self) -> str:
        return "AddressParts()"


def address_parts(address: Address) -> AddressParts:
    """Prepare an address; placeholders are left out."""
    streets = map(Street.of, (address.street, address.other))
    return AddressParts(tuple(_parts(address)), tuple(filter(None, streets)))


def _parts(address: Address) -> Iterator[Phrase]:
    city = forms_of(address.city)
    if sum(map(len, filter(str.isalpha, city))) >= 3 and not is_placeholder(city):
        ambiguous = len(city) == 1 and city[0] in load_list("word_places")
        needs = Needs.PLACE if ambiguous else Needs.NOTHING
        yield from variants(address.city, Label.CITY, "address", needs)
    yield from _zip_phrases(address.zip)
    for state in _state_forms(address.state):
        yield from variants(state, Label.STATE, "address", Needs.PLACE)
    if not is_placeholder(forms_of(address.country)):
        yield from variants(address.country, Label.COUNTRY, "address", Needs.PLACE)
    for line in (address.street, address.other):
        _, unit = split_unit(list(forms_of(line)))
        if len(unit) > 1 and unit[1].isdigit():
            kind, number, *rest = unit
            yield Phrase(
                canonical(kind), number, "".join(rest), Label.STREET, "address"
            )


def _zip_phrases(value: str) -> Iterator[Phrase]:
    words = forms_of(value)
    characters = "".join(words)
    if len(set(characters)) < 2:
        return
    if characters.isdigit():
        # The five digits alone, too: the +4 is found as what follows them.
        short = characters[:5]
        needs = Needs.PLACE if len(characters) < 5 else Needs.NOTHING
        yield Phrase("", short, "", Label.ZIP, "address", needs)
        if len(characters) == 9:
            yield Phrase("", short, characters[5:], Label.ZIP, "address")
            yield Phrase("", characters, "", Label.ZIP, "address")
    elif len(characters) >= 5:
        yield from variants(value, Label.ZIP, "address")


def _state_forms(state: str) -> tuple[str, ...]:
    form = " ".join(forms_of(state))
    codes = load_pairs("us_states")
    other = codes.get(form) or _state_codes().get(form)
    return tuple(each for each in (form, other) if each)


@cache
def _state_codes() -> dict[str, str]:
    return {name: code for code, name in load_pairs("us_states").items()}


def _adjacent(note: Note, sure: list[Place], unsure: list[Place]) -> Iterator[Place]:
    """Yield the ambiguous parts next to a part of an address.

    An ambiguous town also counts before its state, or capitalised in mid-sentence.
    """
    firsts = {place.first for place in sure if place.label in _PARTS}
    lasts = {place.last for place in sure if place.label in _PARTS}
    zips = {place.first for place in sure if place.label is Label.ZIP}
    states = {place.first for place in unsure if place.label is Label.STATE}
    left = dict.fromkeys(unsure)
    # Twice, so that "Reading, PA 19601" finds the state by the ZIP, the town by it.
    for place in [*unsure, *reversed(unsure)]:
        if place in left and (
            _follows(note, place, lasts)
            or _precedes(note, place, zips if place.label is Label.STATE else firsts)
            or (place.label is Label.CITY and _is_town(note, place, states))
        ):
            del left[place]
            firsts.add(place.first)
            lasts.add(place.last)
            yield place


def _is_town(note: Note, place: Place, states: set[int]) -> bool:
    word = note.word(place.first)
    if not word.text[0].isupper() and not note.is_caseless:
        return False
    return _precedes(note, place, states) or is_capitalised_in_context(note, word)


def _follows(note: Note, place: Place, lasts: set[int]) -> bool:
    # No period: it would be the end of a sentence.
    gap = note.gap(place.first)
    return place.first - 1 in lasts and len(gap) <= 8 and not gap.strip(_JOINERS)


def _precedes(note: Note, place: Place, firsts: set[int]) -> bool:
    gap = note.gap(place.last + 1)
    after = place.last + 1
    return after in firsts and len(gap) <= 8 and not gap.strip(_JOINERS + ".")
