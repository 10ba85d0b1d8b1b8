"""Generate notes with known identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldDocument

from .carriers import Carrier, injected
from .scenario import Scenario
from .segments import Segment, changed, document_of
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
        carriers: With their own marks; those of the half are used.  Without any, notes
            consist of templates.
        count: How many.
        seed: Decides everything, together with a note's number.
    """
    usable = [each for each in carriers if _is_usable(each, half)]
    usable.sort(key=lambda each: each.id)
    for number in range(count):
        # Invented notes: what is drawn is no secret.
        chance = Random(f"{half.value} {seed} {number}")  # noqa: S311
        yield document_of(f"{half.value}-{seed}-{number}", _note(half, usable, chance))


def _is_usable(carrier: Carrier, half: Half) -> bool:
    """Return whether the carrier is of the half, and its own marks can be trusted.

    A system must not be scored on names and places that a system alone has marked.
    """
    if half_of(carrier.id) is not half:
        return False
    own = {each.label.main for each in carrier.marks}
    return half is Half.TRAINING or not own & _MAY_BE_A_MISTAKE


def _note(half: Half, carriers: Sequence[Carrier], chance: Random) -> list[Segment]:
    scenario = Scenario.draw(half, chance)
    groups = groups_of(half)
    top, bottom = groups[_TOP], groups[_BOTTOM]
    prose = [group for name, group in groups.items() if name not in (_TOP, _BOTTOM)]
    lines = drawn_lines(scenario, [top], chance.randint(0, _MOST_TOP))
    lines += _prose(scenario, prose, carriers)
    lines += drawn_lines(scenario, [bottom], chance.randint(0, _MOST_BOTTOM))
    segments = [segment for line in lines for segment in (*line, Segment("\n"))]
    return _in_some_case(segments, chance)


def _prose(
    scenario: Scenario, groups: Sequence[Group], carriers: Sequence[Carrier]
) -> list[list[Segment]]:
    """Return paragraphs: carriers, each with some sentences before or behind it."""
    chance = scenario.chance
    chosen = chance.sample(
        carriers, min(chance.randint(1, _MOST_CARRIERS), len(carriers))
    )
    paragraphs = [injected(each, scenario) for each in chosen] or [[]]
    count = chance.randint(_LEAST_SENTENCES, _MOST_SENTENCES)
    for sentence in drawn_lines(scenario, groups, count):
        paragraph = chance.choice(paragraphs)
        # Between sentences only: those of the carrier stay whole.
        if chance.random() < _BEFORE:
            paragraph[:0] = [*sentence, Segment("  ")]
        else:
            paragraph += [Segment("  "), *sentence]
    return paragraphs


def _in_some_case(segments: list[Segment], chance: Random) -> list[Segment]:
    """Return the note unchanged, or at times in capitals or in lower case."""
    drawn = chance.random()
    if drawn < _UPPER:
        return _with_case(changed(segments, str.upper), "name in capitals")
    if drawn < _UPPER + _LOWER:
        return _with_case(changed(segments, str.lower), "name in lower case")
    return _with_case(segments, "name in mixed case")


def _with_case(segments: list[Segment], case: str) -> list[Segment]:
    """Return the pieces, whose names say so and in which case they are."""
    return [
        replace(each, kinds=("any name", *each.kinds, case))
        if each.label in (Label.PATIENT, Label.DOCTOR)
        else each
        for each in segments
    ]
