"""Segments of a note: runs of text, some of them identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from deid_core.document import Span
from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text.

    Args:
        label: What it is; None for plain text.
        kinds: Why it is hard to find, as `GoldSpan.kinds`.
        is_decoy: Whether it only looks like an identifier.
    """

    text: str = field(repr=False)
    label: Label | None = None
    kinds: tuple[str, ...] = ()
    is_decoy: bool = False


def changed(segments: Iterable[Segment], change: Callable[[str], str]) -> list[Segment]:
    """Return the segments with their texts changed; lengths may change."""
    return [replace(each, text=change(each.text)) for each in segments]


def with_kind(segments: Iterable[Segment], kind: str) -> list[Segment]:
    """Return the segments; identifiers get one more kind."""
    return [
        replace(each, kinds=(*each.kinds, kind)) if each.label else each
        for each in segments
    ]


def document_of(id: str, segments: Iterable[Segment]) -> GoldDocument:
    """Return the segments as one document, whose tags are our labels."""
    texts: list[str] = []
    spans: list[GoldSpan] = []
    decoys: list[Span] = []
    at = 0
    for each in segments:
        start, at = at, at + len(each.text)
        texts.append(each.text)
        if each.label is not None:
            gold = GoldSpan(
                Span(start, at), each.label.value, each.label, len(spans), each.kinds
            )
            spans.append(gold)
        elif each.is_decoy:
            decoys.append(Span(start, at))
    return GoldDocument(id, "".join(texts), tuple(spans), tuple(decoys))
