"""Every topic and stage, declared once.

``phistream topics list`` prints the declarations, and `topic_admin` makes and checks
them at the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Literal

import orjson

from schemas import Schema
from streams.engine.errors import ConfigError

from .wire_format import FRAMED_NAMES

DAY_MS = 24 * 60 * 60 * 1000
MIB = 1024 * 1024
TOMBSTONE_DAYS = 7
OVERHEAD = 4096
"""Bytes of a record, at most, besides its key and value."""


class Stage(StrEnum):
    """The stages of the service."""

    INTAKE = "intake"
    SCRUB = "scrub"


RESCRUB = "rescrub"
"""What audit events and dead letters of `phistream rescrub` name as their stage.

It is a command, not a service: it has no inputs of its own.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The declaration of a topic, for the cluster and for operators.

    Args:
        name: By Kafka's convention, parted by dots.
        key: What the keys are.
        value: What the values are besides JSON of the topic's schema.
        schema_version: Of the schema of its JSON values; 0 if they have none.
        schema_kind: The schema's name if it is not the topic's.
        readers: Who reads the topic.
        phi: Whether it holds PHI.
        retention_days: How long records are kept; without effect if only compacted.
        cleanup: The topic's ``cleanup.policy``.
        max_message_bytes: The topic's ``max.message.bytes``.
        copartitioned_with: A topic whose number of partitions this one must have.
        timeless: Whether its records may not tell when the event happened (decision
            12).
        checked_by_reader: Whether phistream checks each value when it reads it, so that
            it need not be checked when it is written.
    """

    name: str
    key: str
    value: str = ""
    schema_version: int = 0
    schema_kind: str = ""
    readers: str
    phi: bool
    retention_days: int
    cleanup: Literal["delete", "compact", "compact,delete"] = "delete"
    max_message_bytes: int = 8 * MIB
    copartitioned_with: str = ""
    timeless: bool = False
    checked_by_reader: bool = False

    @property
    def schema(self) -> Schema:
        """The schema of the JSON values.

        Raises:
            LookupError: The topic declares none.
        """
        if not self.schema_version:
            raise LookupError(f"{self.name}: declares no schema_version")
        return _schema(self.schema_kind or self.name, self.schema_version)

    @property
    def value_form(self) -> str:
        """The form of the values, in words."""
        if not self.schema_version:
            return self.value
        schema = str(self.schema)
        return f"{self.value}, or JSON {schema}" if self.value else schema

    @property
    def short_form(self) -> str:
        """The same beside the topic's name, which a schema's name mostly repeats."""
        return self.value_form.replace(f"{self.name}/", "JSON ")

    @property
    def max_content_bytes(self) -> int:
        """The bytes that key and value of a record may have."""
        return self.max_message_bytes - OVERHEAD

    def of_version(self, version: str) -> Topic:
        """Return the topic that a run of `phistream rescrub` writes in its place."""
        return replace(
            self,
            name=f"{self.name}.{version}",
            schema_kind=(self.schema_kind or self.name) if self.schema_version else "",
        )

    def require_known_version(self, value: bytes) -> None:
        """Check that a value which breaks the schema is not of a later version of it.

        Raises:
            ConfigError: It is.  It must wait for a worker that can read it.
        """
        try:
            version = orjson.loads(value)["schema_version"]
        except (ValueError, KeyError, TypeError):
            return
        if isinstance(version, int) and version > self.schema_version:
            raise ConfigError(
                f"{self.name}: a later version of phistream has written a record, and "
                f"this one reads version {self.schema_version} of its schema; run the "
                "later one here as well (runbook, Upgrades)"
            )

    def config(self) -> dict[str, str]:
        """Return the topic's settings at the broker."""
        settings = {
            "cleanup.policy": self.cleanup,
            "max.message.bytes": str(self.max_message_bytes),
        }
        if self.timeless:
            # Under LogAppendTime the broker would stamp each record with its clock.
            settings["message.timestamp.type"] = "CreateTime"
        if "compact" in self.cleanup:
            # A table that is younger than this never misses a tombstone.
            settings["delete.retention.ms"] = str(TOMBSTONE_DAYS * DAY_MS)
        if "delete" in self.cleanup:
            settings["retention.ms"] = str(self.retention_days * DAY_MS)
        if self.phi:
            # What is deleted stays on disk until its segment is closed: a week by
            # default, and with compaction for ever.
            settings["segment.ms"] = str(DAY_MS)
            if "compact" in self.cleanup:
                settings["max.compaction.lag.ms"] = str(DAY_MS)
        return settings


@cache
def _schema(kind: str, version: int) -> Schema:
    return Schema(kind, version)


HL7_RAW = Topic(
    name="hl7.raw",
    key="any",
    value="HL7 v2",
    schema_version=1,
    schema_kind="note_event",
    readers="intake",
    phi=True,
    retention_days=7,
    max_message_bytes=16 * MIB,
)
MESSAGES_SEEN = Topic(
    name="messages.seen",
    key="keyed digest of sender and control id",
    schema_version=1,
    readers="intake",
    phi=False,
    retention_days=-1,
    cleanup="compact",
    max_message_bytes=1 * MIB,
    copartitioned_with="hl7.raw",
)
NOTES = Topic(
    name="notes",
    key="patient (assigning authority and id)",
    schema_version=1,
    readers="scrub",
    phi=True,
    retention_days=7,
    max_message_bytes=16 * MIB,
    checked_by_reader=True,
)
PATIENT_UPDATES = Topic(
    name="patient.updates",
    key="patient (assigning authority and id)",
    schema_version=1,
    readers="scrub",
    phi=True,
    retention_days=7,
    max_message_bytes=16 * MIB,
    copartitioned_with="notes",
    checked_by_reader=True,
)
PATIENTS = Topic(
    name="patients",
    key="patient (assigning authority and id)",
    schema_version=1,
    readers="scrub",
    phi=True,
    retention_days=-1,
    cleanup="compact",
    max_message_bytes=16 * MIB,
    copartitioned_with="notes",
)
NOTES_HELD = Topic(
    name="notes.held",
    key="patient and offset in notes",
    schema_version=1,
    readers="scrub, operations",
    phi=True,
    retention_days=-1,
    cleanup="compact",
    max_message_bytes=32 * MIB,
    copartitioned_with="notes",
)
NOTES_SCRUBBED = Topic(
    name="notes.scrubbed",
    key="patient pseudonym",
    schema_version=1,
    readers="subscribers",
    phi=False,
    retention_days=30,
    max_message_bytes=16 * MIB,
    timeless=True,
)
HL7_SCRUBBED = Topic(
    name="hl7.scrubbed",
    key="patient pseudonym",
    value="HL7 v2, FHIR or C-CDA",
    readers="subscribers",
    phi=False,
    retention_days=30,
    max_message_bytes=32 * MIB,
    timeless=True,
)
PHI_AUDIT = Topic(
    name="phi.audit",
    key="patient pseudonym, or the source position",
    schema_version=1,
    readers="privacy office, operations",
    phi=False,
    retention_days=365,
)
DEAD_LETTERS = Topic(
    name="dead.letters",
    key="position and time of the original record",
    schema_version=1,
    readers="privacy office, operations",
    phi=True,
    # No longer than the topics that the originals came from.
    retention_days=7,
    # So that one letter can be erased; each has a key of its own.
    cleanup="compact,delete",
    max_message_bytes=32 * MIB,
)
LETTERS_REPLAYED = Topic(
    name="dead.letters.replayed",
    key="position on dead.letters",
    schema_version=1,
    readers="privacy office",
    phi=False,
    retention_days=-1,
    cleanup="compact",
    max_message_bytes=1 * MIB,
)

RESCRUBBED = (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT)
"""The topics of which `phistream rescrub` writes another version."""

TOPICS = (
    HL7_RAW,
    MESSAGES_SEEN,
    NOTES,
    PATIENT_UPDATES,
    PATIENTS,
    NOTES_HELD,
    NOTES_SCRUBBED,
    HL7_SCRUBBED,
    PHI_AUDIT,
    DEAD_LETTERS,
    LETTERS_REPLAYED,
)

FRAMED = tuple(topic for topic in TOPICS if topic.name in FRAMED_NAMES)
"""The topics whose JSON values have the wire format when a registry is set."""

LETTERS_COME_FROM = (HL7_RAW, NOTES, PATIENT_UPDATES)
"""The topics whose records may become dead letters."""

LETTERS_ID = f"{DEAD_LETTERS.name}-office"
"""Transactional id of persons' commands on dead letters: replay and erase.

The one that starts ends what the other has open, and fences it: no letter is replayed
once it was erased.  It depends on the topic alone, as the letters do.
"""

INPUT: Mapping[Stage, Topic] = {Stage.INTAKE: HL7_RAW, Stage.SCRUB: NOTES}
"""The topic whose partitions a stage owns."""
READ_ALONG: Mapping[Stage, Topic] = {Stage.SCRUB: PATIENT_UPDATES}
"""A topic whose partitions a stage owns together with those of its input."""
TOPICS_OF: Mapping[Stage, tuple[Topic, ...]] = {
    Stage.INTAKE: (
        HL7_RAW,
        MESSAGES_SEEN,
        NOTES,
        PATIENT_UPDATES,
        PHI_AUDIT,
        DEAD_LETTERS,
    ),
    Stage.SCRUB: (
        NOTES,
        PATIENT_UPDATES,
        PATIENTS,
        NOTES_HELD,
        NOTES_SCRUBBED,
        HL7_SCRUBBED,
        PHI_AUDIT,
        DEAD_LETTERS,
    ),
}
"""The topics that a stage reads or writes."""

WATCH_TOPICS = tuple(
    Topic(
        name=f"watch.{name}",
        key="partition, window and place in its ring",
        value="counts by known words; internal",
        readers="watch",
        phi=False,
        retention_days=-1,
        cleanup="compact",
        copartitioned_with=source.name,
    )
    for name, source in (("audit", PHI_AUDIT), ("dead", DEAD_LETTERS))
)
"""The changelogs of watch's tables; intake and scrub work without them."""

ALL_TOPICS = TOPICS + WATCH_TOPICS


def inputs_of(stage: Stage) -> tuple[Topic, ...]:
    """Return the topics whose partitions a stage owns."""
    along = READ_ALONG.get(stage)
    return (INPUT[stage],) if along is None else (INPUT[stage], along)
