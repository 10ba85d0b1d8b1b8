"""The nouns of an evaluation: gold documents, and what a system said of them.

No ``repr`` here shows text of a corpus.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from deid_core.document import NOTHING_KNOWN, Annotation, KnownIdentifiers, Span
from deid_core.labels import Label

from .conventions import Conventions


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """What an annotator marked.

    Args:
        span: Where, in code points of the document's text.
        tag: As the corpus calls it.
        label: As we score it; None when the tag has no counterpart.
        value: Spans of one document with the same number are one value, which is
            found only when all of them are.
        kinds: What makes it easy or hard to find, where a corpus says so: ``rare
            name``, ``in lower case``.
    """

    span: Span
    tag: str
    label: Label | None
    value: int
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldDocument:
    """One document of a corpus.

    Args:
        spans: Ordered by position; they may overlap.
        decoys: What looks like an identifier and must stay.
        known: The patient's record, where a corpus has one.
        note_type: What kind of note it is, in the corpus's words, where it says so.
    """

    id: str = field(repr=False)
    text: str = field(repr=False)
    spans: tuple[GoldSpan, ...]
    decoys: tuple[Span, ...] = ()
    known: KnownIdentifiers = field(default=NOTHING_KNOWN, repr=False)
    note_type: str = ""

    def __post_init__(self) -> None:
        ends = [each.span.end for each in self.spans]
        ends += [each.end for each in self.decoys]
        if max(ends, default=0) > len(self.text):
            raise ValueError(f"a span ends past the text's {len(self.text)} characters")


def ordered(
    id: str,
    text: str,
    spans: Iterable[GoldSpan],
    decoys: Iterable[Span] = (),
    note_type: str = "",
) -> GoldDocument:
    """Return the document with its spans and decoys in order of position."""
    in_order = sorted(spans, key=lambda each: (each.span, each.tag))
    marks, looks_alike = tuple(in_order), tuple(sorted(decoys))
    return GoldDocument(id, text, marks, looks_alike, note_type=note_type)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Gold documents, and the conventions by which they were marked.

    Args:
        part: Which of its documents these are, for titles: ``dev 1-43``.
        is_held_out: Whether some of them are of a part that is only to be scored:
            their errors are not to be read.
    """

    name: str
    part: str
    is_held_out: bool
    conventions: Conventions
    documents: tuple[GoldDocument, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system would replace in one document.

    Args:
        annotations: Disjoint, ordered.
        refusal: Why the system refused the document, empty when it did not: it
            publishes nothing of it, and is scored as if it had found nothing.
    """

    annotations: tuple[Annotation, ...]
    refusal: str = ""
