"""Halves of names, templates and carriers: for training and for stress tests."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256

_STRESS_OF_HUNDRED = 30


class Half(StrEnum):
    """The two halves; nothing belongs to both."""

    TRAINING = "training"
    STRESS = "stress"


def half_of(text: str) -> Half:
    """Return the half of a name, a template or a carrier's id, whatever its case.

    Three in ten are kept for stress.  A hash decides, so that the answer is the same in
    every process and does not depend on the other entries of a list.
    """
    digest = sha256(text.casefold().encode()).digest()
    place = int.from_bytes(digest[:4]) % 100
    return Half.STRESS if place < _STRESS_OF_HUNDRED else Half.TRAINING


def of_half(texts: Iterable[str], half: Half) -> tuple[str, ...]:
    """Return those of a half, sorted: draws must not depend on their order."""
    return tuple(sorted({text for text in texts if half_of(text) is half}))
