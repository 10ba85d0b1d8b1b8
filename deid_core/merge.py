"""Turn overlapping proposals into the disjoint annotations to act on.

Only characters that a detector proposed are covered: neighbouring parts of one name are
joined by the detector that sees the text between them, never here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from .document import Annotation, Span


def merge(proposals: Iterable[Annotation]) -> list[Annotation]:
    """Join every run of overlapping proposals into one annotation.

    The result covers exactly the characters that the proposals cover: merging may
    change what a character is called, never whether it is replaced.  A run is called
    what the most trusted of its larger proposals is called (those that cover half of
    it, if any does): the highest score, then the longest, then the names of
    detector and rule.  So the state in a hospital's name does not make the hospital a
    state.

    Args:
        proposals: In any order, possibly overlapping; the order does not matter.

    Returns:
        Disjoint annotations, ordered by position.
    """
    merged: list[Annotation] = []
    run: list[Annotation] = []
    end = 0
    for proposal in sorted(proposals, key=attrgetter("span.start")):
        if run and proposal.span.start >= end:
            merged.append(_join(run, end))
            run, end = [], 0
        run.append(proposal)
        if proposal.span.end > end:
            end = proposal.span.end
    if run:
        merged.append(_join(run, end))
    return merged


def _join(run: list[Annotation], end: int) -> Annotation:
    if len(run) == 1:
        return run[0]
    start = run[0].span.start
    half = (end - start) / 2
    large = [each for each in run if each.span.end - each.span.start >= half]
    trusted = max(large or run, key=_by_trust)
    if (trusted.span.start, trusted.span.end) == (start, end):
        return trusted
    return replace(trusted, span=Span(start, end))


def _by_trust(annotation: Annotation) -> tuple[float, int, str, str, str, int]:
    # Names, label and place break ties, so that a note always gets the same labels.
    span = annotation.span
    return (
        annotation.score,
        span.end - span.start,
        annotation.detector,
        annotation.rule,
        annotation.label,
        -span.start,
    )
