"""Spans of a note, for spans of its readings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .detection import Outcome
from .document import PATIENT_RECORD, Annotation, Span
from .errors import DetectorFailed
from .labels import Label
from .language.line_ends import MendedReading
from .language.reading import Reading, widened
from .merge import merge

_PARTED = frozenset({Label.DATE, Label.STREET, Label.PHONE, Label.FAX}).union(
    label for label in Label if label.main in {"ID", "NAME"}
)
"""What may go on in the next line without a hyphen, if a rule or the record says so."""
_SURE = 0.8
_BEYOND = "a detector's proposal lies beyond the note"


def in_note(readings: Sequence[Reading], outcomes: Sequence[Outcome]) -> Outcome:
    """Return the proposals for all readings of a note, with spans of the note.

    Of other readings than the first, only those that cover more than the first one's;
    of one without line ends that cut, only what goes across them.
    """
    if len(readings) == 1 and not readings[0].starts:
        # Most notes read as they are written.
        return outcomes[0]
    moved: list[Outcome] = []
    for reading, outcome in zip(readings, outcomes, strict=True):
        try:
            proposals = _all_moved(reading, _own(reading, outcome.proposals))
        except ValueError:
            return Outcome(refused=DetectorFailed(_BEYOND))
        moved.append(Outcome(proposals, outcome.refused))
    first, *others = moved
    covered = [each.span for each in merge(first.proposals)] if others else []
    return Outcome.joined((first, *(_beyond(covered, other) for other in others)))


def _beyond(covered: Sequence[Span], other: Outcome) -> Outcome:
    """Return the outcome of another reading without what the first one covers."""
    more = [each for each in other.proposals if not _holds(covered, each.span)]
    return Outcome(more, other.refused)


def _own(reading: Reading, proposals: Sequence[Annotation]) -> Sequence[Annotation]:
    """Return those proposals that only this reading can have."""
    if not isinstance(reading, MendedReading):
        return proposals
    return [each for each in proposals if _goes_across(reading, each)]


def _goes_across(reading: MendedReading, proposal: Annotation) -> bool:
    start, end = proposal.span.start, proposal.span.end
    if not reading.goes_across(start, end):
        return False
    if proposal.detector == PATIENT_RECORD or reading.is_one_word(start, end):
        return True
    if reading.is_doubtful(start, end):
        return False
    is_sure = proposal.detector != "tagger" and proposal.score >= _SURE
    return is_sure and proposal.label in _PARTED


def as_written(
    text: str, readings: Sequence[Reading], annotations: Sequence[Annotation]
) -> tuple[Sequence[Annotation], Sequence[str] | None]:
    """Return annotations of a note with the invisible characters around them.

    Args:
        text: The note.
        readings: Of the note.
        annotations: Disjoint, ordered by position.

    Returns:
        The annotations, and how each reads; None where all read as they are written.
    """
    if readings[0].text is not text:
        annotations = _with_invisible(text, annotations)
    elif len(readings) == 1:
        return annotations, None
    return annotations, _values(text, readings, annotations)


def _with_invisible(text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
    result: list[Annotation] = []
    last = 0
    nexts = [*(each.span.start for each in annotations[1:]), len(text)]
    for each, most in zip(annotations, nexts, strict=False):
        start, end = each.span.start, each.span.end
        start, last = widened(text, start, end, within=(last, most))
        result.append(_with_span(each, start, last))
    return result


def _values(
    text: str, readings: Sequence[Reading], annotations: Iterable[Annotation]
) -> list[str]:
    """Return how each annotated range of a note reads, by the first that has it.

    What goes across the end of a line reads as without it.
    """
    in_turn = sorted(readings, key=_is_first_of_ranges)
    return [
        next(
            (value for reading in in_turn if (value := _value(reading, each))),
            text[each.span.start : each.span.end],
        )
        for each in annotations
    ]


def _all_moved(
    reading: Reading, proposals: Sequence[Annotation]
) -> Sequence[Annotation]:
    return [_moved(reading, each) for each in proposals]


def _moved(reading: Reading, proposal: Annotation) -> Annotation:
    start, end = reading.in_note(proposal.span.start, proposal.span.end)
    return _with_span(proposal, start, end)


def _with_span(annotation: Annotation, start: int, end: int) -> Annotation:
    span = Span(start, end)
    return annotation if span == annotation.span else replace(annotation, span=span)


def _holds(covered: Sequence[Span], span: Span) -> bool:
    """Return whether one of some disjoint spans, in order, holds another span."""
    at = bisect_right(covered, span.start, key=_start) - 1
    return at >= 0 and span.end <= covered[at].end


def _start(span: Span) -> int:
    return span.start


def _is_first_of_ranges(reading: Reading) -> bool:
    """Return False for a reading that has values of few ranges, to be asked first."""
    return not isinstance(reading, MendedReading)


def _value(reading: Reading, annotation: Annotation) -> str:
    return reading.of_note(annotation.span.start, annotation.span.end)
