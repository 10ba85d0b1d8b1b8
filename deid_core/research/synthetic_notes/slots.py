"""The places of a carrier that give way to drawn identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from deid_core.document import Annotation, Span
from deid_core.labels import Label

from .scenario import Cast
from .segments import Piece
from .sources import Carrier
from .tables import table

_OWN = ("of the carrier",)
_DATE_RATE = 70
_LONG_DATE = re.compile(r"[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{2,4}")


@dataclass(frozen=True, slots=True)
class Slot:
    """A pattern over carriers, and the fields that may stand there instead."""

    pattern: re.Pattern[str]
    fields: tuple[str, ...]
    rate: int


@cache
def slots() -> tuple[Slot, ...]:
    """Return the slots of slots.toml."""
    return tuple(
        Slot(
            re.compile(each["pattern"]),
            tuple(each["fields"]),
            100 if each.get("always") else each["rate"],
        )
        for each in table("slots")["slot"]
    )


def injected(carrier: Carrier, cast: Cast) -> list[Piece]:
    """Return the carrier with its slots filled and its own identifiers marked."""
    text, pieces, at = carrier.text, [], 0
    for span, there in _places(carrier, cast):
        pieces += [Piece(text[at : span.start]), *there]
        at = span.end
    pieces.append(Piece(text[at:]))
    return [each for each in pieces if each.text]


def _places(carrier: Carrier, cast: Cast) -> list[tuple[Span, list[Piece]]]:
    """Return, in order and disjoint, what stands where instead of the text."""
    taken: list[tuple[Span, list[Piece]]] = []
    for span, slot in _found(carrier.text):
        if any(map(span.overlaps, (other for other, _ in taken))):
            continue
        if cast.chance.randrange(100) < slot.rate:
            field = cast.chance.choice(slot.fields)
            taken.append((span, cast.pieces(field)))
    for own in carrier.marks:
        if not any(own.span.overlaps(other) for other, _ in taken):
            taken.append((own.span, _own(own, carrier.text, cast)))
    return sorted(taken, key=lambda each: each[0])


def _found(text: str) -> Iterator[tuple[Span, Slot]]:
    for slot in slots():
        for found in slot.pattern.finditer(text):
            yield Span(*found.span()), slot


def _own(own: Annotation, text: str, cast: Cast) -> list[Piece]:
    """Return what stands for the carrier's own identifier: it, or another date."""
    inner = text[own.span.start : own.span.end]
    is_date = own.label is Label.DATE and _LONG_DATE.fullmatch(inner)
    if is_date and cast.chance.randrange(100) < _DATE_RATE:
        return cast.pieces("date")
    return [Piece(inner, own.label, _OWN)]
