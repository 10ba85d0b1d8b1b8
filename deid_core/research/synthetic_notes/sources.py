"""Carriers: unmarked notes, apart from what is tested on, their own marks found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from deid_core.document import Annotation
from deid_core.errors import ConfigError
from deid_core.pipeline import Deidentifier

from ..corpora.corpus import GoldDocument
from ..scoring.predict import predict
from .tables import table

SHARED_WORDS = 8
"""Two texts share text when they have so many words in a row in common."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Carrier:
    """A note without marks.

    Args:
        marks: Its own identifiers, as far as a system finds them; disjoint, ordered.
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
        carriers: What is to be trained on.
        others: JSON lines of ``{id, text}``: what is to be tested on.
    """
    seen: set[tuple[str, ...]] = set()
    for path in others:
        for each in _read(path):
            seen.update(_shingles(each.text))
    return [each for each in carriers if seen.isdisjoint(_shingles(each.text))]


def marked(carriers: Sequence[Carrier], system: Deidentifier) -> list[Carrier]:
    """Return the carriers with what the system finds in them; what it refuses is left.

    Carriers are seldom free of dates and towns: unmarked, they would teach a tagger to
    miss them.
    """
    documents = [GoldDocument(each.id, each.text, ()) for each in carriers]
    said = predict(system, documents)
    return [
        replace(carrier, marks=each.annotations)
        for carrier, each in zip(carriers, said, strict=True)
        if not each.refusal
    ]


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
