"""Names, places and houses that only the lexicons know, and only context confirms.

A note's runs of capitalised words are read once; what a run may be is remembered, and
only the few that may be something are looked at where they stand.  Rules with a title,
a label or a suffix are elsewhere (``rules``); this finds "Camila reports", "treated at
Cedar Crest", "moved here from Tacoma".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deid_core.document import Annotation, Document, Span
from deid_core.labels import Label
from deid_core.language import context, cues
from deid_core.language.fragments import note_to_ascii
from deid_core.language.institutions import House, houses_in, is_generic
from deid_core.language.lexicons import load_list
from deid_core.language.lexicons.word_classes import WordClass
from deid_core.language.runs import read, runs_in
from deid_core.language.text_cache import TextCache

from .options import LexiconOptions
from .people import Need, Person, people_in
from .places import Place, places_in

__all__ = ["LexiconDetector"]


_ACRONYM = 4
_CITY_OF_HOUSE = 0.7
_MOST_RUNS = 50_000
_DECIMAL = len("2.4 ")
_LITRES = re.compile(r"[0-9][.][0-9][ ]L[.][ ]")
_NO_NAME = WordClass.WORD | WordClass.DRUG | WordClass.EPONYM | WordClass.RARE


@dataclass(frozen=True, slots=True, repr=False)
class Reading:
    """What a run may hold, for all that its own words say."""

    people: tuple[Person, ...]
    places: tuple[Place, ...]
    houses: tuple[House, ...]
    may_be_house: bool


def read_run(text: str) -> Reading | None:
    """Return what a run's text may hold; nothing where a placeholder stands in it."""
    run = read(text)
    if not load_list("made_up_names").isdisjoint(run.forms):
        return None
    people, places = tuple(people_in(text, run)), tuple(places_in(run))
    houses = tuple(houses_in(run))
    may_be_house = not is_generic(run) and any(
        token.kinds & ~_NO_NAME for token in run.tokens
    )
    if not (people or places or houses or may_be_house):
        return None
    return Reading(people, places, houses, may_be_house)


class LexiconDetector:
    """Propose what the lexicons hold and the context confirms.  Thread-safe.

    Args:
        options: Of a preset.
    """

    name = "lexicon"

    def __init__(self, options: LexiconOptions) -> None:
        self._bare_names = options.bare_names
        self._read = TextCache(read_run, _MOST_RUNS)
        # Load the lists now, so that the first note costs no more than the next.
        read_run("Anna Smith, Boston General Hospital")

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals; they may overlap."""
        return [self._propose(note_to_ascii(document.text)) for document in documents]

    def _propose(self, text: str) -> list[Annotation]:
        found: list[Annotation] = []
        for match in runs_in(text):
            reading = self._read[match[0]]
            if reading is not None:
                found += self._annotations(text, match.start(), match.end(), reading)
        return found

    def _annotations(
        self, text: str, start: int, end: int, reading: Reading
    ) -> list[Annotation]:
        found: list[Annotation] = []
        # Of most runs, nothing is left of what their words may be.
        if reading.houses:
            found += _houses(text, start, reading.houses)
        if reading.may_be_house and cues.may_follow_house_cue(text, start):
            found += _by_cue_alone(text, start, end)
        if reading.places:
            found += _places(text, start, reading.places)
        taken = [each.span for each in found]
        for person in reading.people:
            first, past = start + person.start, start + person.end
            if self._is_person(text, first, past, person.need):
                span = Span(first, past)
                if not any(map(span.overlaps, taken)):
                    rule = person.rule
                    found.append(_annotation(span, Label.PATIENT, person.score, rule))
        return found

    def _is_person(self, text: str, start: int, end: int, need: Need) -> bool:
        word = text[start:end]
        # "IgE", "segment IVa", "2.4 L. Harris-Benedict agrees".
        is_mixed = not (word.istitle() or word.isupper() or word.islower())
        if is_mixed and len(word) <= len("IgE"):
            return False
        if _LITRES.match(text, max(0, start - _DECIMAL), start + 3):
            return False
        if need is Need.NOTHING:
            return not context.is_before_clinical_term(text, end)
        # What speaks for a name first: of most runs, nothing does.
        return self._is_confirmed(text, start, end, need) and (
            not context.is_clinical_term(text, start, end)
        )

    def _is_confirmed(self, text: str, start: int, end: int, need: Need) -> bool:
        if need is Need.SENTENCE:
            is_bare = self._bare_names or " " in text[start:end]
            return (
                (is_bare and context.is_inside_sentence(text, start))
                or context.is_subject(text, start, end)
                or context.has_person_around(text, start, end)
            )
        if need is Need.SUBJECT and context.is_subject(text, start, end):
            return True
        return context.is_person_described(text, start, end)


def _places(text: str, start: int, places: Iterable[Place]) -> Iterator[Annotation]:
    for place in places:
        first, past = start + place.start, start + place.end
        if not _is_place(text, first, past, place):
            continue
        end, state = cues.end_of_place(text, past)
        yield _annotation(Span(first, end), place.label, place.score, place.rule)
        if state is not None:
            yield _annotation(Span(*state), Label.STATE, place.score, "state")


def _is_place(text: str, start: int, end: int, place: Place) -> bool:
    if cues.is_no_place(text, start, end):
        return False
    if place.needs_cue:
        # A state beside its town is found with the town; "CA, MA" may be a cancer.
        may_have_state = place.label is not Label.STATE and not place.follows_given
        if may_have_state and cues.is_beside_place(text, end):
            return True
        has_cue = cues.is_after_home_cue(text, start) or (
            place.is_rare and cues.is_in_town(text, start)
        )
        return has_cue and not context.is_before_clinical_term(text, end)
    if cues.is_after_place_cue(text, start):
        return True
    # "No POA", "with FES", "Paris IIa": seldom towns.
    is_acronym = end - start <= _ACRONYM and text[start:end].isupper()
    is_score = text[start:end].lower() in load_list("score_places") or (
        cues.has_grade_behind(text, end)
    )
    return not (is_acronym or is_score) and context.is_inside_sentence(text, start)


def _houses(text: str, start: int, houses: Iterable[House]) -> Iterator[Annotation]:
    for house in houses:
        first, past = start + house.start, start + house.end
        if house.needs_cue and not _is_house(text, first, past):
            continue
        yield from _house(text, first, past, house.label, house.score, house.rule)


def _house(
    text: str, start: int, end: int, label: Label, score: float, rule: str
) -> Iterator[Annotation]:
    """Yield an institution, and its town and state behind it."""
    end, city, state = cues.tail_of_house(text, end)
    yield _annotation(Span(start, end), label, score, rule)
    if city is not None:
        yield _annotation(Span(*city), Label.CITY, _CITY_OF_HOUSE, "city_of_hospital")
    if state is not None:
        yield _annotation(Span(*state), Label.STATE, _CITY_OF_HOUSE, "state")


def _is_house(text: str, start: int, end: int) -> bool:
    return cues.is_after_house_cue(text, start) and not context.is_before_clinical_term(
        text, end
    )


def _by_cue_alone(text: str, start: int, end: int) -> Iterator[Annotation]:
    """Yield a house that no list knows: "treated at Cedar Crest"."""
    if cues.is_after_care(text, start):
        if cues.may_be_house(text, start, end):
            rule = "hospital_after_care"
            yield from _house(text, start, end, Label.HOSPITAL, 0.6, rule)
    elif cues.is_where_somebody_works(text, start):
        if context.is_before_clinical_term(text, end):
            return
        span = Span(start, end)
        yield _annotation(span, Label.ORGANIZATION, 0.6, "organization_employer")


def _annotation(span: Span, label: Label, score: float, rule: str) -> Annotation:
    return Annotation(span, label, score, LexiconDetector.name, rule)
