"""What is found once is found everywhere: in the note, and in the patient's others.

A name that one detector saw beside a title ("Dr. Reitman") is the same name where it
stands alone ("Reitman's notes").  Works on proposals, before `merge`; proposes only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .detectors.fragments import fold
from .detectors.lexicon import context
from .document import Annotation, Document, Span
from .labels import Label
from .lexicons import load_list, normal
from .lexicons.kinds import Kind, kinds_of

ECHO_SCORE = 0.65
_TRUSTED = 0.6
_SHORTEST_NAME = 3
_SHORTEST_ID = 5
_NAMES = frozenset({Label.PATIENT, Label.DOCTOR})
_WHOLE = frozenset(
    {Label.HOSPITAL, Label.ORGANIZATION, Label.STREET, Label.USERNAME, Label.EMAIL}
)
_NO_WORDS = frozenset({"the", "and", "jr", "sr", "ii", "iii", "iv"})

Values = dict[str, Label]
"""What to look for, as it is written, and what it is."""


def echoes(
    documents: Sequence[Document], proposals: Sequence[Sequence[Annotation]]
) -> list[list[Annotation]]:
    """Return, for each document, where else its proposed values stand.

    Args:
        documents: A batch; those of one patient (`Document.patient`) share values.
        proposals: Of each document, by all detectors.
    """
    values = [
        _values(document.text, each)
        for document, each in zip(documents, proposals, strict=True)
    ]
    _share(documents, values)
    return [
        list(_echoes(document.text, found, each))
        for document, found, each in zip(documents, values, proposals, strict=True)
    ]


def _share(documents: Sequence[Document], values: list[Values]) -> None:
    """Give all documents of a patient the values of each."""
    by_patient: defaultdict[str, Values] = defaultdict(dict)
    for document, found in zip(documents, values, strict=True):
        if document.patient:
            by_patient[document.patient].update(found)
    for at, document in enumerate(documents):
        if document.patient:
            values[at] = by_patient[document.patient]


def _values(text: str, proposals: Iterable[Annotation]) -> Values:
    values: Values = {}
    for proposal in proposals:
        # The record's own values are sought everywhere as it is.
        if proposal.score < _TRUSTED or proposal.detector.startswith("known/"):
            continue
        written = text[proposal.span.start : proposal.span.end]
        label = proposal.label
        if label in _NAMES:
            for word in _name_words(written):
                values[word] = label
        elif _is_looked_for_whole(label, written):
            values[written] = label
    return values


def _is_looked_for_whole(label: Label, written: str) -> bool:
    is_kind = label in _WHOLE or label.main == "ID"
    return is_kind and len(written) >= _SHORTEST_ID and not written.islower()


def _name_words(written: str) -> Iterator[str]:
    for word in fold(written).replace(",", " ").split():
        bare = word.strip(".'\"()")
        if (
            len(bare) < _SHORTEST_NAME
            or not bare.replace("-", "").replace("'", "").isalpha()
        ):
            continue
        form = normal(bare)
        # A name that is a word, too, is left to those who look at its surroundings.
        if bare[0].isupper() and form not in _NO_WORDS and _is_telling(form):
            yield bare


def _is_telling(form: str) -> bool:
    kinds = kinds_of(form.replace("'", "").replace("-", ""))
    if Kind.WORD in kinds or Kind.DRUG in kinds:
        return False
    return form not in load_list("placeholders")


def _echoes(
    text: str, values: Values, proposals: Iterable[Annotation]
) -> Iterator[Annotation]:
    if not values:
        return
    covered = sorted((each.span.start, each.span.end) for each in proposals)
    folded = fold(text)
    for value, label in values.items():
        written = fold(value) if label in _NAMES else value
        source = folded if label in _NAMES else text
        for start in _places(source, written):
            end = start + len(value)
            if _is_covered(covered, start, end):
                continue
            if label in _NAMES and not _is_name(folded, start, end):
                continue
            yield Annotation(
                Span(start, end), label, ECHO_SCORE, f"echo/{label.name.lower()}"
            )


def _places(text: str, value: str) -> Iterator[int]:
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not text[end : end + 1].isalnum() and not (
            start and text[start - 1].isalnum()
        ):
            yield start
        start = text.find(value, end)


def _is_covered(covered: list[tuple[int, int]], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in covered)


def _is_name(folded: str, start: int, end: int) -> bool:
    """Return whether a name's word is no thing here: "the Foley catheter" stays."""
    if not context.is_thing(folded, start, end):
        return True
    return context.has_person_around(folded, start, end)
