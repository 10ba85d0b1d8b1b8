"""What scrub writes for a note: the scrubbed note and its audit event, without PHI."""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import metadata
from typing import Any, Literal

import orjson

from deid_core import Annotation, Label, ScrubbedDocument, Span
from schemas import SchemaError
from schemas.decoding import check_item
from streams.engine.errors import FatalError
from streams.engine.keys.ring import PseudonymKeys, key_id_of
from streams.engine.records import Output, Record
from streams.formats.readers import CONTENT_TYPES
from streams.kafka.topics import HL7_SCRUBBED, NOTES_SCRUBBED, PHI_AUDIT, Stage, Topic
from streams.model.audit import AuditEvent, Run
from streams.model.notes import ClinicalNote
from streams.model.outputs import (
    CONTENT_TYPE,
    FORMAT,
    KEY_ID,
    SOURCE,
    encoded,
    received_ms,
    source_header,
    source_position,
)
from streams.model.parts import Rebuilt

from .join import Joined

_STANDARD_TYPE = re.compile(r"[0-9]{1,6}-[0-9]|[A-Z]{3}_[A-Z][0-9]{2}")
_MAY_BE_A_DATE = re.compile(
    r"[0-9]{6}|[0-9]{4}[-./][0-9]|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2}"
)


@dataclass(frozen=True, slots=True)
class Ids:
    """As what a note is published: pseudonyms, and which key they depend on.

    Args:
        note_id: Of the note.
        patient: Of the patient.
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
            patient: The Kafka key of its patient.
            note_id: The sender's id.
        """
        return Ids(self.note(patient, note_id), self.patient(patient), self.key_id)

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
class Destination:
    """Where outputs go, and what their audit events say of it.

    Args:
        stage: Which writes them.
        notes: The topic of scrubbed notes.
        messages: That of rebuilt messages.
        audit: That of audit events.
        run: Of `phistream rescrub`.
    """

    stage: str = Stage.SCRUB
    notes: Topic = NOTES_SCRUBBED
    messages: Topic = HL7_SCRUBBED
    audit: Topic = PHI_AUDIT
    run: Run = field(default_factory=Run)


LIVE_FEED = Destination()


class ScrubOutputs:
    """Makes the outputs of scrubbed notes.

    Args:
        keys: Of the pseudonyms of keys and ids.
        preset: The name of the detection preset.
        policy: The name of the replacement policy.
        to: Where they go.
    """

    def __init__(
        self,
        keys: PseudonymKeys,
        *,
        preset: str,
        policy: str,
        to: Destination = LIVE_FEED,
    ) -> None:
        self.keys = keys
        self._to = to
        self._pseudonyms = {each.id: Pseudonyms(each.value) for each in keys}
        self._preset, self._policy = preset, policy
        self._version = metadata.version("phistream")

    def pseudonyms(self, record: Record) -> Pseudonyms:
        """Return the pseudonyms of what a record gives: its time decides the key."""
        return self._pseudonyms[self.keys.at(received_ms(record)).id]

    def of(
        self, joined: Joined, scrubbed: ScrubbedDocument, written_at: str, at_ms: int
    ) -> tuple[Output, Output]:
        """Return the scrubbed note and its audit event.

        Args:
            joined: The note.
            scrubbed: The scrubbed document of the note.
            written_at: The note's day as the policy writes it, or empty.
            at_ms: The time of the audit event, in milliseconds since 1970.
        """
        ids = self._ids(joined.record, joined.note)
        event = replace(
            self._scrubbed(joined, ids, at_ms),
            note_type=publishable_type(joined.note.note_type, is_known=joined.is_known),
            other_language=scrubbed.other_language or None,
            annotations=_encoded_annotations(scrubbed),
        )
        value = {
            "note_id": event.note_id,
            "patient": event.patient,
            "key_id": event.key_id,
            "preset": event.preset,
            "policy": event.policy,
            "join": event.join,
            "note_type": event.note_type,
            "text": scrubbed.text,
            "offsets": list(map(tuple, scrubbed.offset_map.rows)),
            "source": source_position(joined.record),
        }
        if written_at:
            value["written_at"] = written_at
        return (
            encoded(self._to.notes, ids.patient.encode(), value, joined.record),
            event.output(joined.record, self._to.audit),
        )

    def of_message(
        self,
        joined: Joined,
        rebuilt: Rebuilt,
        scrubbed: Sequence[ScrubbedDocument],
        at_ms: int,
    ) -> tuple[Output, Output]:
        """Return a rebuilt part of a message, and its audit event.

        Args:
            joined: The part.
            rebuilt: The part without identifiers.
            scrubbed: Its free texts.
            at_ms: The time of the audit event, in milliseconds since 1970.
        """
        record, form = joined.record, joined.note.format
        ids = self._ids(record, joined.note)
        message = Output(
            self._to.messages.name,
            ids.patient.encode(),
            rebuilt.value,
            {
                SOURCE: source_header(record),
                FORMAT: form.encode(),
                CONTENT_TYPE: CONTENT_TYPES[form],
                KEY_ID: ids.key_id.encode(),
            },
            timeless=self._to.messages.timeless,
            source=record,
        )
        found = Counter(a.label.value for each in scrubbed for a in each.annotations)
        event = replace(
            self._scrubbed(joined, ids, at_ms),
            format=form,
            removed=dict(rebuilt.removed),
            unreadable=dict(rebuilt.unreadable),
            found=dict(found),
        )
        return message, event.output(record, self._to.audit)

    def without_note(
        self,
        outcome: Literal["held", "discarded"],
        record: Record,
        note: ClinicalNote,
        policy: str,
        at_ms: int,
    ) -> Output:
        """Return the audit event of a note that is held, or discarded by an operator.

        Args:
            outcome: What happened to the note.
            record: Its record on `notes`.
            note: The note.
            policy: Why it is or was held.
            at_ms: The time of the audit event, in milliseconds since 1970.
        """
        ids = self._ids(record, note)
        event = AuditEvent(
            stage=Stage.SCRUB,
            outcome=outcome,
            at_ms=at_ms,
            note_id=ids.note_id,
            patient=ids.patient,
            key_id=ids.key_id,
            version=self._version,
            unknown_patient=policy,
        )
        return event.output(record)

    def _scrubbed(self, joined: Joined, ids: Ids, at_ms: int) -> AuditEvent:
        """Return what the events of notes and of messages say."""
        return AuditEvent(
            stage=self._to.stage,
            outputs=1,
            outcome="scrubbed",
            at_ms=at_ms,
            note_id=ids.note_id,
            patient=ids.patient,
            key_id=ids.key_id,
            preset=self._preset,
            policy=self._policy,
            version=self._version,
            join="found" if joined.is_known else "missing",
            characters=len(joined.note.text),
            held=joined.released,
            unknown_patient=joined.policy,
            **self._to.run,
        )

    def _ids(self, record: Record, note: ClinicalNote) -> Ids:
        return self.pseudonyms(record).ids(note.patient.key, note.note_id)


def annotations_json(scrubbed: ScrubbedDocument) -> list[dict[str, Any]]:
    """Return label, position and detector of each annotation, without text."""
    return list(map(_annotation_json, scrubbed.annotations))


def _annotation_json(annotation: Annotation) -> dict[str, Any]:
    return {
        "start": annotation.span.start,
        "end": annotation.span.end,
        "label": annotation.label.value,
        "score": round(annotation.score, 4),
        "detector": annotation.source,
    }


def _encoded_annotations(scrubbed: ScrubbedDocument) -> orjson.Fragment:
    """Return what `annotations_json` does, encoded and checked.

    A span holds what the schema asks of start and end.
    """
    encoded = [
        b'{"start":%d,"end":%d,%b'
        % (
            each.span.start,
            each.span.end,
            _after_span(each.label, each.score, each.detector, each.rule),
        )
        for each in scrubbed.annotations
    ]
    return orjson.Fragment(b"[%b]" % b",".join(encoded))


@lru_cache(maxsize=4096)
def _after_span(label: Label, score: float, detector: str, rule: str) -> bytes:
    """Return what follows the offsets of an encoded annotation, checked once."""
    annotation = Annotation(Span(0, 1), label, score, detector, rule)
    encoded = orjson.dumps(_annotation_json(annotation))
    try:
        check_item(PHI_AUDIT.schema, "annotations", encoded)
    except SchemaError as error:
        raise FatalError(f"our output breaks its schema: {error}; stop") from None
    return encoded.removeprefix(b'{"start":0,"end":1,')


def publishable_type(code: str, *, is_known: bool) -> str:
    """Return a note's type, or an empty string where it may identify the patient.

    LOINC codes and HL7 events are always published.  A sender's own code may be a name:
    it is published only if it was compared with the patient record, and never if it may
    hold a date, since no policy would shift it.
    """
    if _STANDARD_TYPE.fullmatch(code):
        return code
    return code if is_known and not _MAY_BE_A_DATE.search(code) else ""
