"""Everything that the hospital already knows about the patient, found in the note.

**Names** (patient, kin, providers).  Every word of two letters or more, without case
and diacritics, in any order, joined or split ("O'Brien", "OBrien", "Mc Donald",
"JohnSmith"); misspelt when the edit distance over the shorter length is below 0.33
(the NUS system, section 3.1), a swap of neighbours counting as one edit.  That leaves
words of three letters exact.  Initials are taken along ("J. Smith", "Smith, JQ"), and
stand alone behind a cue ("patient J.S.").  Patients and kin are found by nicknames as
well (Bill for William, William for Bill); "de la" and "van" beside a surname.

**Guards.**  The patient's own exact name has priority: it is found in any case and
anywhere, unless

* it is also an *ordinary word* (Young, Hill, Low, May, Will: counts decide, see
  ``lexicons/vocabulary.py``) or has two letters.  Then it needs a capital that can only
  mean a name (mid-sentence, outside headings, lines of capitals and abbreviations, or
  before a person's verb), a person's description behind it ("Hill is a 45-year-old"), a
  title, field name, relation, degree or possessive beside it, or another part of the
  same person's name.  "LOW" for loss of weight stays, "Ms. Low" goes.  A less frequent
  word (Cooper, Glover) needs that only where it is written small; "Máté" is no mate.
* it is an *eponym* at once before a disease, sign, device or procedure: "Foley
  catheter" stays even for a patient named Foley; "Foley was removed" does not.

A *misspelt* name is not looked for among small-written English and clinical words.
Capitalised ones need what an ordinary name needs; eponyms (Parkinson for a patient
named Parkins) a title or another part of the name.  Placeholders ("UNKNOWN",
"TEST^PATIENT", "Baby Boy", numbers, single letters) are not looked for at all.  A note
all in capitals or all small says nothing by case: there, two parts of one name side by
side are a name even if both are words, and so is what resembles one beside the other.

**Numbers.**  Birth dates in any order and form, with a digit wrong, two swapped, and
without the year behind "birthday" or "born"; phones by their last ten digits, or the
last seven; ids of four characters or more, without separators and leading zeros, on
boundaries (a letter beside a digit is one, for six digits and more); no year, no
repeated digit, no decimal, no date-like "12/31/24" for an id of six digits.  Their last
four digits behind a mask or "ending in", and ids like a year behind "ID" or "MRN".

**Places.**  The street's name with its number or a suffix, or behind "on" and "at"; its
unit; the city (a town called Reading or Mobile only beside another part, or capitalised
in mid-sentence); ZIP and ZIP+4; state and country only beside a part already found;
facilities and employers as whole phrases, capitalised if all of their words are
ordinary, and for short, without what says of what kind they are ("Acme" for Acme
Manufacturing, Inc.); e-mail addresses, and their user names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache

from deid_core.document import (
    NOTHING_KNOWN,
    PATIENT_RECORD,
    Annotation,
    Document,
    Span,
)
from deid_core.labels import Label
from deid_core.language.lexicons import is_frequent, is_ordinary, load_list

from .candidates import EXACT_SCORE, Candidate, is_joint
from .context import has_doctor_title
from .emails import find_emails
from .names import NameSearch
from .note import FormCache, Note, Word
from .options import KnownOptions
from .people import LABELS, Names
from .prefilter import Places
from .record import Record, compile_record

__all__ = ["KnownDetector", "KnownOptions"]

_RECORDS = 1024
_LONGEST_JOINT = 8
_LONGEST_PARTICLE = 4


class KnownDetector:
    """Propose what a document's known identifiers say is PHI.  Thread-safe.

    Args:
        options: See `KnownOptions`.
    """

    name = PATIENT_RECORD
    reads_as_written = True

    def __init__(self, options: KnownOptions | None = None) -> None:
        self._threshold = (options or KnownOptions()).threshold
        self._forms = FormCache()
        self._record = lru_cache(maxsize=_RECORDS)(compile_record)
        # Load all now, so that the first note costs no more than the next.
        is_ordinary("the")
        nothing = compile_record(NOTHING_KNOWN)
        nothing.sought.places(Note("", self._forms), self._threshold)

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals; none where nothing is known."""
        found = iter(self._proposals([each for each in documents if each.known]))
        return [next(found) if each.known else [] for each in documents]

    def _proposals(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        # One step for all notes, then the next: what it asks for stays in the cache.
        looks = [self._look(each) for each in documents]
        searches = [
            NameSearch(
                look.note,
                look.record.names,
                self._threshold,
                look.record.sought,
                look.places,
            )
            for look in looks
        ]
        for look, search in zip(looks, searches, strict=True):
            look.words = _located(look, search.misspelt)
        candidates = [
            search.accept(look.words)
            for look, search in zip(looks, searches, strict=True)
        ]
        found = [
            list(_name_annotations(look.note, look.record.names, each))
            for look, each in zip(looks, candidates, strict=True)
        ]
        for step in _STEPS:
            for own, look in zip(found, looks, strict=True):
                own += step(look)
        return found

    def _look(self, document: Document) -> _Look:
        record = self._record(document.known)
        note = Note(document.text, self._forms)
        return _Look(record, note, record.sought.places(note, self._threshold))


@dataclass(slots=True, repr=False)
class _Look:
    """A record and a note, and what of the one may stand in the other.

    Args:
        record: What to look for.
        note: Where.
        places: Where its words may stand.
        words: Where they stand, and those near a name.
    """

    record: Record
    note: Note
    places: Places
    words: list[Word] = field(default_factory=list)


def _located(look: _Look, misspelt: Set[str]) -> list[Word]:
    """Return every occurrence of the record's words and of misspelt ones, in order."""
    keys, note = look.record.keys, look.note
    places = look.places.near if misspelt else ()
    near = [at for at in places if note.form(at) in misspelt]
    words = note.words(sorted({*look.places.keys, *near}))
    return [each for each in words if each.normal in keys or each.normal in misspelt]


def _place_annotations(look: _Look) -> Iterator[Annotation]:
    for place in look.record.places.find(look.note, look.words):
        yield _exact(place.start, place.end, place.label, place.rule)


def _date_annotations(look: _Look) -> Iterator[Annotation]:
    for start, end in look.record.birth_dates.find(look.note, look.words):
        yield _exact(start, end, Label.DATE, "birth_date")


def _number_annotations(look: _Look) -> Iterator[Annotation]:
    for number, start, end in look.record.numbers.find(look.note):
        yield _exact(start, end, number.label, "phone" if number.is_phone else "id")


def _other_annotations(look: _Look) -> Iterator[Annotation]:
    for start, end, label in look.record.labelled.find(look.note, look.words):
        yield _exact(start, end, label, "id")
    for start, end, label in find_emails(look.note.text, look.record.emails):
        yield _exact(start, end, label, "email")


def _exact(start: int, end: int, label: Label, rule: str) -> Annotation:
    return Annotation(Span(start, end), label, EXACT_SCORE, PATIENT_RECORD, rule)


_STEPS = (
    _place_annotations,
    _date_annotations,
    _number_annotations,
    _other_annotations,
)


def _name_annotations(
    note: Note, names: Names, found: list[Candidate]
) -> Iterator[Annotation]:
    """Yield one annotation for each run of name words: "Smith, John Q." is one name."""
    words = sorted({each.word.start: each for each in found}.items())
    run: list[Candidate] = []
    for _, candidate in words:
        if run and not _continues(note, names, run, candidate):
            yield _annotation(note, names, run)
            run = []
        run.append(candidate)
    if run:
        yield _annotation(note, names, run)


def _continues(
    note: Note, names: Names, run: list[Candidate], right: Candidate
) -> bool:
    left = run[-1]
    if right.word.start - left.word.end > _LONGEST_JOINT:
        return False
    between = note.text[left.word.end : right.word.start]
    # A period ends a sentence, except behind an initial.
    if len(left.word.text) <= 3 and left.word.text.isupper():
        between = between.replace(".", "", 1)
    if _is_particle(names, left, right, between.strip(" ").lower()):
        between = " "
    if not is_joint(between) or "\n" in between:
        return False
    # "Kowalsky, Kowalski" is one name twice.
    if right.token and any(right.token == each.token for each in run):
        return False
    return bool(left.persons & right.persons) or (
        LABELS[names.person(left.persons).group]
        == LABELS[names.person(right.persons).group]
    )


def _is_particle(names: Names, left: Candidate, right: Candidate, between: str) -> bool:
    """Return whether what joins a surname stands between: "van den" for van der.

    Where the record has such a word, any so short may be a misspelt one.
    """
    if not between.isalpha():
        return False
    if between in load_list("name_particles"):
        return True
    is_one = left.persons & right.persons and names.particles
    is_short = len(between) <= _LONGEST_PARTICLE and not is_frequent(between)
    return bool(is_one and is_short)


def _annotation(note: Note, names: Names, run: list[Candidate]) -> Annotation:
    shared, score = run[0].persons, 0.0
    for each in run:
        shared = shared & each.persons or shared
        score = max(score, each.score)
    if shared & names.providers and has_doctor_title(note, run[0].word):
        shared &= names.providers
    group = names.person(shared).group
    fuzzy = "" if score == EXACT_SCORE else "~"
    span = Span(run[0].word.start, run[-1].word.end)
    return Annotation(span, LABELS[group], score, PATIENT_RECORD, f"{group}{fuzzy}")
