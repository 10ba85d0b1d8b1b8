"""Addresses part by part, facilities and employers: phrases of words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ...document import Address, KnownIdentifiers
from ...labels import Label
from ...lexicons import forms_of, is_ordinary, load_list, normal
from ...lexicons.lists import load_pairs
from .context import is_capitalised_in_context
from .note import Note, Word
from .numbers import is_bounded
from .phrases import Phrase, is_placeholder, variants
from .street import Street

_JOINERS = " ,\n\r\t-/"
_PARTS = frozenset({Label.CITY, Label.ZIP, Label.STATE, Label.STREET})
_LEGAL_FORM = re.compile(
    r"[\s,]+(?:inc|llc|ltd|corp|corporation|co|plc|gmbh)[.\s]*$", re.IGNORECASE
)


class Place(NamedTuple):
    """A proposal: where, what, and under which rule of the detector."""

    start: int
    end: int
    label: Label
    rule: str


@dataclass(frozen=True, slots=True, repr=False)
class Places:
    """All places of a record."""

    phrases: tuple[Phrase, ...]
    streets: tuple[Street, ...]
    keys: frozenset[str]

    @classmethod
    def of(cls, known: KnownIdentifiers) -> Places:
        """Prepare the places of a record; placeholders are left out."""
        phrases = dict.fromkeys(_phrases(known))
        streets = dict.fromkeys(
            street
            for address in known.addresses
            if (street := Street.of(address.street)) is not None
        )
        keys = frozenset({p.key for p in phrases} | {s.key for s in streets})
        return cls(tuple(phrases), tuple(streets), keys)

    def find(self, note: Note, located: list[Word]) -> Iterator[Place]:
        """Yield every place found; one that needs another beside it comes last.

        Args:
            note: Where to look.
            located: Hold all occurrences of ``keys`` in the note.
        """
        words = [word for word in located if word.normal in self.keys]
        if not words:
            return
        sure, unsure = self._phrases_at(note, words)
        for street in self.streets:
            for word in words:
                if word.normal == street.key and (span := street.extent(note, word)):
                    sure.append(Place(*span, Label.STREET, "address"))
        yield from sure
        yield from _beside(note, sure, unsure)

    def _phrases_at(
        self, note: Note, words: list[Word]
    ) -> tuple[list[Place], list[Place]]:
        sure: list[Place] = []
        unsure: list[Place] = []
        by_key: dict[str, list[Phrase]] = {}
        for phrase in self.phrases:
            by_key.setdefault(phrase.key, []).append(phrase)
        for word in words:
            for phrase in by_key.get(word.normal, ()):
                span = phrase.extent(note, word)
                if span and (phrase.label is not Label.ZIP or _is_zip(note, *span)):
                    place = Place(*span, phrase.label, phrase.rule)
                    (unsure if phrase.needs_place else sure).append(place)
        return sure, unsure


def _is_zip(note: Note, start: int, end: int) -> bool:
    return is_bounded(note.text, start, end, free_standing=0)


def _phrases(known: KnownIdentifiers) -> Iterator[Phrase]:
    for address in known.addresses:
        yield from _address_phrases(address)
    for facility in known.facilities:
        yield from _institution(facility, Label.HOSPITAL, "facility")
    for employer in known.employers:
        yield from _institution(employer, Label.ORGANIZATION, "employer")


def _address_phrases(address: Address) -> Iterator[Phrase]:
    city = forms_of(address.city)
    if sum(map(len, filter(str.isalpha, city))) >= 3 and not is_placeholder(city):
        ambiguous = len(city) == 1 and city[0] in load_list("word_places")
        yield from variants(address.city, Label.CITY, "address", needs_place=ambiguous)
    yield from _zip_phrases(address.zip)
    for state in _state_forms(address.state):
        yield from variants(state, Label.STATE, "address", needs_place=True)
    if not is_placeholder(forms_of(address.country)):
        yield from variants(address.country, Label.COUNTRY, "address", needs_place=True)


def _zip_phrases(value: str) -> Iterator[Phrase]:
    words = forms_of(value)
    characters = "".join(words)
    if len(set(characters)) < 2:
        return
    if characters.isdigit():
        # The five digits alone, too: the +4 is found as what follows them.
        short, needs_place = characters[:5], len(characters) < 5
        yield Phrase("", short, "", Label.ZIP, "address", needs_place=needs_place)
        if len(characters) == 9:
            yield Phrase("", short, characters[5:], Label.ZIP, "address")
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


def _institution(value: str, label: Label, rule: str) -> Iterator[Phrase]:
    core = _LEGAL_FORM.sub("", value.strip())
    words = forms_of(core)
    all_ordinary = all(map(is_ordinary, filter(str.isalpha, words)))
    if is_placeholder(words) or sum(map(len, words)) < 3:
        return
    if len(words) > 1 or not all_ordinary:
        yield from variants(core, label, rule, needs_capital=all_ordinary)


def _beside(note: Note, sure: list[Place], unsure: list[Place]) -> Iterator[Place]:
    """Yield the ambiguous parts that stand beside a part of an address.

    An ambiguous town also counts before its state, or capitalised in mid-sentence.
    """
    starts = {place.start for place in sure if place.label in _PARTS}
    ends = {place.end for place in sure if place.label in _PARTS}
    states = {place.start for place in unsure if place.label is Label.STATE}
    left = dict.fromkeys(unsure)
    # Twice, so that "Reading, PA 19601" finds the state by the ZIP, the town by it.
    for place in [*unsure, *reversed(unsure)]:
        if place in left and (
            _follows(note, place, ends)
            or _precedes(note, place, starts)
            or (place.label is Label.CITY and _is_town(note, place, states))
        ):
            del left[place]
            starts.add(place.start)
            ends.add(place.end)
            yield place


def _is_town(note: Note, place: Place, states: set[int]) -> bool:
    text = note.text[place.start : place.end]
    if not text[0].isupper():
        return False
    word = Word(place.start, place.end, text, normal(text))
    return _precedes(note, place, states) or is_capitalised_in_context(note, word)


def _follows(note: Note, place: Place, ends: set[int]) -> bool:
    gap, word = note.before(place.start)
    # No period: it would be the end of a sentence.
    return word is not None and word.end in ends and not gap.strip(_JOINERS)


def _precedes(note: Note, place: Place, starts: set[int]) -> bool:
    gap, word = note.after(place.end)
    return word is not None and word.start in starts and not gap.strip(_JOINERS + ".")
