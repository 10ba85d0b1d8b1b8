"""The errors of a system in their context: for the eye of a developer alone.

What is yielded here is text of the corpus; it goes nowhere but where it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deid_core.document import Span

from ..corpora.corpus import Corpus, Prediction
from .coverage import Coverage, cover
from .gold_and_predicted import sides_of

_CONTEXT = 40
_KINDS = ("missed", "false", "decoy")


@dataclass(frozen=True, slots=True)
class Slip:
    """One error.

    Args:
        kind: ``missed``, ``false`` or ``decoy``.
        place: The document and the span.
        tag: What a missed span is, in the corpus's words.
    """

    kind: str
    place: str = field(repr=False)
    tag: str
    before: str = field(repr=False)
    inner: str = field(repr=False)
    after: str = field(repr=False)


def slips(corpus: Corpus, predictions: Sequence[Prediction]) -> Iterator[Slip]:
    """Yield what was missed, then what was falsely redacted, then decoys touched."""
    covers = [cover(sides) for sides in sides_of(corpus, predictions)]
    for kind in _KINDS:
        for document, said in zip(corpus.documents, covers, strict=True):
            for span, tag in _spans(kind, said):
                yield _slip(kind, document.id, document.text, span, tag)


def _spans(kind: str, coverage: Coverage) -> Iterator[tuple[Span, str]]:
    if kind == "missed":
        yield from ((each.span, each.tag) for each in coverage.missed)
    else:
        spans = coverage.false_words if kind == "false" else coverage.touched
        yield from ((span, "") for span in spans)


def _slip(kind: str, id: str, text: str, span: Span, tag: str) -> Slip:
    return Slip(
        kind,
        f"{id} [{span.start}, {span.end})",
        tag,
        text[max(span.start - _CONTEXT, 0) : span.start],
        text[span.start : span.end],
        text[span.end : span.end + _CONTEXT],
    )
