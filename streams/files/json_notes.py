"""JSON notes as files hold them: the note event and its short form.

The note event is what `hl7.raw` takes (schemas/note_event/v1): ``note_id``, ``patient``
(assigning authority and id), ``text``, and maybe ``note_type``, ``written_at`` and
``demographics``.  The short form is that of scorers and corpora: ``id``, ``text``, and
maybe ``patient_id``, ``note_type`` and ``patient``, which holds demographics there;
further properties are left out.  schemas/README.md shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ..engine.errors import InvalidRecord
from ..engine.reasons import ReasonCode

_SHORT = frozenset(
    ("id", "text", "patient", "patient_id", "note_type", "written_at", "demographics")
)
_IDENTITY = frozenset(("assigning_authority", "id"))
NO_PATIENT = (
    'says not whose note it is; add "patient_id", or '
    '"patient": {"assigning_authority", "id"}'
)


def note_event_of(value: object) -> dict[str, Any]:
    """Return a JSON note as a note event, without ``patient`` where none is named.

    Only the form is normalised here; the reader checks the schema.

    Raises:
        InvalidRecord: It is no JSON note, or says one thing in two ways.
    """
    if not isinstance(value, dict) or "text" not in value:
        raise InvalidRecord(
            ReasonCode.SCHEMA, 'no JSON note: needs "note_id" (or "id") and "text"'
        )
    if "note_id" not in value and "id" not in value:
        raise InvalidRecord(ReasonCode.SCHEMA, 'lacks "note_id" (or "id")')
    _refuse_both(value, "note_id", "id")
    event = {
        name: value[name] for name in value if name in _SHORT or "note_id" in value
    }
    if "id" in event:
        event["note_id"] = _text(event.pop("id"), "id")
    patient, patient_id = event.pop("patient", None), event.pop("patient_id", None)
    return event | _whose(patient, patient_id, value)


def for_topic(value: bytes) -> bytes:
    """Return what a record of a file is on `hl7.raw`: a short form is written out.

    What is no JSON note stays as it is: intake refuses it, with a reason.

    Raises:
        InvalidRecord: It is a JSON note that does not say whose it is, or that says
            one thing in two ways.
    """
    try:
        given = orjson.loads(value) if value.startswith(b"{") else None
    except orjson.JSONDecodeError:
        return value
    if not isinstance(given, dict) or not {"note_id", "id"} & given.keys():
        return value
    if "text" not in given:
        return value
    event = note_event_of(given)
    if "patient" not in event:
        raise InvalidRecord(ReasonCode.NO_PATIENT, NO_PATIENT)
    return value if event == given else orjson.dumps(event)


def _whose(
    patient: object, patient_id: object, value: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the properties of the note event that say who the patient is."""
    whose: dict[str, Any] = {}
    if patient_id not in (None, ""):
        identity = {"assigning_authority": "", "id": _text(patient_id, "patient_id")}
        whose["patient"] = identity
    if patient is None:
        return whose
    if isinstance(patient, dict) and not _IDENTITY & patient.keys():
        _refuse_both(value, "patient", "demographics")
        return whose | {"demographics": patient}
    _refuse_both(value, "patient", "patient_id")
    return whose | {"patient": patient}


def _refuse_both(value: Mapping[str, Any], one: str, other: str) -> None:
    if value.get(one) is not None and value.get(other) is not None:
        raise InvalidRecord(
            ReasonCode.SCHEMA, f'"{one}" and "{other}" say the same; give one'
        )


def _text(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidRecord(ReasonCode.SCHEMA, f"{name}: must be a string or a number")
    return str(value)
