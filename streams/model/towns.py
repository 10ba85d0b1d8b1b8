"""Towns in fields of messages: those of the notes, in the state beside them."""

from __future__ import annotations

from deid_core import Label
from deid_core.fiction.places import states
from deid_core.surrogates.localities import key_of

from .parts import Values


def town(values: Values, name: str, state: str) -> str:
    """Return what is written in place of a town.

    There are towns of one name in many states.  Most addresses are in the patient's
    record, which says which is meant; an employer's or a pharmacy's is not.

    Args:
        values: Of the patient.
        name: Of the town.
        state: Name or code of the state in the same address; may be empty.
    """
    if "," not in name and key_of(state) in states():
        written, comma, _ = values.replaced(
            Label.CITY, f"{name}, {state.strip()}"
        ).rpartition(", ")
        # A policy may write a tag, or the state alone.
        if comma and "[" not in written:
            return written
    return values.replaced(Label.CITY, name)
