"""Held notes for the operator: where they are, and commands on them.

A command is an update on `patient.updates`: the worker that owns the patient obeys it.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

import orjson
from confluent_kafka import Message, TopicPartition

from streams.engine.errors import RetriableError
from streams.engine.records import Record
from streams.kafka.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    record_of,
    translated,
)
from streams.kafka.offsets import END_OF_PARTITION, stable_ends
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import NOTES, NOTES_HELD, PATIENT_UPDATES
from streams.model.held import HeldNote, read_key
from streams.model.patients.demographics import Demographics, PatientId, PatientRecord
from streams.model.patients.updates import HeldCommand, PatientUpdate
from streams.pipeline.files.feed import RawMessage, feed

from .counts import allowed_values as allowed
from .settings import Settings

log = logging.getLogger(__name__)

NOTES_OF_A_COMMAND = 100
"""Scrub carries a command out in one transaction."""

Decision = Literal["release", "discard"]


@dataclass(frozen=True, slots=True)
class WaitingNote:
    """A note that waits for the demographics of its patient.

    Args:
        partition: Of its record on `notes`.
        offset: Of its record on `notes`.
        patient: Its patient.
        note_type: Its type.
        policy: Why it was held.
        since_ms: When it was held, in milliseconds since 1970.
        until_ms: When it is released at the latest; 0 for no bound.
        received: The header `received` of its record.
    """

    partition: int
    offset: int
    patient: PatientId = field(repr=False)
    note_type: str = field(repr=False)
    policy: str
    since_ms: int
    until_ms: int
    received: str = ""

    @property
    def place(self) -> str:
        """Its record on `notes`."""
        return f"{NOTES.name}/{self.partition}/{self.offset}"

    def shown_type(self, configured: Collection[str]) -> str:
        """Return the note's type if it is known: a sender's own code may be a name."""
        known = self.note_type in configured
        return self.note_type if known else allowed.note_type(self.note_type)


class HeldReader:
    """Reads `notes.held` as a plain consumer; keeps what waits, without text.

    Args:
        settings: Connection settings, and the prefix of groups.
    """

    def __init__(self, settings: Settings) -> None:
        count = partition_counts(admin_client(settings)).get(NOTES_HELD.name, 0)
        self._behind = set(range(count))
        self._waiting: dict[tuple[int, bytes], WaitingNote] = {}
        group = f"{settings.group}-held"
        properties = {**CONSUMER, "group.id": group, "enable.partition.eof": True}
        self._consumer = consumer_client(settings, **properties)
        places = [TopicPartition(NOTES_HELD.name, p, 0) for p in self._behind]
        self._consumer.assign(places)

    def read(self) -> list[WaitingNote]:
        """Return the notes that wait now, in the order of their places.

        Raises:
            RetriableError: The cluster did not answer.
        """
        silent_since = time.monotonic()
        while True:
            with translated("read notes.held"):
                messages = self._consumer.consume(500, timeout=0.05)
            for message in messages:
                self._take(message)
            if messages:
                silent_since = time.monotonic()
            elif not self._behind:
                break
            elif time.monotonic() - silent_since > CALL_SECONDS:
                raise RetriableError("read notes.held: no answer in time")
        found = self._waiting.values()
        return sorted(found, key=lambda each: (each.partition, each.offset))

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if error.code() == END_OF_PARTITION:
                self._behind.discard(message.partition() or 0)
            elif not error.retriable():
                raise RetriableError(f"read notes.held: {error.name()}")
            return
        record = record_of(message)
        row = record.partition.index, record.key or b""
        self._waiting.pop(row, None)
        try:
            found = _waiting(record)
        except (ValueError, struct.error):
            # As in scrub: another program wrote it.
            log.error("%s: an unreadable row is ignored; delete it", record)  # noqa: TRY400  # the error may show a value
            return
        if found is not None:
            self._waiting[row] = found


def waiting_notes(settings: Settings) -> list[WaitingNote]:
    """Return the notes that wait now, in the order of their places.

    Raises:
        RetriableError: The cluster did not answer, or a transaction stays open.
    """
    admin = admin_client(settings)
    partitions = range(partition_counts(admin).get(NOTES_HELD.name, 0))
    # Rows that are committed may be behind the open transaction of another worker.
    stable_ends(admin, NOTES_HELD.name, partitions, settings.transaction_seconds)
    reader = HeldReader(settings)
    try:
        return reader.read()
    finally:
        reader.close()


def not_first(notes: Iterable[WaitingNote], chosen: Collection[str]) -> list[str]:
    """Return the chosen places that can't be released before earlier notes.

    Args:
        notes: All that wait, in the order of their places.
        chosen: Places to release.
    """
    waiting: set[tuple[PatientId, str]] = set()
    blocked = []
    for each in notes:
        if each.place not in chosen:
            waiting.add((each.patient, each.policy))
        elif (each.patient, each.policy) in waiting:
            blocked.append(each.place)
    return blocked


def command(
    settings: Settings, notes: Iterable[WaitingNote], decision: Decision
) -> int:
    """Publish commands on notes; return their number.

    Raises:
        FatalError: It was not confirmed.
    """
    return feed(settings, commands(notes, decision), topic=PATIENT_UPDATES)


def commands(notes: Iterable[WaitingNote], decision: Decision) -> Iterator[RawMessage]:
    """Yield the records of `patient.updates` that command a decision on notes."""
    ordered = sorted(notes, key=lambda each: (each.patient.key, each.offset))
    for patient, group in groupby(ordered, key=lambda each: each.patient):
        offsets = tuple(each.offset for each in group)
        for start in range(0, len(offsets), NOTES_OF_A_COMMAND):
            part = offsets[start : start + NOTES_OF_A_COMMAND]
            record = PatientRecord(patient, "", Demographics())
            update = PatientUpdate(record, command=HeldCommand(**{decision: part}))
            value = PATIENT_UPDATES.schema.versioned(update.to_json())
            yield RawMessage(orjson.dumps(value), patient.key)


def _waiting(record: Record) -> WaitingNote | None:
    """Return the note of a row if it waits."""
    if record.value is None:
        return None
    held = HeldNote.decode(record.value)
    if held.released is not None:
        return None
    return WaitingNote(
        record.partition.index,
        read_key(record.key or b"")[1],
        PatientId.from_json(orjson.loads(held.note)["patient"]),
        held.note_type,
        held.policy,
        held.since_ms,
        held.until_ms,
        held.received,
    )
