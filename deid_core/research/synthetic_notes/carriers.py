"""Carriers: unmarked notes, and their places that give way to drawn identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import orjson

from deid_core.document import Annotation, Span
from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.pipeline import Deidentifier
from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.scoring.predict import predict

from .scenario import Scenario
from .segments import Segment
from .tables import table

SHARED_WORDS = 8
"""Two texts share text when they have so many words in a row in common."""

_WORD = re.compile(r"\w+")
_OWN = ("of the carrier",)
_DATE_RATE = 70
_LONG_DATE = re.compile(r"[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{2,4}")


@dataclass(frozen=True, slots=True)
class Carrier:
    """A note without marks.

    Args:
        marks: Its own identifiers, as a system found them; disjoint, ordered.
    """

    id: str
    text: str = field(repr=False)
    marks: tuple[Annotation, ...] = ()


def read_carriers(path: Path) -> list[Carrier]:
    """Return the notes of JSON lines ``{id, text}``, without those of left_out.toml.

    Raises:
        ConfigError: The file cannot be read, or a line is not such an object.
    """
    unwanted = frozenset(table("left_out")["ids"])
    return [each for each in _read(path) if each.id not in unwanted]


def without_shared(
    carriers: Sequence[Carrier], others: Iterable[Path]
) -> list[Carrier]:
    """Return the carriers that share no eight words in a row with any of the others.

    Args:
        carriers: Texts to train on.
        others: JSON lines of ``{id, text}`` to test on.
    """
    seen: set[tuple[str, ...]] = set()
    for path in others:
        for each in _read(path):
            seen.update(_shingles(each.text))
    return [each for each in carriers if seen.isdisjoint(_shingles(each.text))]


def marked(carriers: Sequence[Carrier], system: Deidentifier) -> list[Carrier]:
    """Return the carriers that the system does not refuse, with what it finds there.

    Carriers are seldom free of dates and towns.  Unmarked ones would teach a tagger to
    miss them.
    """
    documents = [GoldDocument(each.id, each.text, ()) for each in carriers]
    predicted = predict(system, documents)
    return [
        replace(carrier, marks=each.annotations)
        for carrier, each in zip(carriers, predicted, strict=True)
        if not each.refusal
    ]


@dataclass(frozen=True, slots=True)
class Slot:
    """A pattern over carriers, and the fields that may replace a match."""

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


def injected(carrier: Carrier, scenario: Scenario) -> list[Segment]:
    """Return the carrier with its slots filled and its own identifiers marked."""
    text, segments, at = carrier.text, [], 0
    for span, there in _places(carrier, scenario):
        segments += [Segment(text[at : span.start]), *there]
        at = span.end
    segments.append(Segment(text[at:]))
    return [each for each in segments if each.text]


def _read(path: Path) -> list[Carrier]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; check the path") from None
    return [
        _carrier(line, f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _carrier(line: bytes, where: str) -> Carrier:
    try:
        value = orjson.loads(line)
        return Carrier(str(value["id"]), str(value["text"]))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ConfigError(f'{where}: needs "id" and "text"') from None


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {
        tuple(words[at : at + SHARED_WORDS])
        for at in range(len(words) - SHARED_WORDS + 1)
    }


def _places(carrier: Carrier, scenario: Scenario) -> list[tuple[Span, list[Segment]]]:
    """Return what replaces which spans of the text, in order and disjoint."""
    taken: list[tuple[Span, list[Segment]]] = []
    for span, slot in _found(carrier.text):
        if any(map(span.overlaps, (other for other, _ in taken))):
            continue
        if scenario.chance.randrange(100) < slot.rate:
            field = scenario.chance.choice(slot.fields)
            taken.append((span, scenario.segments(field)))
    for own in carrier.marks:
        if not any(own.span.overlaps(other) for other, _ in taken):
            taken.append((own.span, _own(own, carrier.text, scenario)))
    return sorted(taken, key=lambda each: each[0])


def _found(text: str) -> Iterator[tuple[Span, Slot]]:
    for slot in slots():
        for found in slot.pattern.finditer(text):
            yield Span(*found.span()), slot


def _own(own: Annotation, text: str, scenario: Scenario) -> list[Segment]:
    """Return the carrier's own identifier, or another date for a date."""
    inner = text[own.span.start : own.span.end]
    is_date = own.label is Label.DATE and _LONG_DATE.fullmatch(inner)
    if is_date and scenario.chance.randrange(100) < _DATE_RATE:
        return scenario.segments("date")
    return [Segment(inner, own.label, _OWN)]
