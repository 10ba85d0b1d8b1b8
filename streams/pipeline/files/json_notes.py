"""JSON notes in files: the note event and its short form.

`hl7.raw` takes note events (schemas/note_event/v1): ``note_id``, ``patient`` (assigning
authority and id), ``text``, and optionally ``note_type``, ``written_at`` and
``demographics``.  Scorers and corpora use the short form: ``id``, ``text``, and
optionally ``patient_id``, ``note_type`` and ``patient``, which holds demographics
there; other properties are dropped.  schemas/README.md shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from schemas import SchemaError, json_text
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

if TYPE_CHECKING:
    from streams.formats.json_map import JsonMap

_SHORT = frozenset(
    ("id", "text", "patient", "patient_id", "note_type", "written_at", "demographics")
)
_IDENTITY = frozenset(("assigning_authority", "id"))
FOREIGN = (
    'no note event ("note_id" and "text"); make a map of its fields: '
    "phistream map --sample FILE, then --map"
)
NO_PATIENT = (
    'names no patient; add "patient_id", or "patient": {"assigning_authority", "id"}'
)


def note_event_of(value: object) -> dict[str, Any]:
    """Return a JSON note as a note event, without ``patient`` if it names none.

    Only the form is normalised here; the reader checks the schema.

    Raises:
        InvalidRecord: The value is not a JSON note, or gives one property twice.
    """
    if not isinstance(value, dict) or "text" not in value:
        raise InvalidRecord(
            ReasonCode.SCHEMA, 'not a JSON note: needs "note_id" (or "id") and "text"'
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
    return event | _identity(patient, patient_id, value)


def parsed(value: bytes) -> Any:  # noqa: ANN401 (any JSON value)
    """Return what JSON holds.

    Raises:
        orjson.JSONDecodeError: It is not JSON.
        InvalidRecord: An object of it gives a name twice.
    """
    try:
        return json_text.loads("JSON note", value)
    except SchemaError as error:
        raise InvalidRecord(ReasonCode.SCHEMA, str(error)) from None


def for_topic(
    value: bytes, json_map: JsonMap | None = None, *, any_json: bool = False
) -> bytes:
    """Return a record of a file for `hl7.raw`: a short form becomes a note event.

    Anything but JSON is unchanged: intake refuses it with a reason.

    Args:
        value: The record.
        json_map: With it, any JSON object is a note.
        any_json: Take JSON of other forms: intake has a map of its own.

    Raises:
        InvalidRecord: It is JSON in no known form, or a JSON note that names no
            patient, or gives one property twice, or that the map refuses.
    """
    try:
        given = parsed(value) if value.startswith(b"{") else None
    except orjson.JSONDecodeError:
        return value
    if json_map is not None and isinstance(given, dict):
        event: Mapping[str, Any] = json_map.event_of(given)
        return value if event is given else orjson.dumps(event)
    if not isinstance(given, dict) or "resourceType" in given:
        return value
    if "text" not in given or not {"note_id", "id"} & given.keys():
        if any_json:
            return value
        raise InvalidRecord(ReasonCode.SCHEMA, FOREIGN)
    event = note_event_of(given)
    if "patient" not in event:
        raise InvalidRecord(ReasonCode.NO_PATIENT, NO_PATIENT)
    return value if event == given else orjson.dumps(event)


def _identity(
    patient: object, patient_id: object, value: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the properties of the note event that identify the patient."""
    properties: dict[str, Any] = {}
    if patient_id not in (None, ""):
        identity = {"assigning_authority": "", "id": _text(patient_id, "patient_id")}
        properties["patient"] = identity
    if patient is None:
        return properties
    if isinstance(patient, dict) and not _IDENTITY & patient.keys():
        _refuse_both(value, "patient", "demographics")
        return properties | {"demographics": patient}
    _refuse_both(value, "patient", "patient_id")
    return properties | {"patient": patient}


def _refuse_both(value: Mapping[str, Any], one: str, other: str) -> None:
    if value.get(one) is not None and value.get(other) is not None:
        raise InvalidRecord(
            ReasonCode.SCHEMA, f'"{one}" and "{other}" mean the same; give one'
        )


def _text(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidRecord(ReasonCode.SCHEMA, f"{name}: must be a string or a number")
    return str(value)
