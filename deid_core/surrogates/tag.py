"""Styles that invent nothing: tag, mask, remove, keep."""

from __future__ import annotations

from deid_core.labels import Label

from .crosswalk import Crosswalk

_TAGS = {label: f"[{label.value}]" for label in Label}


def tag(_: Crosswalk, label: Label, text: str) -> str:
    """Return the label in brackets: ``[NAME:PATIENT]``, ``[DATE]``."""
    return tag_of(label)


def tag_of(label: Label) -> str:
    """Return the label in brackets."""
    return _TAGS[label]


def remove(_: Crosswalk, label: Label, text: str) -> str:
    """Return nothing."""
    return ""


def keep(_: Crosswalk, label: Label, text: str) -> str:
    """Return the value itself."""
    return text


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
