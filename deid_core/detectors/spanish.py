"""Correct the labels of a Spanish tagger's proposals: patients and postcodes.

MEDDOCAN's cases name patients in a block of fields and providers in running text, and
mark towns and postcodes alike; a model that learned from them does the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from deid_core.document import Annotation
from deid_core.labels import Label

LANGUAGE = "es"

_REACH = 40
_PATIENT = re.compile(
    r"""
    (?<!\w)(?:pacientes?|usuari[oa]|nombre(?:[ ]y[ ]apellidos|[ ]del[ ]paciente)?
      |apellidos|se[ ]llama)
    (?:[ ]{0,2}:|,|[ ]llamad[oa]|[ ]de[ ]nombre)?[ ]{1,2}
    (?:(?:D|D\.?\u00aa|D\u00f1?a|Don|Do\u00f1a|Sr|Sra)\.?[ ]{1,2})?\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_POSTCODE = re.compile(r"(?:0[1-9]|[1-4][0-9]|5[0-2])[0-9]{3}")
"""Two digits of a province, 01 to 52, and three."""


def renamed(text: str, found: Sequence[Annotation]) -> list[Annotation]:
    """Return what a model found in a note, by the labels that places and forms give."""
    patients = {
        _value(text, each)
        for each in found
        if each.label is Label.PATIENT or _is_said_of_patient(text, each)
    }
    return [other for each in found for other in _renamed(text, each, patients)]


def _renamed(
    text: str, found: Annotation, patients: set[str]
) -> tuple[Annotation, ...]:
    if found.label is Label.DOCTOR and _value(text, found) in patients:
        # The model's tag would say what it is not.
        return (replace(found, label=Label.PATIENT, tag=""),)
    if found.label is Label.CITY and _POSTCODE.fullmatch(_value(text, found)):
        # In addition to the town: how many people share the first digits of a postcode
        # in Spain is not known, so no policy may keep them.
        return found, replace(found, label=Label.ZIP, tag="")
    return (found,)


def _value(text: str, found: Annotation) -> str:
    return text[found.span.start : found.span.end]


def _is_said_of_patient(text: str, found: Annotation) -> bool:
    """Return whether "paciente" is right before a name, and no provider's title."""
    start = found.span.start
    return (
        found.label is Label.DOCTOR
        and _PATIENT.search(text, max(0, start - _REACH), start) is not None
    )
