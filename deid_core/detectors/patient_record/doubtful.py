"""Doubtful proposals: what may be a value of the record, for a later step to decide.

Words that the guards reject; initials without a cue; and single words of streets,
towns, facilities and employers, in any letter case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deid_core.document import (
    PATIENT_RECORD,
    Annotation,
    KnownIdentifiers,
    Span,
)
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, is_frequent, load_list

from .note import Note
from .people import LABELS, PROVIDER, Names, Person
from .phrases import canonical, kinds_of_institutions, without_legal_form
from .places import split_unit, without_suffix_and_directions
from .record import read_value

DOUBTFUL_SCORE = 0.3
DOUBTFUL = "_doubtful"
"""The end of the rules of doubtful proposals: ``patient_doubtful``."""

_SHORTEST_WORD = 3
_FEWEST_INITIALS, _MOST_INITIALS = 2, 3
_JOINTS = frozenset({" ", "-", "'", "\u2019"})
# "KS", "K.S." and "K. S.".
_LARGE = re.compile(
    r"(?<![\w'\u2019])(?<!\b[A-Z]\.)"
    r"(?:[^\W\d_a-z]{2,3}|[^\W\d_a-z](?:\. ?[^\W\d_a-z]){1,2}\.?)(?!\.?\w)"
)
# "/dkh" and "- dkh"; "dkh" at the end of a line.
_SMALL = re.compile(
    r"(?:(?<=[/\u2013\u2014-])|(?<=[/\u2013\u2014-] ))[a-z]{2,3}(?!\w)"
    r"|(?<![\w'\u2019])[a-z]{2,3}(?=[ \t.]*(?:\n|\Z))"
)

_Kind = tuple[Label, str]


def doubtful(
    proposals: Iterable[Annotation], sure: Sequence[Annotation]
) -> list[Annotation]:
    """Return proposals with the score and the rule of doubtful ones, in order.

    None that lies inside of a sure one, and none twice.
    """
    covered = {at for each in sure for at in range(each.span.start, each.span.end)}
    found = {
        (each.span, each.label): each
        for each in proposals
        if not covered.issuperset(range(each.span.start, each.span.end))
    }
    return [
        replace(found[key], score=DOUBTFUL_SCORE, rule=found[key].rule + DOUBTFUL)
        for key in sorted(found)
    ]


@dataclass(frozen=True, slots=True, repr=False)
class DoubtfulValues:
    """The single words of a record's places.

    Args:
        words: Their compared forms, and what they are part of.
    """

    words: dict[str, _Kind]

    @classmethod
    def of(cls, known: KnownIdentifiers) -> DoubtfulValues:
        """Prepare a record; of what a word is part of, the first counts."""
        words: dict[str, _Kind] = {}
        for kind, own in _words(known):
            for word in own:
                words.setdefault(word, kind)
        return cls(words)

    def find(self, note: Note, names: Names) -> Iterator[Annotation]:
        """Yield the words of places, and the initials of names."""
        if self.words:
            yield from self._places(note)
        yield from _initials(note, names)

    def _places(self, note: Note) -> Iterator[Annotation]:
        kinds = [self.words.get(note.form(at)) for at in range(len(note))]
        first = 0
        for at, kind in enumerate(kinds):
            behind = kinds[at + 1] if at + 1 < len(kinds) else None
            if kind is None or (kind == behind and note.gap(at + 1) in _JOINTS):
                first = first if kind else at + 1
                continue
            start, end = note.word(first).start, note.word(at).end
            yield _proposal(start, end, *kind)
            first = at + 1


def _words(known: KnownIdentifiers) -> Iterator[tuple[_Kind, list[str]]]:
    for address in known.addresses:
        city = list(forms_of(read_value(address.city)))
        yield (Label.CITY, "address"), _distinctive(city)
        for line in (address.street, address.other):
            core, _ = split_unit(list(forms_of(read_value(line))))
            name = without_suffix_and_directions(core)
            yield (Label.STREET, "address"), _distinctive(name)
    for rule, label, values in (
        ("facility", Label.HOSPITAL, known.facilities),
        ("employer", Label.ORGANIZATION, known.employers),
    ):
        for value in values:
            words = forms_of(without_legal_form(read_value(value)))
            name = [each for each in words if each not in kinds_of_institutions()]
            yield (label, rule), _distinctive(name)


def _distinctive(words: list[str]) -> list[str]:
    """Return the words that say which place it is.

    Of several no frequent one: the "new" of New Bern.
    """
    left_out = load_list("placeholders") | load_list("function_words")
    kept = [
        word
        for word in words
        if word.isalpha()
        and len(word) >= _SHORTEST_WORD
        and word not in left_out
        and canonical(word) not in load_list("street_suffixes")
    ]
    if len(kept) == 1:
        return kept
    return [word for word in kept if not is_frequent(word)]


def _initials(note: Note, names: Names) -> Iterator[Annotation]:
    """Yield initials that stand alone: "KS", "K.S.", of providers "/dkh", too."""
    large: dict[str, Person] = {}
    small: dict[str, Person] = {}
    words = load_list("function_words")
    for person in names.persons:
        for letters in _monograms(person):
            # Where all is in capitals, "IS" is the verb.
            is_word = letters.lower() in words
            if not (is_word and note.is_caseless):
                large.setdefault(letters, person)
            if person.group == PROVIDER and not is_word:
                small.setdefault(letters.lower(), person)
    # No pattern of the initials themselves: `re` would remember it.
    for pattern, persons in ((_LARGE, large), (_SMALL, small)):
        for found in pattern.finditer(note.text) if persons else ():
            letters = "".join(filter(str.isalpha, found[0]))
            if letters in persons:
                yield _initials_of(persons[letters], found)


def _initials_of(person: Person, found: re.Match[str]) -> Annotation:
    rule = f"{person.group}_initials"
    return _proposal(found.start(), found.end(), LABELS[person.group], rule)


def _monograms(person: Person) -> Iterator[str]:
    letters = person.letters
    ends = letters[:1] + letters[-1:] if len(letters) > 1 else ""
    for each in dict.fromkeys((*person.monograms, letters, ends)):
        if _FEWEST_INITIALS <= len(each) <= _MOST_INITIALS:
            yield each


def _proposal(start: int, end: int, label: Label, rule: str) -> Annotation:
    return Annotation(Span(start, end), label, DOUBTFUL_SCORE, PATIENT_RECORD, rule)
