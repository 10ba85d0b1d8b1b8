"""The explanation of a scrubbed note: every proposal, and what was decided.

For the people who mend detection and the officer who must be able to prove what was
removed.  It holds the note's text: never send it where the note may not go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .document import Annotation, Document, Row, ScrubbedDocument, Span
from .errors import DeidError
from .merge import merge


@dataclass(frozen=True, slots=True)
class Decision:
    """One place of a note: who proposed what, and what came of it.

    Args:
        annotation: What `merge` made of the proposals: their joined span, and the label
            and score of the trusted one.
        proposals: All that it covers, in order of position; at least one.
        trusted: The one of them that gave its label.
        original: The text in the note.
        surrogate: What is written instead; None where the note is refused.
        scrubbed: Its span in the scrubbed text; None where the note is refused, or
            nothing is written.
    """

    annotation: Annotation
    proposals: tuple[Annotation, ...]
    trusted: Annotation
    original: str = field(repr=False)
    surrogate: str | None = field(default=None, repr=False)
    scrubbed: Span | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of how a document became its scrubbed form.

    Args:
        document: As it was given.
        decisions: Disjoint, ordered by position.
        scrubbed: What is published; None where the note is refused.
        refused: Why; "" where it is not.
    """

    document: Document
    decisions: tuple[Decision, ...]
    scrubbed: ScrubbedDocument | None
    refused: str = ""


def explanation(
    document: Document,
    proposals: Sequence[Annotation],
    result: ScrubbedDocument | DeidError,
) -> Explanation:
    """Return the account of a document.

    Args:
        document: As it was given.
        proposals: Of all detectors and propagation; none where one of them failed.
        result: What became of the document.
    """
    if isinstance(result, DeidError):
        decisions = tuple(_decisions(document.text, merge(proposals), proposals))
        return Explanation(document, decisions, None, _reason(result))
    decided = _decisions(document.text, result.annotations, proposals)
    decisions = tuple(
        _with_surrogate(each, result.text, row)
        for each, row in zip(decided, result.offset_map.rows, strict=True)
    )
    return Explanation(document, decisions, result)


def _decisions(
    text: str, annotations: Iterable[Annotation], proposals: Iterable[Annotation]
) -> Iterator[Decision]:
    """Yield a decision for each annotation; it covers its proposals whole."""
    ordered = sorted(proposals, key=_by_position)
    first = 0
    for annotation in annotations:
        start, end = annotation.span.start, annotation.span.end
        last = first
        while last < len(ordered) and ordered[last].span.start < end:
            last += 1
        covered = tuple(ordered[first:last])
        trusted = _trusted(annotation, covered)
        yield Decision(annotation, covered, trusted, text[start:end])
        first = last


def _trusted(annotation: Annotation, proposals: Iterable[Annotation]) -> Annotation:
    """Return whose label it is: `merge` prefers the longest of equals, then the first.

    Source: `merge`, which keeps all of the trusted proposal but its span.
    """
    same = [each for each in proposals if replace(annotation, span=each.span) == each]
    return max(same, key=lambda each: (_length(each), -each.span.start))


def _with_surrogate(decision: Decision, scrubbed_text: str, row: Row) -> Decision:
    start, end = row.scrubbed_start, row.scrubbed_end
    return replace(
        decision,
        surrogate=scrubbed_text[start:end],
        scrubbed=Span(start, end) if start < end else None,
    )


def _reason(error: DeidError) -> str:
    return f"{type(error).__name__}: {error}"


def _length(annotation: Annotation) -> int:
    return annotation.span.end - annotation.span.start


def _by_position(annotation: Annotation) -> tuple[int, int, str, str]:
    span = annotation.span
    return span.start, span.end, annotation.detector, annotation.rule
