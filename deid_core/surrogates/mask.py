"""Cover every letter and digit, and keep length, case and marks."""

from __future__ import annotations

from ..labels import Label
from .crosswalk import Crosswalk


def mask(_: Crosswalk, label: Label, text: str) -> str:
    """Return ``Xxxx Xxxxx`` for ``Jane Smith``, ``***-****`` for ``555-0142``."""
    return "".join(map(_cover, text))


def _cover(character: str) -> str:
    if character.isalpha():
        return "x" if character.islower() else "X"
    # Numeric, not only decimal: ² and ½ are digits of a kind, and marks are covered.
    if character.isnumeric():
        return "*"
    return character if character.isascii() or character.isspace() else "*"
