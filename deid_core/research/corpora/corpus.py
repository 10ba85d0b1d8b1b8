"""Gold documents, corpora, and the predictions of systems.

No ``repr`` here shows text of a corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from deid_core.document import NOTHING_KNOWN, Annotation, KnownIdentifiers, Span
from deid_core.labels import Label

from .conventions import Conventions


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """A span that an annotator marked.

    Args:
        span: Offsets in code points of the document's text.
        tag: The corpus's tag.
        label: The label that it is scored as; None for a tag without a label.
        value: Spans of one document with the same number are one value, which is found
            only if all of them are.
        kinds: Properties that make it easy or hard to find, if the corpus has any:
            ``rare name``, ``in lower case``.
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
        decoys: Text that resembles an identifier and must stay.
        known: The patient's record, if the corpus has one.
        note_type: The corpus's kind of note, if it has any.
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
    """Gold documents and the conventions of their annotation.

    Args:
        part: The part of the corpus, for titles: ``dev 1-43``.
        is_held_out: Whether documents belong to a part that is scored but not
        inspected:
            their errors must not be read.
    """

    name: str
    part: str
    is_held_out: bool
    conventions: Conventions
    documents: tuple[GoldDocument, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The annotations that a system proposes for one document, or its refusal.

    Args:
        annotations: Disjoint, ordered.
        refusal: Why the system refused the document; empty if it did not.  A refused
            document is scored as if nothing had been found.
    """

    annotations: tuple[Annotation, ...]
    refusal: str = ""


def _each(change: Callable[[str], str]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        whole = change(text)
        if len(whole) == len(text):
            return whole
        # A character that would become two ("ß") does not change.
        pairs = ((old, change(old)) for old in text)
        return "".join(new if len(new) == 1 else old for old, new in pairs)

    return changed


CASES: Mapping[str, Callable[[str], str]] = {
    "as-is": lambda text: text,
    "upper": _each(str.upper),
    "lower": _each(str.lower),
}
"""Every letter case by its name; none changes an offset."""


def without_records(corpus: Corpus) -> Corpus:
    """Return the corpus as a system sees it that is given the texts alone."""
    documents = [replace(d, known=NOTHING_KNOWN) for d in corpus.documents]
    return replace(corpus, documents=tuple(documents))


def in_case(corpus: Corpus, case: str) -> Corpus:
    """Return the corpus with its texts in another letter case.

    Raises:
        KeyError: The case is not in `CASES`.
    """
    change = CASES[case]
    documents = [replace(d, text=change(d.text)) for d in corpus.documents]
    return replace(corpus, documents=tuple(documents))
