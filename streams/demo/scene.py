"""What one note is about."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from rapidfuzz.distance import Levenshtein

from .draft import Draft
from .people import Kin, Person
from .pools import Pools

NEAREST_RATIO = 0.34
"""Of edits to the shorter length: just above that of Yuwono, Ng and Ngiam 2016, 3.1."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What one note is about.

    ``ambiguous`` are clinical words that resemble a name in the record; ``strangers``
    are surnames that stand in no record.
    """

    person: Person = field(repr=False)
    mrn: str = field(repr=False)
    kin: Kin = field(repr=False)
    day: date = field(repr=False)
    pools: Pools = field(repr=False)
    ambiguous: frozenset[str] = field(repr=False)
    strangers: tuple[str, ...] = field(repr=False)
    rng: random.Random = field(repr=False)


Slot = Callable[[Draft, Scene], None]


def ambiguous_words(person: Person, pools: Pools) -> frozenset[str]:
    """Return the clinical words that resemble a word of a name around a person.

    They are as near as a misspelt name is to the name.
    """
    names = person.name_words
    return frozenset(
        word
        for word in pools.clinical_words
        if any(_resemble(word, name) for name in names)
    )


def _resemble(word: str, name: str) -> bool:
    limit = NEAREST_RATIO * min(len(word), len(name))
    return Levenshtein.distance(word, name) < limit
