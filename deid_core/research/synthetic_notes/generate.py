"""Notes with known identifiers, as many as are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from deid_core.labels import Label

from ..corpora.corpus import GoldDocument
from .scenario import Cast
from .segments import Piece, changed, document_of
from .slots import injected
from .sources import Carrier
from .splits import Half, half_of
from .templates import Group, drawn_lines, groups_of

_UPPER, _LOWER = 0.12, 0.12
_TOP, _BOTTOM = "headers", "signatures"
_MOST_TOP, _MOST_BOTTOM = 4, 2
_MOST_CARRIERS = 3
_LEAST_SENTENCES, _MOST_SENTENCES = 3, 10
_BEFORE = 0.3
_MAY_BE_A_MISTAKE = frozenset({"NAME", "LOCATION"})


def generate(
    half: Half, carriers: Sequence[Carrier], count: int, seed: int
) -> Iterator[GoldDocument]:
    """Yield so many notes; the same arguments give the same notes in every process.

    Args:
        half: Of names, templates and carriers.
        carriers: With their own marks; those of the half are drawn from.  Without any,
            notes are made of templates alone.
        count: How many.
        seed: What all chance hangs on; each note has its own, of this and its number.
    """
    usable = [each for each in carriers if _is_usable(each, half)]
    usable.sort(key=lambda each: each.id)
    for number in range(count):
        # Invented notes: what is drawn is no secret.
        chance = Random(f"{half.value} {seed} {number}")  # noqa: S311
        yield document_of(f"{half.value}-{seed}-{number}", _note(half, usable, chance))


def _is_usable(carrier: Carrier, half: Half) -> bool:
    """Return whether the carrier is the half's, and its own marks can be trusted.

    A system must not be scored on names and places that a system alone has marked.
    """
    if half_of(carrier.id) is not half:
        return False
    own = {each.label.main for each in carrier.marks}
    return half is Half.TRAINING or not own & _MAY_BE_A_MISTAKE


def _note(half: Half, carriers: Sequence[Carrier], chance: Random) -> list[Piece]:
    cast = Cast.draw(half, chance)
    groups = groups_of(half)
    top, bottom = groups[_TOP], groups[_BOTTOM]
    prose = [group for name, group in groups.items() if name not in (_TOP, _BOTTOM)]
    lines = drawn_lines(cast, [top], chance.randint(0, _MOST_TOP))
    lines += _prose(cast, prose, carriers)
    lines += drawn_lines(cast, [bottom], chance.randint(0, _MOST_BOTTOM))
    pieces = [piece for line in lines for piece in (*line, Piece("\n"))]
    return _in_some_case(pieces, chance)


def _prose(
    cast: Cast, groups: Sequence[Group], carriers: Sequence[Carrier]
) -> list[list[Piece]]:
    """Return paragraphs: carriers, each with some sentences before or behind it."""
    chance = cast.chance
    chosen = chance.sample(
        carriers, min(chance.randint(1, _MOST_CARRIERS), len(carriers))
    )
    paragraphs = [injected(each, cast) for each in chosen] or [[]]
    count = chance.randint(_LEAST_SENTENCES, _MOST_SENTENCES)
    for sentence in drawn_lines(cast, groups, count):
        paragraph = chance.choice(paragraphs)
        # Between sentences only: the carrier's own are left whole.
        if chance.random() < _BEFORE:
            paragraph[:0] = [*sentence, Piece("  ")]
        else:
            paragraph += [Piece("  "), *sentence]
    return paragraphs


def _in_some_case(pieces: list[Piece], chance: Random) -> list[Piece]:
    """Return the note as it is written, now and then in capitals or in lower case."""
    drawn = chance.random()
    if drawn < _UPPER:
        return _told(changed(pieces, str.upper), "name in capitals")
    if drawn < _UPPER + _LOWER:
        return _told(changed(pieces, str.lower), "name in lower case")
    return _told(pieces, "name in mixed case")


def _told(pieces: list[Piece], case: str) -> list[Piece]:
    """Return the pieces, whose names say so and in which case they are."""
    return [
        replace(each, kinds=("any name", *each.kinds, case))
        if each.label in (Label.PATIENT, Label.DOCTOR)
        else each
        for each in pieces
    ]
