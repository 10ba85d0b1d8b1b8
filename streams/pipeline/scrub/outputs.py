"""Outputs of scrub for a note: the scrubbed note and its audit event, without PHI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import metadata
from typing import Literal

import orjson

from deid_core import Annotation, Label, ScrubbedDocument, Span
from schemas import SchemaError
from schemas.decoding import check_item
from streams.engine.errors import FatalError
from streams.engine.keys.ring import PseudonymKeys
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
from streams.pipeline.publish import (
    Ids,
    PatientValues,
    Pseudonyms,
    annotation_json,
    join_of,
    published,
)

from .join import Joined


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
        self._pseudonyms = {key.id: Pseudonyms(key.value) for key in keys}
        self._preset, self._policy = preset, policy
        self._version = metadata.version("phistream")

    def pseudonyms(self, record: Record) -> Pseudonyms:
        """Return the pseudonyms of what a record gives: its time decides the key."""
        return self._pseudonyms[self.keys.at(received_ms(record)).id]

    def of(
        self,
        joined: Joined,
        scrubbed: ScrubbedDocument,
        values: PatientValues,
        at_ms: int,
    ) -> tuple[Output, Output]:
        """Return the scrubbed note and its audit event.

        Args:
            joined: The note.
            scrubbed: The scrubbed document of the note.
            values: Of its patient.
            at_ms: The time of the audit event, in milliseconds since 1970.

        Raises:
            InvalidRecord: See `published`.
        """
        note = published(values, joined.note.written_at, is_known=joined.is_known)
        ids = note.ids
        value = {
            "note_id": ids.note_id,
            "patient": ids.patient,
            "key_id": ids.key_id,
            "preset": self._preset,
            "policy": self._policy,
            "join": note.join,
            "note_type": note.note_type,
            "text": scrubbed.text,
            "offsets": list(map(tuple, scrubbed.offset_map.rows)),
            "source": source_position(joined.record),
        }
        if note.written_at:
            value["written_at"] = note.written_at
        event = replace(
            self._scrubbed(joined, ids, at_ms),
            note_type=note.note_type,
            other_language=scrubbed.other_language or None,
            annotations=_encoded_annotations(scrubbed),
        )
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
        labels = Counter(
            annotation.label.value
            for text in scrubbed
            for annotation in text.annotations
        )
        event = replace(
            self._scrubbed(joined, ids, at_ms),
            format=form,
            removed=dict(rebuilt.removed),
            unreadable=dict(rebuilt.unreadable),
            found=dict(labels),
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
            join=join_of(is_known=joined.is_known),
            characters=len(joined.note.text),
            held=joined.released,
            unknown_patient=joined.policy,
            **self._to.run,
        )

    def _ids(self, record: Record, note: ClinicalNote) -> Ids:
        return self.pseudonyms(record).ids(note.patient.key, note.note_id)


def _encoded_annotations(scrubbed: ScrubbedDocument) -> orjson.Fragment:
    """Return what `publish.annotations_json` does, encoded and checked.

    A span holds what the schema asks of start and end.
    """
    encoded = [
        b'{"start":%d,"end":%d,%b'
        % (
            found.span.start,
            found.span.end,
            _after_span(found.label, found.score, found.detector, found.rule),
        )
        for found in scrubbed.annotations
    ]
    return orjson.Fragment(b"[%b]" % b",".join(encoded))


@lru_cache(maxsize=4096)
def _after_span(label: Label, score: float, detector: str, rule: str) -> bytes:
    """Return what follows the offsets of an encoded annotation, checked once."""
    annotation = Annotation(Span(0, 1), label, score, detector, rule)
    encoded = orjson.dumps(annotation_json(annotation))
    try:
        check_item(PHI_AUDIT.schema, "annotations", encoded)
    except SchemaError as error:
        raise FatalError(f"our output breaks its schema: {error}; stop") from None
    return encoded.removeprefix(b'{"start":0,"end":1,')
