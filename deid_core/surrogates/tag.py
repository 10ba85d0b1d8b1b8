"""The plainest styles: the label in brackets, nothing at all, and what was there."""

from __future__ import annotations

from ..labels import Label
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
