"""Errors of values that callers give: of a wrong type, before anything is read.

A message names the field, both types and the next step; it never holds the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_EXAMPLES = {
    "Address": 'Address(street="12 Elm Street", city="Springfield")',
    "Document": 'Document("note-1", text), or call deid_core.deidentify(text)',
    "KnownId": 'KnownId("8401127", Label.MEDICALRECORD)',
    "KnownIdentifiers": 'KnownIdentifiers(phones=("312-555-0147",))',
    "Label": "Label.MEDICALRECORD",
    "PersonName": 'PersonName(family="Roe", given="Jane")',
    "date": "date(1957, 3, 14), or the .date() of a time",
    "tuple": "tuple(values), or (value,) for a single value",
}
_EMPTY_CELLS = {"NAType", "NaTType"}
"""Of pandas, which this package does not import; besides None and NaN."""


def wrong_type(place: str, value: object, kind: type) -> TypeError:
    """Return the error of a value that is not of its type."""
    wanted, given = kind.__name__, type(value).__name__
    example = _EXAMPLES.get(wanted)
    step = _to_text(value) if example is None else f"write e.g. {example}"
    return TypeError(f"{place} must be {wanted}, not {given}; {step}")


def wrong_field(owner: DataclassInstance, kinds: Mapping[str, type]) -> TypeError:
    """Return the error of the first field that is not of its type.

    Args:
        owner: Has such a field.
        kinds: By name, the types of fields that are no texts.
    """
    values = [(each.name, getattr(owner, each.name)) for each in fields(owner)]
    return next(
        wrong_type(f"{type(owner).__name__}: {name}", value, kind)
        for name, value in values
        if not isinstance(value, kind := kinds.get(name, str))
    )


def check_texts(owner: DataclassInstance, *texts: object) -> None:
    """Reject a dataclass of texts of which one is no text."""
    try:
        "".join(texts)  # type: ignore[arg-type]  # the fastest check of several
    except TypeError:
        raise wrong_field(owner, {}) from None


def check_values(owner: DataclassInstance, kinds: Mapping[str, type]) -> None:
    """Reject a field that is no tuple, or that holds a value of a wrong type.

    Args:
        owner: Has the fields.
        kinds: By name, the types of their values.
    """
    for name, kind in kinds.items():
        values = getattr(owner, name)
        if not isinstance(values, tuple):
            raise wrong_type(f"{type(owner).__name__}: {name}", values, tuple)
        for index, value in enumerate(values):
            # For Python a datetime is a date, as is the NaT of a table; it equals none.
            if not isinstance(value, kind) or isinstance(value, datetime):
                place = f"{type(owner).__name__}: {name}[{index}]"
                raise wrong_type(place, value, kind)


def _to_text(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return 'decode it, e.g. with .decode("utf-8")'
    if isinstance(value, int):
        return "convert it with str()"
    if (
        value is None
        or isinstance(value, float)
        or type(value).__name__ in _EMPTY_CELLS
    ):
        return 'leave an empty cell out, or write "" for it'
    return "pass one text"
