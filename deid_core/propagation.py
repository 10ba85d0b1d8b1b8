"""Propagate what is found once to the whole note, and to the patient's other notes.

A name that a detector found after a title ("Dr. Reitman") is the same name where it
occurs alone ("Reitman's notes").  Works on proposals, before `merge`; proposes only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from .detection import Outcome, Proposals, failed
from .document import PATIENT_RECORD, Annotation, Document, Span
from .labels import Label
from .language import context
from .language.fragments import to_ascii
from .language.lexicons import load_list, normal
from .language.lexicons.word_classes import WordClass, is_listed, word_classes
from .language.occurrences import Occurrences
from .runtime.text_cache import TextCache, cached_by_text

ECHO_SCORE = 0.65
_TRUSTED = 0.6
_SHORTEST_IN_CAPITALS = 3
_SHORTEST_IN_SMALL_LETTERS = 3
_SHORTEST_PLURAL = 3
_SHORTEST_ID = 5
# The capital first: the lookbehind is tried at few letters.
_NAME_WORD = re.compile(r"[A-Z](?<![A-Za-z0-9][A-Z])(?:[A-Za-z]|['-](?=[A-Za-z]{2}))+")
_SMALL_WORD = re.compile(r"(?<![A-Za-z0-9])[a-z](?:[a-z]|['-](?=[a-z]{2}))+")
_ENDS_IN_HISS = re.compile(r"(?:s|x|z|ch|sh)\Z", re.IGNORECASE)
_CACHE_SIZE = 16_384
# So many proposals overlap at one place at the most; one too few proposes twice.
_NEIGHBOURS = 8
_NAMES = frozenset({Label.PATIENT, Label.DOCTOR})
_WHOLE = frozenset(
    {Label.HOSPITAL, Label.ORGANIZATION, Label.STREET, Label.USERNAME, Label.EMAIL}
    | {label for label in Label if label.main == "ID"}
)
_LONGEST_ARTICLE = 8
_ARTICLE_BEFORE = re.compile(
    r"(?<![A-Za-z])(?:an?|the|this|that|no)[ ]\Z", re.IGNORECASE
)
_PEOPLE_BEHIND = re.compile(
    r"[ ](?:family|household|home|residence|children|girls|boys)\b"
)
_OF_DISEASE = re.compile(
    r"'s?(?:[ ]*(?:[.,;:)\n]|\Z)"
    r"|[ ](?:disease|syndrome|palsy|disorder|sign|lymphoma)\b)"
)
_NO_WORDS = frozenset({"the", "and", "jr", "sr", "ii", "iii", "iv"})

Values = dict[str, Label]
"""What to look for, as it is written, and what it is."""


@dataclass(frozen=True, slots=True, repr=False)
class Targets:
    """Values, and what finds them.

    Args:
        labels: What each value is.
        names: Those that are searched in the folded text.
        wholes: The others, searched in the text as it is.
    """

    labels: Values
    names: Occurrences
    wholes: Occurrences

    @classmethod
    def of(cls, values: Values) -> Targets:
        """Prepare values for the notes to search."""
        return cls(
            values,
            Occurrences.of(v for v, label in values.items() if label in _NAMES),
            Occurrences.of(v for v, label in values.items() if label not in _NAMES),
        )


def with_propagated(
    documents: Sequence[Document],
    outcomes: Sequence[Outcome],
    notes: Sequence[int] | None = None,
) -> list[Outcome]:
    """Return the proposals of each document with those that follow from them.

    Args:
        documents: See `propagated`.
        outcomes: Of each document; a refused one shares nothing.
        notes: See `propagated`.
    """
    try:
        repeated = propagated(documents, [each.proposals for each in outcomes], notes)
    except Exception as error:
        # A name would be left where it is repeated: none of these notes may go out.
        return [failed("consistency", error)] * len(documents)
    return [
        Outcome.joined((outcome, Outcome(more)))
        for outcome, more in zip(outcomes, repeated, strict=True)
    ]


def propagated(
    documents: Sequence[Document],
    proposals: Sequence[Proposals],
    notes: Sequence[int] | None = None,
) -> list[list[Annotation]]:
    """Return, for each document, where else its proposed values occur.

    Args:
        documents: A batch; those of one patient (`Document.patient`) share values.
        proposals: Of each document, by all detectors.
        notes: Of which note each document is a reading: these share values, too.
            None where each is a note.
    """
    values = [
        _values(document.text, each)
        for document, each in zip(documents, proposals, strict=True)
    ]
    return [
        list(_propagated(document, targets, each))
        for document, targets, each in zip(
            documents, _shared(documents, values, notes), proposals, strict=True
        )
    ]


def _shared(
    documents: Sequence[Document],
    values: Sequence[Values],
    notes: Sequence[int] | None,
) -> list[Targets]:
    """Return what to search in each document: a patient's values in all of theirs."""
    sharing = [
        document.patient or note
        for document, note in zip(
            documents, notes or range(len(documents)), strict=True
        )
    ]
    shared: defaultdict[str | int, Values] = defaultdict(dict)
    for key, found in zip(sharing, values, strict=True):
        shared[key].update(found)
    targets = {key: Targets.of(found) for key, found in shared.items()}
    return [targets[key] for key in sharing]


def _values(text: str, proposals: Sequence[Annotation]) -> Values:
    values: Values = {}
    # Several detectors propose most names.
    words = TextCache(_name_words, _CACHE_SIZE)
    places = _places_by_name(text, proposals)
    # The most trusted last: it says what a value is called.
    for proposal in sorted(proposals, key=attrgetter("score")):
        # The patient record's detector searches its values everywhere itself.
        written = text[proposal.span.start : proposal.span.end]
        # What is doubtful at two places is no more so at the third.
        is_trusted = proposal.score >= _TRUSTED or len(places[written]) > 1
        if not is_trusted or proposal.detector == PATIENT_RECORD:
            continue
        label = proposal.label
        if label in _NAMES:
            for word in words[written]:
                if _is_telling(word):
                    values.update(dict.fromkeys(_forms_of_name(word), label))
                else:
                    values[word] = label
        elif _is_looked_for_whole(label, written):
            values[written] = label
    return values


def _places_by_name(
    text: str, proposals: Iterable[Annotation]
) -> Mapping[str, set[int]]:
    """Return where each name, as it is written, is proposed."""
    places: defaultdict[str, set[int]] = defaultdict(set)
    for each in proposals:
        if each.label in _NAMES:
            places[text[each.span.start : each.span.end]].add(each.span.start)
    return places


@cached_by_text(_CACHE_SIZE, keeps=is_listed)
def _forms_of_name(word: str) -> tuple[str, ...]:
    """Return how a name is written in a note: in any letter case, and of a family."""
    forms = [word]
    if len(word) >= _SHORTEST_IN_CAPITALS:
        forms.append(word.upper())
    kinds = word_classes(_form(word))
    if len(word) >= _SHORTEST_IN_SMALL_LETTERS and not kinds & WordClass.EPONYM:
        forms += word.lower(), word.capitalize()
    plural = word + ("es" if _ENDS_IN_HISS.search(word) else "s")
    if len(word) >= _SHORTEST_PLURAL and _is_telling(plural):
        forms.append(plural)
    return tuple(forms)


def _is_looked_for_whole(label: Label, written: str) -> bool:
    return label in _WHOLE and len(written) >= _SHORTEST_ID and not written.islower()


def _name_words(written: str) -> tuple[str, ...]:
    folded = to_ascii(written)
    if folded.islower():
        # Without a capital only the lists say that it is a name: no "de los".
        return tuple(filter(_is_listed_name, _SMALL_WORD.findall(folded)))
    return tuple(filter(_may_be_name, _NAME_WORD.findall(folded)))


@cached_by_text(_CACHE_SIZE, keeps=is_listed)
def _is_telling(word: str) -> bool:
    """Return whether it is a name wherever it occurs: it is not also a word."""
    return not word_classes(_form(word)) & (WordClass.WORD | WordClass.DRUG)


def _is_listed_name(word: str) -> bool:
    """Return whether a small word is a name by the lists, and no particle."""
    form = _form(word)
    return (
        len(form) >= _SHORTEST_IN_SMALL_LETTERS
        and word_classes(form) & (WordClass.GIVEN | WordClass.FAMILY) != 0
        and form not in load_list("name_particles")
        and _may_be_name(word)
    )


@cached_by_text(_CACHE_SIZE, keeps=is_listed)
def _may_be_name(word: str) -> bool:
    form = _form(word)
    if form in load_list("placeholders") or form in _NO_WORDS:
        return False
    return not word_classes(form) & WordClass.DRUG


def _form(word: str) -> str:
    return normal(word).replace("'", "").replace("-", "")


def _propagated(
    document: Document, targets: Targets, proposals: Iterable[Annotation]
) -> Iterator[Annotation]:
    if not targets.labels:
        return
    covered = {(each.span.start, each.span.end) for each in proposals}
    starts, ends = zip(*sorted(covered), strict=True) if covered else ((), ())
    folded = document.ascii
    for occurrences, searched in (
        (targets.names, folded),
        (targets.wholes, document.text),
    ):
        for value, start in occurrences.find(searched):
            end, label = start + len(value), targets.labels[value]
            if _is_covered(starts, ends, start, end):
                continue
            if label not in _NAMES or (
                context.is_person_again(
                    folded, start, end, is_word=not _is_telling(value)
                )
                and not _is_eponym(folded, start, end)
            ):
                span, rule = Span(start, end), label.name.lower()
                yield Annotation(span, label, ECHO_SCORE, "echo", rule)


def _is_eponym(text: str, start: int, end: int) -> bool:
    """Return whether a name stands for a disease, a device, an operation or a drug."""
    if context.is_measured(text, start, end):
        return True
    if not word_classes(_form(text[start:end])) & WordClass.EPONYM:
        return False
    if _ARTICLE_BEFORE.search(text, max(0, start - _LONGEST_ARTICLE), start):
        return not _PEOPLE_BEHIND.match(text, end)
    return _OF_DISEASE.match(text, end) is not None


def _is_covered(
    starts: Sequence[int], ends: Sequence[int], start: int, end: int
) -> bool:
    """Return whether one of the last proposals that begin before holds it all."""
    at = bisect_right(starts, start)
    return at > 0 and end <= max(ends[max(0, at - _NEIGHBOURS) : at])
