"""Every topic, declared once: name, key, value schema, cleanup, retention, readers.

The names follow Kafka's habit of dots; ``deploy/topics.md`` is printed from here by
``phistream topics list``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from ..engine.errors import ConfigError, RetriableError
from ..engine.settings import Settings
from .client import admin_client

TO_HAVE_THEM = (
    "run: phistream topics create, or grant what phistream topics acls prints"
)
"""What to do where topics are missing, or hidden by access control lists."""

DAY_MS = 24 * 60 * 60 * 1000
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Topic:
    """What phistream needs of a topic, and what an operator should know of it."""

    name: str
    key: str
    schema: str
    readers: str
    phi: bool
    retention_days: int
    cleanup: Literal["delete", "compact"] = "delete"
    max_message_bytes: int = 8 * MIB
    beside: str = ""
    """A topic whose number of partitions this one needs."""
    timeless: bool = False
    """Whether its records may not tell when the event happened (decision 14)."""

    def config(self) -> dict[str, str]:
        """Return the topic's settings at the broker."""
        settings = {
            "cleanup.policy": self.cleanup,
            "max.message.bytes": str(self.max_message_bytes),
        }
        if self.timeless:
            # Under LogAppendTime the broker would stamp each record with its clock.
            settings["message.timestamp.type"] = "CreateTime"
        if self.cleanup == "compact":
            # A table that is younger than this never misses a tombstone.
            return settings | {"delete.retention.ms": str(TOMBSTONE_DAYS * DAY_MS)}
        return settings | {"retention.ms": str(self.retention_days * DAY_MS)}


TOMBSTONE_DAYS = 7

HL7_RAW = Topic(
    name="hl7.raw",
    key="any",
    schema="HL7 v2, or JSON note_event/v1",
    readers="intake",
    phi=True,
    retention_days=7,
    max_message_bytes=16 * MIB,
)
NOTES = Topic(
    name="notes",
    key="patient (assigning authority and id)",
    schema="notes/v1",
    readers="scrub",
    phi=True,
    retention_days=7,
    max_message_bytes=16 * MIB,
)
PATIENTS = Topic(
    name="patients",
    key="patient (assigning authority and id)",
    schema="patients/v1",
    readers="intake, scrub",
    phi=True,
    retention_days=-1,
    cleanup="compact",
)
NOTES_SCRUBBED = Topic(
    name="notes.scrubbed",
    key="patient pseudonym",
    schema="notes.scrubbed/v1",
    readers="subscribers",
    phi=False,
    retention_days=30,
    max_message_bytes=16 * MIB,
    timeless=True,
)
PHI_AUDIT = Topic(
    name="phi.audit",
    key="patient pseudonym, or the source position",
    schema="phi.audit/v1",
    readers="privacy office, operations",
    phi=False,
    retention_days=365,
)
DEAD_LETTERS = Topic(
    name="dead.letters",
    key="as the original record",
    schema="dead.letters/v1",
    readers="restricted: who may see the original",
    phi=True,
    retention_days=30,
    max_message_bytes=32 * MIB,
)

TOPICS = (HL7_RAW, NOTES, PATIENTS, NOTES_SCRUBBED, PHI_AUDIT, DEAD_LETTERS)

OF_INTAKE = (HL7_RAW, NOTES, PATIENTS, PHI_AUDIT, DEAD_LETTERS)
OF_SCRUB = (NOTES, PATIENTS, NOTES_SCRUBBED, PHI_AUDIT, DEAD_LETTERS)
"""What each stage reads and writes."""

WATCH_TOPICS = tuple(
    Topic(
        name=f"watch.{name}",
        key="partition, window and place in its ring",
        schema="counts by known words; internal",
        readers="watch",
        phi=False,
        retention_days=-1,
        cleanup="compact",
        beside=source.name,
    )
    for name, source in (
        ("audit", PHI_AUDIT),
        ("dead", DEAD_LETTERS),
    )
)
"""The changelogs of watch's tables; intake and scrub do without."""

ALL_TOPICS = TOPICS + WATCH_TOPICS


def create_topics(settings: Settings) -> list[str]:
    """Make the topics that are not there yet; return their names.

    Raises:
        RetriableError: The cluster did not answer.
        ConfigError: The cluster refuses, e.g. replication above the brokers.
    """
    admin = admin_client(settings)
    counts = partition_counts(admin)
    wanted = [
        NewTopic(
            topic.name,
            num_partitions=counts.get(topic.beside, settings.partitions),
            replication_factor=settings.replication,
            config=topic.config(),
        )
        for topic in ALL_TOPICS
    ]
    made = []
    for name, future in admin.create_topics(wanted, operation_timeout=30).items():
        try:
            future.result()
            made.append(name)
        except KafkaException as error:
            _accept_existing(name, error)
    return made


def check_topics(settings: Settings) -> list[str]:
    """Return what is wrong with the cluster's topics, one sentence each."""
    admin = admin_client(settings)
    counts = partition_counts(admin)
    problems = [
        f"{topic.name}: missing; run: phistream topics create"
        for topic in ALL_TOPICS
        if topic.name not in counts
    ]
    problems += _join_problems(counts) + _beside_problems(counts)
    present = [topic for topic in ALL_TOPICS if topic.name in counts]
    return problems + _config_problems(admin, present)


def require_topics(settings: Settings, names: Sequence[str]) -> Mapping[str, int]:
    """Return the partition counts of ``names``.

    Raises:
        ConfigError: One is missing, ``notes`` and ``patients`` can't be joined, or one
            of ``names`` has not the partitions of the topic that it stands beside.
    """
    counts = partition_counts(admin_client(settings))
    missing = [name for name in names if name not in counts]
    if missing:
        raise ConfigError(
            "topics missing, or hidden from this user: "
            f"{', '.join(missing)}; {TO_HAVE_THEM}"
        )
    problems = _join_problems(counts) + _beside_problems(counts, names)
    if problems:
        raise ConfigError("; ".join(problems))
    return {name: counts[name] for name in names}


def partition_counts(admin: AdminClient, *, seconds: float = 10) -> dict[str, int]:
    """Return the number of partitions of every topic of the cluster."""
    try:
        metadata = admin.list_topics(timeout=seconds)
    except KafkaException as error:
        raise RetriableError(f"topics: the cluster did not answer: {error}") from None
    return {
        name: len(topic.partitions)
        for name, topic in metadata.topics.items()
        if topic.error is None
    }


def _join_problems(counts: Mapping[str, int]) -> list[str]:
    notes, patients = counts.get(NOTES.name), counts.get(PATIENTS.name)
    if notes is None or patients is None or notes == patients:
        return []
    return [
        f"notes has {notes} partitions and patients has {patients}: a note would miss "
        "its patient; both need the same count"
    ]


def _beside_problems(
    counts: Mapping[str, int], names: Sequence[str] | None = None
) -> list[str]:
    return [
        f"{topic.name} has {counts[topic.name]} partitions and {topic.beside} has "
        f"{counts[topic.beside]}: both need the same count"
        for topic in ALL_TOPICS
        if (names is None or topic.name in names)
        and topic.name in counts
        and topic.beside in counts
        and counts[topic.name] != counts[topic.beside]
    ]


def _config_problems(admin: AdminClient, topics: Sequence[Topic]) -> list[str]:
    wanted = {topic.name: topic.config() for topic in topics}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in wanted]
    if not resources:
        return []
    problems = []
    for resource, future in admin.describe_configs(resources).items():
        actual = future.result()
        for key, value in wanted[resource.name].items():
            if actual[key].value != value:
                problems.append(
                    f"{resource.name}: {key} is {actual[key].value}, declared {value}"
                )
    return problems


def _accept_existing(name: str, error: KafkaException) -> None:
    cause = error.args[0]
    if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
        return
    if cause.retriable():
        raise RetriableError(f"{name}: not created: {cause.str()}") from None
    raise ConfigError(f"{name}: the cluster refuses it: {cause.str()}") from None
