"""Label a site's notes by what is known: distant supervision and self-training.

Four kinds of evidence label a value: the patient's record; codes and initials made of
the names in it (``kst/0412`` for Karin Stone); a number of the very shape that numbers
of records have at this site; and a system that is sure.  All else is "no identifier"
only where the system is sure of that, too: a line with a word of which it doubts, or
with an unlabelled word where values are elsewhere, is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.document import (
    Annotation,
    Document,
    KnownIdentifiers,
    PersonName,
    Span,
)
from deid_core.errors import DeidError
from deid_core.fiction.people import plain_name
from deid_core.labels import Label
from deid_core.merge import merge
from deid_core.pipeline import Deidentifier
from deid_core.research.training.encoding import Line
from deid_core.tagger.codec import TagSpan
from deid_core.tagger.compiled import Bias, CompiledModel, Tagged
from deid_core.tagger.features import collapsed_shape, shape
from deid_core.tagger.words import lines

SURE = 0.9
"""A system's annotation labels a value from this score on."""
SURELY_NONE = 0.9
"""A word is no identifier if the model's probability of that is higher."""
LEAST_SHARE = 0.05
"""A frame holds values if so many of the words in it are labelled."""
LEAST_SHARE_LATER = 0.2
"""The share that a frame needs once the model has seen the site."""
LEAST_OF_SHAPE = 0.1
"""A shape of numbers is a habit if records know so many of the numbers that have it."""
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
SHARE_OF_DATES = 0.2
"""A frame may hold dates if so many of the words in it may be one."""
_WITH_DIGITS = re.compile(r"(?<!\S)[(\[]?(?P<run>\d+[./-]\S*?\d)[.,;:)\]]*(?!\S)")
_CODE = re.compile(r"(?<![^\W_])[^\W\d_]{2,6}(?![^\W_])")
_BADGE = re.compile(r"[ /.#:-]?\d{2,6}(?![\w/.-]\w)")
_LONGEST_PART = 3
_LONGEST_CODE = 4
_LEAST_DIGITS = 4
_BATCH = 64


@dataclass(frozen=True, slots=True)
class SiteLine:
    """A line of a site's note.

    Args:
        line: With its labels, by the names of our labels.
        patient: Whose note it is, as a number.
    """

    line: Line = field(repr=False)
    patient: int


@dataclass(slots=True)
class Counted:
    """Counts of notes read, of values labelled, and of lines to learn from or left out.

    Args:
        notes: That were read.
        refused: Of these, refused by the system.
        by_record: Values labelled by a record or by a code made of it.
        by_system: Values labelled by the system alone.
        lines: Lines to learn from.
        doubtful: Lines left out.
    """

    notes: int = 0
    refused: int = 0
    by_record: int = 0
    by_system: int = 0
    lines: int = 0
    doubtful: int = 0


_Labelled = tuple[Span, Label, bool]
"""A value, what it is, and whether a record knows it."""


@dataclass(frozen=True, slots=True)
class _Note:
    """A note with its labels, the places of which a system is not sure, and of these
    what may be dates."""

    patient: int
    text: str = field(repr=False)
    labels: Sequence[_Labelled]
    unsure: Sequence[Span]
    dates: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Labeller:
    """Labels notes.

    Args:
        system: Reads each note together with its record.
        model: Says of which words the system has doubts.
        in_use: The model in use, whose doubts of dates count, too: no record tells of
            the days of care, so nothing can teach the site's manner of dates.
        words: As they are written, nobody's code: ``pt``, ``BP``.
        patients: A frame or a shape of numbers is a habit of the site if it is in the
            notes of so many patients.
        is_first: Whether the model has not seen the site.  Then lines without a value
            are left out.
    """

    system: Deidentifier
    model: CompiledModel
    in_use: CompiledModel
    words: Collection[str] = field(repr=False)
    patients: int
    is_first: bool
    counted: Counted = field(default_factory=Counted)
    _record: PatientRecordDetector = field(default_factory=PatientRecordDetector)

    def lines(self, notes: Sequence[tuple[int, Document]]) -> Iterator[SiteLine]:
        """Yield the lines of notes to learn from, with the number of the patient."""
        read = [
            note
            for at in range(0, len(notes), _BATCH)
            for note in self._read(notes[at : at + _BATCH])
        ]
        shapes = self._shapes(read)
        read = [self._with_numbers(each, shapes) for each in read]
        frames = self._frames(read)
        for note in read:
            for line in self._of_note(note, frames):
                yield SiteLine(line, note.patient)

    def _read(self, batch: Sequence[tuple[int, Document]]) -> Iterator[_Note]:
        documents = [document for _, document in batch]
        results = self.system.deidentify_batch(documents)
        bias = Bias(below=SURELY_NONE)
        texts = [each.in_mixed_case.text for each in documents]
        doubts = self.model.tag(texts, bias)
        for own, others in zip(doubts, self.in_use.tag(texts, bias), strict=True):
            own += (each for each in others if each.tag == Label.DATE.value)
        records = self._record(documents)
        for (patient, document), result, doubt, record in zip(
            batch, results, doubts, records, strict=True
        ):
            self.counted.notes += 1
            if isinstance(result, DeidError):
                self.counted.refused += 1
                continue
            known = merge(record)
            yield self._labelled(patient, document, known, result.annotations, doubt)

    def _labelled(
        self,
        patient: int,
        document: Document,
        known: Sequence[Annotation],
        found: Sequence[Annotation],
        doubts: Sequence[Tagged],
    ) -> _Note:
        text = document.in_mixed_case.text
        labels = [
            (span, Label.USERNAME, True)
            for span in codes_in(document.text, document.known, self.words)
        ]
        for each in known:
            if not any(span.overlaps(each.span) for span, _, _ in labels):
                labels.append((each.span, each.label, True))
        unsure = [Span(each.start, each.end) for each in doubts]
        dates = [
            Span(each.start, each.end)
            for each in doubts
            if each.tag == Label.DATE.value
        ]
        sure = [span for span, _, _ in labels]
        for each in found:
            inside = [span for span in sure if span.overlaps(each.span)]
            if inside:
                unsure += _beside(text, each.span, inside)
            elif each.score >= SURE:
                labels.append((each.span, each.label, False))
            else:
                unsure.append(each.span)
        labels.sort(key=lambda each: each[0])
        return _Note(patient, text, labels, unsure, dates)

    def _shapes(self, notes: Sequence[_Note]) -> dict[str, Label]:
        """Return the shapes of numbers, and of codes with one, that are habits here."""
        values = [
            (note.text[span.start : span.end], label, note.patient)
            for note in notes
            for span, label, is_known in note.labels
            if is_known and (label.main == "ID" or label is Label.USERNAME)
        ]
        found = number_shapes(((value, at) for value, _, at in values), self.patients)
        labels = {shape(value): label for value, label, _ in values}
        known = Counter(shape(value) for value, _, _ in values)
        every = Counter(
            shape(note.text[span.start : span.end])
            for note in notes
            for span in numbers_in(note.text, found)
        )
        return {
            form: labels[form] if labels[form] is Label.USERNAME else Label.IDNUM
            for form in found
            if known[form] >= LEAST_OF_SHAPE * every[form]
        }

    def _with_numbers(self, note: _Note, shapes: Mapping[str, Label]) -> _Note:
        """Return a note in which numbers of the records' shapes are labelled, too."""
        more = [
            (span, shapes[shape(note.text[span.start : span.end])], True)
            for span in numbers_in(note.text, shapes)
        ]
        new = [span for span, _, _ in more]
        # A system may have called a part of it something else.
        kept = [
            each
            for each in note.labels
            if each[2] or not any(map(each[0].overlaps, new))
        ]
        taken = [span for span, _, is_known in kept if is_known]
        more = [each for each in more if not any(map(each[0].overlaps, taken))]
        return replace(note, labels=sorted((*kept, *more), key=lambda each: each[0]))

    def _frames(self, notes: Iterable[_Note]) -> frozenset[Frame]:
        """Return the frames that hold values in the notes of enough patients."""
        patients: defaultdict[Frame, set[int]] = defaultdict(set)
        labelled, dates, every = Counter[Frame](), Counter[Frame](), Counter[Frame]()
        for note in notes:
            starts = {span.start for span, _, _ in note.labels}
            days = {span.start for span in note.dates}
            for span, frame in frames_of(note.text, self.words):
                every[frame] += 1
                labelled[frame] += span.start in starts
                dates[frame] += span.start in days
                if span.start in starts or span.start in days:
                    patients[frame].add(note.patient)
        least = LEAST_SHARE if self.is_first else LEAST_SHARE_LATER
        return frozenset(
            frame
            for frame, owners in patients.items()
            if len(owners) >= self.patients
            and (
                labelled[frame] >= least * every[frame]
                or dates[frame] >= SHARE_OF_DATES * every[frame]
            )
        )

    def _of_note(self, note: _Note, frames: Collection[Frame]) -> Iterator[Line]:
        unsure = list(note.unsure)
        unsure += (
            span for span, frame in frames_of(note.text, self.words) if frame in frames
        )
        places = [Span(*each) for each in lines(note.text) if each[0] < each[1]]
        starts = [each.start for each in places]
        own: defaultdict[int, list[_Labelled]] = defaultdict(list)
        for each in note.labels:
            for at in _lines_of(each[0], starts):
                own[at].append(each)
        doubts: defaultdict[int, list[Span]] = defaultdict(list)
        for span in unsure:
            for at in _lines_of(span, starts):
                doubts[at].append(span)
        for at, place in enumerate(places):
            yield from self._of_line(note.text, place, own[at], doubts[at])

    def _of_line(
        self, text: str, place: Span, own: Sequence[_Labelled], unsure: Iterable[Span]
    ) -> Iterator[Line]:
        if not own and self.is_first:
            return
        for doubt in unsure:
            if not any(span.overlaps(doubt) for span, _, _ in own):
                self.counted.doubtful += 1
                return
        spans: list[TagSpan] = []
        for span, label, is_known in own:
            first = max(span.start, place.start) - place.start
            last = min(span.end, place.end) - place.start
            if first >= last or (spans and first < spans[-1].end):
                continue
            spans.append(TagSpan(first, last, label.value))
            self.counted.by_record += is_known
            self.counted.by_system += not is_known
        self.counted.lines += 1
        yield Line(text[place.start : place.end], tuple(spans))


def _lines_of(span: Span, starts: Sequence[int]) -> range:
    """Return the numbers of the lines that a span touches."""
    first = bisect_right(starts, span.start) - 1
    return range(max(first, 0), bisect_right(starts, span.end - 1))


def _beside(text: str, span: Span, labelled: Sequence[Span]) -> Iterator[Span]:
    """Yield the words of a span that are in no labelled one, unless in small letters.

    A system may take the word before a name for a part of it.
    """
    for found in _WORD.finditer(text, span.start, span.end):
        word = Span(*found.span())
        is_outside = not any(map(word.overlaps, labelled))
        if is_outside and found[0].isalnum() and not found[0].islower():
            yield word


Frame = tuple[str, str]
"""The word before, and the shape of a word; or the shape of a number with marks."""
_ANYWHERE = "\n"


def frames_of(text: str, words: Collection[str]) -> Iterator[tuple[Span, Frame]]:
    """Yield the words of a text that may be values, each with its frame.

    Args:
        text: Of a note.
        words: As they are written, no values if in small letters.
    """
    before = ""
    for found in _WORD.finditer(text):
        word = found[0]
        if word.isalnum() and not (word.islower() and word in words):
            form = shape(word) if len(word) <= _LONGEST_CODE else collapsed_shape(word)
            yield Span(found.start(), found.end()), (before, form)
        before = word.lower()
    for found in _WITH_DIGITS.finditer(text):
        yield Span(*found.span("run")), (_ANYWHERE, shape(found["run"]))


def number_shapes(values: Iterable[tuple[str, int]], patients: int) -> frozenset[str]:
    """Return the shapes that numbers of enough patients' records have.

    Shapes of digits alone, or with less than four, are of too much else.
    """
    owners: defaultdict[str, set[int]] = defaultdict(set)
    for value, patient in values:
        form = shape(value)
        if form.count("0") >= _LEAST_DIGITS and form.strip("0"):
            owners[form].add(patient)
    return frozenset(form for form, own in owners.items() if len(own) >= patients)


def numbers_in(text: str, shapes: Collection[str]) -> Iterator[Span]:
    """Yield the stretches of a text that have one of the shapes as a whole."""
    whole = shape(text)
    for form in sorted(shapes):
        at = whole.find(form)
        while at >= 0:
            end = at + len(form)
            around = whole[max(0, at - 1) : at] + whole[end : end + 1]
            if not any(map(str.isalnum, around)):
                yield Span(at, end)
            at = whole.find(form, end)


def codes_in(
    text: str, known: KnownIdentifiers, words: Collection[str]
) -> Iterator[Span]:
    """Yield the codes and initials of the record's people, each with its number.

    Args:
        text: Of a note.
        known: The patient's record.
        words: As they are written, no codes: ``pt``, ``abx``, ``BP``.
    """
    codes = set[str]().union(*map(codes_of, known.provider_names))
    for found in _CODE.finditer(text):
        word = found[0]
        if word.lower() not in codes or word in words:
            continue
        if not (word.isupper() or word.islower()):
            continue
        badge = _BADGE.match(text, found.end())
        yield Span(found.start(), badge.end() if badge else found.end())


def codes_of(name: PersonName) -> set[str]:
    """Return the codes that may stand for a person, in lower case."""
    given, family = (_letters(each) for each in (name.given, name.family))
    if not given or not family:
        return set()
    found = {given[0] + family[0], family[0] + given[0], family[:_LONGEST_PART]}
    for length in range(1, _LONGEST_PART + 1):
        found |= {given[0] + family[:length], given[:length] + family[0]}
        found |= {family[:length] + given[0], family[0] + given[:length]}
    if name.middle:
        found.add(given[0] + _letters(name.middle)[:1] + family[0])
    return {each for each in found if len(each) > 1}


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, plain_name(text))).lower()
