"""The clinical note, or part of a message, that intake writes and scrub reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.model.patients.demographics import Demographics, PatientId


@dataclass(frozen=True, slots=True)
class ClinicalNote:
    """One narrative, or part of a message.

    Args:
        note_id: The sender's id, unique within the patient.
        patient: The patient; also the key of the Kafka record.
        note_type: A code, never free text.
        written_at: ISO 8601, or empty.
        text: The narrative; lines end with line feeds.  Or the part as it was sent.
        demographics: The patient's demographics in the same message, if any.
        format: Of a part of a message, which scrub writes back (`events.parts`); empty
            for a narrative.
    """

    note_id: str = field(repr=False)
    patient: PatientId
    note_type: str = field(repr=False)
    written_at: str = field(repr=False)
    text: str = field(repr=False)
    demographics: Demographics | None = None
    format: str = field(repr=False, default="")

    def to_json(self) -> dict[str, Any]:
        """Return the value of the `notes` topic, but for its version."""
        value: dict[str, Any] = {
            "note_id": self.note_id,
            "patient": {
                "assigning_authority": self.patient.assigning_authority,
                "id": self.patient.id,
            },
            "note_type": self.note_type,
            "written_at": self.written_at,
            "text": self.text,
        }
        if self.format:
            value["format"] = self.format
        if self.demographics is not None:
            value["demographics"] = self.demographics.to_json()
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ClinicalNote:
        """Return the note of a valid value of notes or note_event/v1."""
        given = value.get("demographics")
        return cls(
            note_id=value["note_id"],
            patient=PatientId.from_json(value["patient"]),
            note_type=value.get("note_type", ""),
            written_at=value.get("written_at", ""),
            text=value["text"],
            demographics=None if given is None else Demographics.from_json(given),
            format=value.get("format", ""),
        )
