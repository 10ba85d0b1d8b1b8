"""The numbers of columns' values in a compiled model."""

from __future__ import annotations

from .features import LINE_COLUMNS, SEPARATOR, WORD_COLUMNS
from .kernels.cues import cue_class_values, cue_values
from .model import Model

Numbering = dict[str, int]


def numberings(model: Model) -> dict[str, Numbering]:
    """Return, for each column, the number of each value that the model uses.

    Cues are numbered by their class, so that the nearest one's number is made without
    looking it up; all others in the order in which they come.
    """
    found: dict[str, Numbering] = {name: {} for name in (*WORD_COLUMNS, *LINE_COLUMNS)}
    classes = ["", *model.lists.cue_classes]
    sides = cue_values(classes)
    for side in ("left", "right"):
        found[side] = _numbered(sides)
        found[f"{side}_cue"] = _numbered(cue_class_values(classes))
    found["cue"] = _numbered(classes)
    for column, value in _values(model):
        found[column].setdefault(value, len(found[column]))
    for column in (*WORD_COLUMNS, "header"):
        found[column].pop("", None)
    return found


def _numbered(values: list[str]) -> Numbering:
    numbering: Numbering = {}
    for number, value in enumerate(values):
        numbering.setdefault(value, number)
    return numbering


def _values(model: Model) -> list[tuple[str, str]]:
    """Return the columns and values of all conjunctions that have weights."""
    parts_of = {each.name: each.parts for each in model.features.conjunctions}
    found = []
    for name in model.weights.names:
        group, _, values = name.partition("=")
        if group in parts_of:
            pairs = zip(parts_of[group], values.split(SEPARATOR), strict=True)
            found += [(column, value) for (column, _), value in pairs]
    return found
