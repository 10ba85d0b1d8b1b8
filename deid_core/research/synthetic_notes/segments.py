"""A note in the making: pieces of text, some of them identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from deid_core.document import Span
from deid_core.labels import Label

from ..corpora.corpus import GoldDocument, GoldSpan


@dataclass(frozen=True, slots=True)
class Piece:
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


def changed(pieces: Iterable[Piece], change: Callable[[str], str]) -> list[Piece]:
    """Return the pieces with another text each; lengths may change."""
    return [replace(each, text=change(each.text)) for each in pieces]


def with_kind(pieces: Iterable[Piece], kind: str) -> list[Piece]:
    """Return the pieces, the identifiers among them with one kind more."""
    return [
        replace(each, kinds=(*each.kinds, kind)) if each.label else each
        for each in pieces
    ]


def document_of(id: str, pieces: Iterable[Piece]) -> GoldDocument:
    """Return the pieces as one document, whose tags are our labels."""
    texts: list[str] = []
    spans: list[GoldSpan] = []
    decoys: list[Span] = []
    at = 0
    for each in pieces:
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
