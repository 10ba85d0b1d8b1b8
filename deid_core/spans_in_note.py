"""Proposals for the readings of a note, as proposals for the note itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .document import Annotation, Span
from .language.reading import Reading, widened
from .merge import merge


def in_note(
    readings: Sequence[Reading], proposals: Sequence[Sequence[Annotation]]
) -> list[Annotation]:
    """Return the proposals for each reading of a note, with spans of the note.

    Of the second reading, only those that cover more than the first one's.

    Raises:
        ValueError: A proposal lies beyond its reading.
    """
    if len(readings) == 1 and not readings[0].starts:
        # Most notes read as they are written.
        return list(proposals[0])
    first, *others = map(_all_moved, readings, proposals)
    covered = [each.span for each in merge(first)] if others else []
    more = (each for other in others for each in other)
    return [*first, *(each for each in more if not _holds(covered, each.span))]


def with_invisible(text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
    """Return annotations that take along the invisible characters around them.

    Args:
        text: The note.
        annotations: Disjoint, ordered by position.
    """
    result: list[Annotation] = []
    last = 0
    nexts = [*(each.span.start for each in annotations[1:]), len(text)]
    for each, most in zip(annotations, nexts, strict=False):
        start, end = each.span.start, each.span.end
        start, last = widened(text, start, end, within=(last, most))
        result.append(_with_span(each, start, last))
    return result


def values_in(
    text: str, readings: Iterable[Reading], annotations: Iterable[Annotation]
) -> list[str]:
    """Return how each annotated range of a note reads: in the first way it does."""
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
