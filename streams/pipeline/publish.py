"""Decide, here alone, what is published of a note by scrub, files, gateway, rescrub.

Its text is what deid_core wrote; ids are keyed pseudonyms; type and day are checked.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from typing import Any

from deid_core import Annotation, Deidentifier, Document, Label, ScrubbedDocument
from streams.engine.errors import InvalidRecord
from streams.engine.keys.ring import key_id_of
from streams.engine.reasons import ReasonCode
from streams.model.audit import Join
from streams.model.patients.demographics import is_day

_STANDARD_TYPE = re.compile(r"[0-9]{1,6}-[0-9]|[A-Z]{3}_[A-Z][0-9]{2}")
_MAY_BE_A_DATE = re.compile(
    r"[0-9]{6}|[0-9]{4}[-./][0-9]|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2}"
)
_DAY_OR_YEAR = re.compile(r"[0-9]{4}(?:-[0-9]{2}-[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class PublishedNote:
    """The properties of a note that are published besides its text.

    Args:
        ids: Of the note and its patient.
        join: Whether a name of the patient is known.
        note_type: Empty where it may identify the patient.
        written_at: The day as the policy writes it, or empty.
    """

    ids: Ids
    join: Join
    note_type: str
    written_at: str


def published(
    values: PatientValues, written_at: str, *, is_known: bool
) -> PublishedNote:
    """Return what is published of a note besides its text.

    Args:
        values: Of its document.
        written_at: ISO 8601, or empty.
        is_known: Whether a name of the patient is known.

    Raises:
        InvalidRecord: Its type holds a value of the record, or a bug refuses the note.
    """
    document = values.document
    if values.deidentifier.leaked_in(document.known, [document.note_type]):
        raise InvalidRecord(
            ReasonCode.RESIDUE,
            "notes: note_type holds a value of the patient's record",
        )
    try:
        day = values.day(written_at[:10])
    except Exception as error:
        # As in deid_core: a bug refuses the note, not the whole batch.
        raise InvalidRecord(
            ReasonCode.DEID_ERROR, f"notes: written_at: {type(error).__name__}"
        ) from None
    note_type = _publishable_type(document.note_type, is_known=is_known)
    return PublishedNote(values.ids, join_of(is_known=is_known), note_type, day)


def join_of(*, is_known: bool) -> Join:
    """Return how the join of a note is called.

    Args:
        is_known: Whether a name of the patient is known.
    """
    return "found" if is_known else "missing"


def _publishable_type(code: str, *, is_known: bool) -> str:
    """Return a note's type, or an empty string where it may identify the patient.

    LOINC codes and HL7 events are always published.  A sender's own code may be a name:
    it is published only if it was compared with the patient record, and never if it may
    hold a date, since no policy would shift it.
    """
    if _STANDARD_TYPE.fullmatch(code):
        return code
    return code if is_known and not _MAY_BE_A_DATE.search(code) else ""


def annotations_json(scrubbed: ScrubbedDocument) -> list[dict[str, Any]]:
    """Return label, position and detector of each annotation, without text."""
    return list(map(annotation_json, scrubbed.annotations))


def annotation_json(annotation: Annotation) -> dict[str, Any]:
    """Return label, position and detector of an annotation."""
    return {
        "start": annotation.span.start,
        "end": annotation.span.end,
        "label": annotation.label.value,
        "score": round(annotation.score, 4),
        "detector": annotation.source,
    }


@dataclass(frozen=True, slots=True)
class Ids:
    """As what a note is published: pseudonyms, and which key they depend on.

    Args:
        note_id: Of the note.
        patient: Of the patient; empty if the note names none.
        key_id: Identifies the key.
    """

    note_id: str
    patient: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """HMAC-SHA-256 (RFC 2104) under one secret key, first 128 bits in hex.

    The same value gives the same pseudonym as long as the key stays the same.  Without
    the key a pseudonym cannot be traced to its value, nor linked to a pseudonym of the
    same value under another key.
    """

    key: bytes = field(repr=False)

    @property
    def key_id(self) -> str:
        """Identify the key: eight hex digits of its SHA-256."""
        return key_id_of(self.key)

    def ids(self, patient: bytes, note_id: str) -> Ids:
        """Return the pseudonyms of a note.

        Args:
            patient: The Kafka key of its patient; empty if it names none.
            note_id: The sender's id.
        """
        pseudonym = self.patient(patient) if patient else ""
        return Ids(self.note(patient, note_id), pseudonym, self.key_id)

    def patient(self, key: bytes) -> str:
        """Return the pseudonym of a patient's Kafka key."""
        return self._of(b"patient", key)

    def note(self, patient: bytes, note_id: str) -> str:
        """Return the pseudonym of a note's id; ids are unique per patient only."""
        return self._of(b"note", patient + b"\0" + note_id.encode())

    def value(self, kind: str, value: str) -> str:
        """Return the pseudonym of an identifier in a message.

        Args:
            kind: What it identifies; the same value of two kinds has two pseudonyms.
            value: The identifier.
        """
        return self._of(f"value/{kind}".encode(), value.encode())

    def _of(self, kind: bytes, value: bytes) -> str:
        return hmac.digest(self.key, kind + b"\0" + value, "sha256")[:16].hex()


@dataclass(frozen=True, slots=True)
class PatientValues:
    """`streams.model.parts.Values` of one patient, by the policy of the stream.

    Args:
        deidentifier: Replaces values in notes.
        document: Names the patient and the record, as for a note.
        pseudonyms: For identifiers.
        are_compared: A value that a rule keeps is not written if it is of the record.
    """

    deidentifier: Deidentifier
    document: Document = field(repr=False)
    pseudonyms: Pseudonyms
    are_compared: bool = False

    @property
    def ids(self) -> Ids:
        """The pseudonyms of the document."""
        return self.pseudonyms.ids(self.document.patient.encode(), self.document.id)

    def replaced(self, label: Label, value: str) -> str:
        """Return what the policy writes for a value: its tag, surrogate, or itself."""
        return self.deidentifier.replaced_value(self.document, label, value)

    def day(self, day: str) -> str:
        """Return a day as the policy writes dates: a day, a year, or empty.

        A tag or a pseudonym would be no date, and a time of day is never published.

        Args:
            day: YYYY-MM-DD; anything else gives an empty string.
        """
        if not is_day(day):
            return ""
        written = self.replaced(Label.DATE, day)
        return written if _DAY_OR_YEAR.fullmatch(written) else ""

    def pseudonym(self, kind: str, value: str) -> str:
        """Return the keyed pseudonym of an identifier: 32 hexadecimal digits."""
        return self.pseudonyms.value(kind, value)

    def is_leak(self, written: str) -> bool:
        """Return whether a value of the record is in it; not if none is compared."""
        return self.are_compared and bool(
            self.deidentifier.leaked_beside(self.document, [written])
        )
