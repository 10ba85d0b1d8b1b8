"""Find the values of the patient's own record in the note.

**Names** (patient, kin, providers).  Every word of two letters or more, without case
and diacritics, in any order, joined or split ("O'Brien", "OBrien", "Mc Donald",
"JohnSmith"), also inside of a word where the letter case changes ("seenSmithJones", no
Donald in "McDonald").  A fuzzy match of a whole word has an edit distance over the
shorter length below 0.33 (the NUS system, section 3.1), a swap of neighbours counting
as one edit, so that words of three letters must be exact.  Initials are included next
to a name ("J. Smith", "Smith, JQ"), and alone after a cue ("patient J.S.").  Patients
and kin are also found by nicknames (Bill for William, William for Bill), surnames with
"de la" and "van".

**Guards.**  The patient's own exact name has priority: it is found in any case and
anywhere, unless it is

* an *ordinary word* (Young, Hill, Low, May, Will; by counts, see
  ``lexicons/vocabulary.py``) or has two letters.  It then needs a capital that can only
  mean a name (in mid-sentence, outside headings, lines of capitals and abbreviations,
  or before a person's verb), a description of a person after it ("Hill is a
  45-year-old"), an adjacent title, field name, relation, degree or possessive, or
  another part of the same person's name.  "LOW" (loss of weight) is kept, "Ms. Low" is
  redacted.  A less frequent word (Cooper, Glover) needs that only in lower case;
  "Máté" is no mate;
* an *eponym* directly before a disease, sign, device or procedure: "Foley catheter" is
  kept even for a patient named Foley; "Foley was removed" is not.

English and clinical words in lower case are no fuzzy matches.  Capitalised ones need
what an ordinary word needs; eponyms (Parkinson for a patient named Parkins) need a
title or another part of the name.  Placeholders ("UNKNOWN", "TEST^PATIENT", "Baby Boy",
numbers, single letters) are left out.  In a note all in capitals or all in lower case,
two adjacent parts of one name are a name even if both are words, and so is a fuzzy
match next to a part of the same name.

Of texts of fixed width, whose lines break inside of words, all values are also looked
for across line ends (`language.wrapped`).

**Numbers.**  Birth dates in any order and form, with a digit wrong, two swapped, and
without the year after "birthday" or "born"; phones by their last ten digits, or the
last seven; ids of four characters or more, without separators and leading zeros, on
boundaries (a letter next to a digit is one, for six digits and more); no year, no
repeated digit, no decimal, no date-like "12/31/24" for an id of six digits.  Their last
four digits after a mask or "ending in", and ids like a year after "ID" or "MRN".

**Places.**  The street's name with its number or a suffix, or after "on" and "at"; its
unit; the city (a town called Reading or Mobile only next to another part, or
capitalised in mid-sentence); ZIP and ZIP+4; state and country only next to a part
already found; facilities and employers as whole phrases, capitalised if all of their
words are ordinary, and in short form, without the words for their kind ("Acme" for Acme
Manufacturing, Inc.); e-mail addresses, and their user names.

**Doubtful** proposals are an option, see `PatientRecordOptions.doubtful`: what the
guards reject, for a later step to decide.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache

from deid_core.document import (
    NOTHING_KNOWN,
    PATIENT_RECORD,
    Annotation,
    Document,
    KnownIdentifiers,
    Span,
)
from deid_core.labels import Label
from deid_core.language.lexicons import is_frequent, is_ordinary, load_list
from deid_core.language.reading import Reading
from deid_core.language.wrapped import unwrapped

from .candidates import EXACT_SCORE, Candidate, is_joint
from .context import has_doctor_title
from .doubtful import DoubtfulValues, doubtful
from .emails import find_emails
from .names import NameSearch
from .note import FormCache, Note, Word
from .options import PatientRecordOptions
from .people import LABELS, Names
from .places import Place
from .prefilter import Positions
from .record import Record, RecordCompiler

__all__ = ["PatientRecordDetector", "PatientRecordOptions"]

_RECORDS = 256
_LONGEST_JOINT = 8
_LONGEST_PARTICLE = 4


class PatientRecordDetector:
    """Propose the values of each document's patient record.  Thread-safe.

    It keeps the records and words seen last; they go with it.
    """

    name = PATIENT_RECORD
    reads_as_written = True

    def __init__(self, options: PatientRecordOptions | None = None) -> None:
        options = options or PatientRecordOptions()
        self._threshold = options.threshold
        self._proposes_doubtful = options.doubtful
        self._doubtful_values = lru_cache(maxsize=_RECORDS)(DoubtfulValues.of)
        self._forms = FormCache()
        self._record = lru_cache(maxsize=_RECORDS)(RecordCompiler().compiled)
        # Load all now, so that the first note costs no more than the next.
        is_ordinary("the")
        nothing = self._record(NOTHING_KNOWN)
        nothing.prefilter.positions(Note("", self._forms), self._threshold)

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals; none for an empty record."""
        known = [each for each in documents if each.known]
        found = iter(self._proposals(known))
        whole = iter(self._across_lines(known))
        return [
            [*next(found), *next(whole)] if each.known else [] for each in documents
        ]

    def _across_lines(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the values that go across line ends of texts of fixed width."""
        readings = [unwrapped(each.text) for each in documents]
        found = iter(
            self._proposals(
                [
                    replace(document, text=reading.text)
                    for document, reading in zip(documents, readings, strict=True)
                    if reading is not None
                ]
            )
        )
        return [
            [] if reading is None else list(_broken(reading, next(found)))
            for reading in readings
        ]

    def _proposals(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        # One step for all notes, then the next: its data stays in the CPU's cache.
        searches = [self._search(each) for each in documents]
        name_searches = [
            NameSearch(
                search.note,
                search.record.names,
                self._threshold,
                search.record.prefilter,
                search.positions,
                search.record.keys,
            )
            for search in searches
        ]
        for search, names in zip(searches, name_searches, strict=True):
            search.words = _located(search, names.fuzzy)
        candidates = [
            names.accept(search.words)
            for search, names in zip(searches, name_searches, strict=True)
        ]
        found = [
            list(_name_annotations(search.note, search.record.names, each))
            for search, each in zip(searches, candidates, strict=True)
        ]
        for step in _STEPS:
            for own, search in zip(found, searches, strict=True):
                own += step(search)
        if self._proposes_doubtful:
            for at, search in enumerate(searches):
                rejected = name_searches[at].rejected(search.words, candidates[at])
                found[at] += self._doubtful(
                    search, rejected, documents[at].known, found[at]
                )
        return found

    def _doubtful(
        self,
        search: _Search,
        rejected: list[Candidate],
        known: KnownIdentifiers,
        sure: list[Annotation],
    ) -> list[Annotation]:
        """Return what may be a value of the record, but for what is surely one."""
        note, record = search.note, search.record
        names = record.names
        proposals = [
            *_name_annotations(note, names, rejected, is_joined=_is_one_person),
            *map(_of_place, record.places.without_evidence(note, search.words)),
            *self._doubtful_values(known).find(note, names),
        ]
        return doubtful(proposals, sure)

    def _search(self, document: Document) -> _Search:
        record = self._record(document.known)
        note = Note(document.text, self._forms)
        return _Search(record, note, record.prefilter.positions(note, self._threshold))


@dataclass(slots=True, repr=False)
class _Search:
    """A record, a note, and the candidates of the one in the other.

    Args:
        record: The patient's.
        note: The document's text.
        positions: The candidates.
        words: The record's words in the note, and fuzzy matches of its names.
    """

    record: Record
    note: Note
    positions: Positions
    words: list[Word] = field(default_factory=list)


def _broken(reading: Reading, found: Iterable[Annotation]) -> Iterator[Annotation]:
    """Yield the annotations inside of which a line ends."""
    for each in found:
        start, end = each.span.start, each.span.end
        first = bisect_right(reading.starts, start)
        if first < len(reading.starts) and reading.starts[first] < end:
            yield replace(each, span=Span(*reading.in_note(start, end)))


def _located(search: _Search, fuzzy: Set[str]) -> list[Word]:
    """Return every occurrence of the record's words and of fuzzy matches, in order."""
    keys, note = search.record.keys, search.note
    near_names = search.positions.near if fuzzy else ()
    near = [at for at in near_names if note.form(at) in fuzzy]
    words = note.words(sorted({*search.positions.keys, *near}))
    return [each for each in words if each.normal in keys or each.normal in fuzzy]


def _place_annotations(search: _Search) -> Iterator[Annotation]:
    yield from map(_of_place, search.record.places.find(search.note, search.words))


def _of_place(place: Place) -> Annotation:
    return _exact(place.start, place.end, place.label, place.rule)


def _date_annotations(search: _Search) -> Iterator[Annotation]:
    for start, end in search.record.birth_dates.find(search.note, search.words):
        yield _exact(start, end, Label.DATE, "birth_date")


def _number_annotations(search: _Search) -> Iterator[Annotation]:
    for number, start, end in search.record.numbers.find(search.note):
        yield _exact(start, end, number.label, "phone" if number.is_phone else "id")


def _other_annotations(search: _Search) -> Iterator[Annotation]:
    for start, end, label in search.record.labelled.find(search.note, search.words):
        yield _exact(start, end, label, "id")
    for start, end, label in find_emails(search.note.text, search.record.emails):
        yield _exact(start, end, label, "email")


def _exact(start: int, end: int, label: Label, rule: str) -> Annotation:
    return Annotation(Span(start, end), label, EXACT_SCORE, PATIENT_RECORD, rule)


_STEPS = (
    _place_annotations,
    _date_annotations,
    _number_annotations,
    _other_annotations,
)


def _is_one_group(names: Names, left: Candidate, right: Candidate) -> bool:
    """Return whether two words are of one person, or of persons with one label."""
    return _is_one_person(names, left, right) or (
        LABELS[names.person(left.persons).group]
        == LABELS[names.person(right.persons).group]
    )


def _is_one_person(_: Names, left: Candidate, right: Candidate) -> bool:
    return bool(left.persons & right.persons)


def _name_annotations(
    note: Note,
    names: Names,
    found: list[Candidate],
    is_joined: Callable[[Names, Candidate, Candidate], bool] = _is_one_group,
) -> Iterator[Annotation]:
    """Yield one annotation for each run of name words: "Smith, John Q." is one name."""
    words = sorted({each.word.start: each for each in found}.items())
    run: list[Candidate] = []
    for _, candidate in words:
        if run and not (
            _continues(note, names, run, candidate)
            and is_joined(names, run[-1], candidate)
        ):
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
    return not (right.token and any(right.token == each.token for each in run))


def _is_particle(names: Names, left: Candidate, right: Candidate, between: str) -> bool:
    """Return whether a particle of a surname is between: "van den" for van der.

    Where the record has a particle, any word so short may be a misspelt one.
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
