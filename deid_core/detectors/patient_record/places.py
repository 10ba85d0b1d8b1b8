"""Addresses part by part, facilities and employers: phrases of words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from deid_core.document import Address, KnownIdentifiers
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, load_list
from deid_core.language.lexicons.lists import load_pairs

from .context import is_capitalised_in_context
from .institutions import institution
from .note import Note, Word
from .phrases import Needs, Phrase, canonical, is_placeholder, variants
from .street import Street, split_unit
from .without_separators import is_bounded

_JOINERS = " ,\n\r\t-/"
_PARTS = frozenset({Label.CITY, Label.ZIP, Label.STATE, Label.STREET})


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
    """All places of a record, by the word that is sought first."""

    phrases: dict[str, list[Phrase]]
    streets: dict[str, list[Street]]
    keys: frozenset[str]

    @classmethod
    def of(cls, known: KnownIdentifiers) -> Places:
        """Prepare the places of a record; placeholders are left out."""
        phrases: dict[str, list[Phrase]] = defaultdict(list)
        streets: dict[str, list[Street]] = defaultdict(list)
        for phrase in dict.fromkeys(_phrases(known)):
            phrases[phrase.key].append(phrase)
        lines = (line for each in known.addresses for line in (each.street, each.other))
        for street in dict.fromkeys(map(Street.of, lines)):
            if street is not None:
                streets[street.key].append(street)
        # Plain tables, since they are shared: looking up must never add to them.
        return cls(dict(phrases), dict(streets), frozenset({*phrases, *streets}))

    def find(self, note: Note, located: list[Word]) -> Iterator[Place]:
        """Yield every place found; one that needs another beside it comes last.

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
            yield from _beside(note, sure, unsure)


def _place(note: Note, extent: tuple[int, int], label: Label, rule: str) -> Place:
    first, last = extent
    start, end = note.word(first).start, note.word(last).end
    return Place(first, last, start, end, label, rule)


def _is_whole(note: Note, extent: tuple[int, int], label: Label) -> bool:
    if label is not Label.ZIP:
        return True
    start, end = note.word(extent[0]).start, note.word(extent[1]).end
    return is_bounded(note.text, start, end, free_standing=0)


def _phrases(known: KnownIdentifiers) -> Iterator[Phrase]:
    for address in known.addresses:
        yield from _parts(address)
    for facility in known.facilities:
        yield from institution(facility, Label.HOSPITAL, "facility")
    for employer in known.employers:
        yield from institution(employer, Label.ORGANIZATION, "employer")


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


def _beside(note: Note, sure: list[Place], unsure: list[Place]) -> Iterator[Place]:
    """Yield the ambiguous parts that stand beside a part of an address.

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
