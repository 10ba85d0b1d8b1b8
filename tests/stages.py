"""Inputs, outputs and audit events as both stages write them, without detection.

Everything is in partition 0, so that offsets are those of the calls.
"""

from __future__ import annotations

import time
from dataclasses import replace

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.kafka.client import admin_client, record_of
from streams.kafka.topics import (
    HL7_RAW,
    LETTERS_REPLAYED,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    Stage,
)
from streams.model.audit import AuditEvent, dead_letter
from streams.model.held import prefix_of, row_key
from streams.model.notes import ClinicalNote
from streams.model.outputs import (
    HELD,
    REPLAYED,
    SCHEMA,
    SOURCE,
    changelog,
    encoded,
    schema_header,
    source_header,
    source_position,
)
from streams.model.patients.demographics import PatientId
from streams.model.seals import Seals, audit_key
from tests.office import OFFICE

PATIENT = PatientId("N", "1")
KEY_ID = "0a1b2c3d"
HEX = "0" * 32
KEY = HEX.encode()
ERROR = InvalidRecord(ReasonCode.SCHEMA, "notes: breaks its schema")


class Stages:
    """Writes to the topics, and commits offsets.

    Args:
        settings: Of the cluster and the key.
    """

    def __init__(self, settings):
        self.settings = settings
        self.seals = Seals(audit_key(settings.pseudonym_key()))
        self._producer = Producer(settings.client())
        self._next = dict.fromkeys((HL7_RAW.name, NOTES.name, PATIENT_UPDATES.name), 0)
        self.now = int(time.time() * 1000)

    def produce(self, topic, value, *, key=b"k", headers=None, partition=0, at_ms=0):
        """Write a record, as anybody may; return it if it is an input."""
        headers = dict(headers or {})
        self._producer.produce(
            topic,
            key=key,
            value=value,
            headers=headers,
            partition=partition,
            timestamp=at_ms,
        )
        assert self._producer.flush(30) == 0
        if topic not in self._next:
            return None
        offset = self._next[topic]
        self._next[topic] += 1
        return Record(Partition(topic, 0), offset, key, value, headers)

    def write(self, *outputs):
        """Write outputs of one record, sealed; return those that are inputs."""
        found = [
            self.produce(each.topic, each.value, key=each.key, headers=each.headers)
            for each in self.seals.sealed(outputs)
        ]
        return [each for each in found if each is not None]

    def message(self, headers=None):
        """Write a message."""
        number = b"%d" % self._next[HL7_RAW.name]
        return self.produce(HL7_RAW.name, b"MSH|" + number, headers=headers)

    def note(self, source, text="text", key=PATIENT.key):
        note = ClinicalNote(str(source), PATIENT, "", "", text)
        return encoded(NOTES, key, note.to_json(), source)

    def update(self, source):
        """Return a patient update of a message, or one that is passed on."""
        value = {"patient": {"assigning_authority": "N", "id": "1"}}
        return encoded(PATIENT_UPDATES, PATIENT.key, value, source)

    def scrubbed(self, note, text="[NAME]", key=KEY):
        value = {
            "note_id": HEX,
            "patient": HEX,
            "key_id": KEY_ID,
            "note_type": "",
            "text": f"{text} {note.offset}",
            "offsets": [],
            "preset": "hybrid",
            "policy": "safe-harbor",
            "join": "found",
            "source": source_position(note),
        }
        return encoded(NOTES_SCRUBBED, key, value, note)

    def audit(self, record, outcome, outputs=0, policy="scrub"):
        is_raw = record.partition.topic == HL7_RAW.name
        event = AuditEvent(
            stage=Stage.INTAKE if is_raw else Stage.SCRUB,
            outputs=outputs,
            outcome=outcome,
            at_ms=self.now,
            unknown_patient=policy,
        )
        return event.output(record)

    def hold(self, note, policy="wait"):
        """Have a note held: its audit event, and its row in notes.held."""
        row = changelog(NOTES_HELD, self._row_key(note), b"{}", note)
        self.write(row, self.audit(note, "held", policy=policy))

    def release(self, note):
        """Publish a held note again, and process it: its row is deleted."""
        row = changelog(NOTES_HELD, self._row_key(note), None, note)
        return self.write(self.again(note), row)

    def _row_key(self, note):
        return row_key(prefix_of(note.key), note.offset)

    def letter(self, record):
        """Return the dead letter of a record, and its audit event."""
        return dead_letter(Stage.SCRUB, record, ERROR, self.now, OFFICE)

    def again(self, note, reason="time"):
        """Return the record that releases a held note."""
        headers = {
            SOURCE: source_header(note),
            SCHEMA: schema_header(NOTES),
            HELD: b"%d/%s" % (note.offset, reason.encode()),
        }
        return Output(NOTES.name, note.key, note.value, headers, source=note)

    def routed(self, count=1, **headers):
        """Have messages routed to a note each; return the records of the notes."""
        return [each for _ in range(count) for each in self._routed(headers)]

    def _routed(self, headers):
        message = self.message(headers)
        return self.write(self.note(message), self.audit(message, "routed", 1))

    def replayed(self, letter, note):
        """Return a note as `dead-letters replay` writes it, without its mark."""
        headers = {**note.headers, REPLAYED: letter.encode()}
        return self.produce(NOTES.name, note.value, key=note.key, headers=headers)

    def mark(self, letter):
        """Write the mark of a dead letter that was replayed."""
        source = {"topic": NOTES.name, "partition": 0, "offset": 0}
        value = orjson.dumps({"schema_version": 1, "source": source, "at_ms": 1})
        self.produce(LETTERS_REPLAYED.name, value, key=letter.encode())

    def erased(self, record, **extra):
        """Write the audit event of an erasure, as a person's command does: unsealed."""
        facts = {"outcome": "erased", "at_ms": self.now, "actor": "x", "reason": "x"}
        event = AuditEvent(stage=Stage.SCRUB, **(facts | extra)).output(record)
        self.produce(event.topic, event.value, key=event.key, headers=event.headers)

    def scrub(self, *notes, **options):
        """Have notes scrubbed, each with its audit event."""
        for each in notes:
            self.write(self.scrubbed(each, **options), self.audit(each, "scrubbed", 1))

    def done(self, count=18):
        """Have messages routed and scrubbed, and all offsets committed."""
        notes = self.routed(count)
        self.scrub(*notes)
        self.commit_all()
        return notes

    def commit_all(self):
        """Commit the ends of all inputs, as workers do that have nothing to read."""
        for topic, offset in self._next.items():
            self.commit(topic, offset)

    def commit(self, topic, offset):
        stage = "intake" if topic == HL7_RAW.name else "scrub"
        group = f"{self.settings.group}-{stage}"
        consumer = Consumer(self.settings.client(**{"group.id": group}))
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        consumer.close()

    def read(self, topic):
        """Return the records of a topic's partition 0."""
        consumer = Consumer(
            self.settings.client(**{"group.id": "read", "enable.partition.eof": True})
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(10)) is not None and message.error() is None:
            found.append(record_of(message))
        consumer.close()
        return found

    def delete(self, topic):
        """Delete all records of a topic's partition 0; return them."""
        gone = self.read(topic)
        admin, place = admin_client(self.settings), TopicPartition(topic, 0)
        end = admin.list_offsets({place: OffsetSpec.latest()})[place].result(30).offset
        where = TopicPartition(topic, 0, end)
        admin.delete_records([where])[where].result(30)
        return gone

    def put_back(self, records, **changes):
        """Write records again, changed, with their headers."""
        for each in records:
            changed = replace(each, **changes)
            self.produce(
                changed.partition.topic,
                changed.value,
                key=changed.key,
                headers=changed.headers,
            )
