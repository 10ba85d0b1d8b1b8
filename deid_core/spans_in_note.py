"""Spans of a note, for spans of its readings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .detection import Proposals
from .document import Annotation, Span
from .errors import DetectorFailed
from .language.reading import Reading, widened
from .merge import merge


def in_note(readings: Sequence[Reading], proposals: Sequence[Proposals]) -> Proposals:
    """Return the proposals for all readings of a note, with spans of the note.

    Of the second reading, only those that cover more than the first one's.
    """
    found: list[Sequence[Annotation]] = []
    for reading, each in zip(readings, proposals, strict=True):
        if isinstance(each, DetectorFailed):
            return each
        if len(readings) == 1 and not reading.starts:
            # Most notes read as they are written.
            return each
        try:
            found.append(_all_moved(reading, each))
        except ValueError:
            return DetectorFailed("a detector's proposal lies beyond the note")
    first, *others = found
    covered = [each.span for each in merge(first)] if others else []
    more = (each for other in others for each in other)
    return [*first, *(each for each in more if not _holds(covered, each.span))]


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
    if readings[0].text is text:
        return annotations, None
    widest = _with_invisible(text, annotations)
    return widest, _values(text, readings, widest)


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
    text: str, readings: Iterable[Reading], annotations: Iterable[Annotation]
) -> list[str]:
    """Return how each annotated range of a note reads, by the first that has it."""
    return [
        next(
            (value for reading in readings if (value := _value(reading, each))),
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


def _value(reading: Reading, annotation: Annotation) -> str:
    return reading.of_note(annotation.span.start, annotation.span.end)
