"""The plan of a version: which notes are read, and with what they are scrubbed.

It is fixed when the version is begun: one audit event for each partition says where it
begins and ends, in the transaction that commits the first offsets of its group.  Every
later run of the version, also after a crash, finds it there and goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

from streams.engine.errors import ConfigError, RetriableError
from streams.engine.records import CommittedOffset, Output, Partition, Record
from streams.kafka.bounded import committed_records
from streams.kafka.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    record_of,
    translated,
)
from streams.kafka.offsets import (
    GroupOffsets,
    end_offsets,
    first_offsets,
    high_watermarks,
    offsets_at,
)
from streams.kafka.producer import KafkaProducer
from streams.kafka.registry import schema_ids
from streams.kafka.topic_admin import partition_counts, require_topics
from streams.kafka.topics import (
    DEAD_LETTERS,
    NOTES,
    PATIENT_UPDATES,
    PATIENTS,
    RESCRUB,
    RESCRUBBED,
    Stage,
    Topic,
)
from streams.kafka.wire_format import SchemaIds
from streams.model.audit import AuditEvent
from streams.model.outputs import OUTCOME
from streams.model.seals import SEAL, Seal, Seals, audit_key
from streams.operations.settings import Settings

from .erasures import require_updates
from .request import From, Means, topics_of

log = logging.getLogger(__name__)

BEGUN = b"begun"
NEEDED = (NOTES, PATIENTS, PATIENT_UPDATES, DEAD_LETTERS, *RESCRUBBED)
LEADER_SECONDS = 30.0
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a version: its notes, and with what they are scrubbed.

    Args:
        version: Of the topics that are written.
        begins_from: What `--from` said when it was begun.
        means: With what notes are scrubbed.
        ranges: First and end offset of each partition of `notes`.
    """

    version: str
    begins_from: str
    means: Means
    ranges: Mapping[int, Range]

    def group(self, settings: Settings) -> str:
        """Return the consumer group of the version."""
        return f"{settings.group}-{RESCRUB}-{self.version}"


class Planner:
    """Finds or makes the plan of a version.

    Args:
        settings: Connection settings, keys, preset and policy.
        version: Of the topics that are written.

    Raises:
        ConfigError: A topic of the service is missing.
        RetriableError: The cluster does not answer.
    """

    def __init__(self, settings: Settings, version: str) -> None:
        self._settings = settings
        self._version = version
        self._topics = topics_of(version)
        self._audit = self._topics[-1]
        self._admin = admin_client(settings)
        counts = require_topics(settings, [topic.name for topic in NEEDED])
        self._partitions = counts[NOTES.name]

    def find(self) -> Plan | None:
        """Return the plan of a version that was begun, if it was.

        Raises:
            ConfigError: Its topics hold records, but no plan.
        """
        counts = partition_counts(self._admin)
        present = [each for each in self._topics if each.name in counts]
        events = self._events(counts) if self._audit in present else {}
        if set(events) == set(range(self._partitions)):
            return _plan_of(self._version, events)
        used = [t.name for t in present if any(self._ends(t, counts).values())]
        if used:
            raise ConfigError(
                f"{', '.join(used)}: not empty, but no run of phistream rescrub that "
                "can be resumed has written there (or retention has deleted its "
                "beginning, or notes has other partitions now); name another version"
            )
        return None

    def begin(self, begins: From, means: Means) -> Plan:
        """Fix the plan of a new version; its topics are created.

        Raises:
            ConfigError: There is nothing to read, or the cluster refuses the topics.
            Fenced: Another process begins it at this moment.
        """
        ends = self._live_offsets()
        starts = self._starts(begins, ends)
        ranges = {p: (starts[p], ends[p]) for p in ends}
        if all(first >= end for first, end in ranges.values()):
            raise ConfigError(
                f"--from {begins.given}: {Stage.SCRUB} has processed no note from "
                "there on; begin earlier"
            )
        require_updates(self._settings, self._admin, starts)
        self._create_topics()
        group = f"{self._settings.group}-{RESCRUB}-{self._version}"
        # Its start fences another process that begins the same version.
        producer = KafkaProducer(
            self._settings, f"{group}-plan", version_ids(self._settings, self._version)
        )
        if (found := self.find()) is not None:
            return found
        plan = Plan(self._version, begins.given, means, ranges)
        self._write(producer, plan, group)
        return plan

    def _write(self, producer: KafkaProducer, plan: Plan, group: str) -> None:
        seals = Seals(audit_key(self._settings.pseudonym_key()))
        consumer = consumer_client(self._settings, **CONSUMER, **{"group.id": group})
        try:
            producer.begin()
            for output in self._begun(plan):
                for sealed in seals.sealed([output]):
                    producer.produce(sealed)
            producer.send_offsets(
                {
                    Partition(NOTES.name, p): CommittedOffset(first)
                    for p, (first, _end) in plan.ranges.items()
                },
                consumer.consumer_group_metadata(),
            )
            producer.commit()
        finally:
            consumer.close()

    def _begun(self, plan: Plan) -> list[Output]:
        now = int(time.time() * 1000)
        return [
            AuditEvent(
                stage=RESCRUB,
                outcome="begun",
                at_ms=now,
                until=end,
                begins_from=plan.begins_from,
                preset=plan.means.preset,
                policy=plan.means.policy,
                **plan.means.run(plan.version),
            ).output(Record(Partition(NOTES.name, p), first, None, None), self._audit)
            for p, (first, end) in plan.ranges.items()
        ]

    def _live_offsets(self) -> dict[int, int]:
        """Return how far the live feed has read: its patients are known by then."""
        group = f"{self._settings.group}-{Stage.SCRUB}"
        reader = GroupOffsets(self._settings, group, NOTES.name)
        try:
            found = reader.read_known(range(self._partitions))
        finally:
            reader.close()
        return {p: offset or 0 for p, offset in found.items()}

    def _starts(self, begins: From, ends: Mapping[int, int]) -> dict[int, int]:
        wanted = dict.fromkeys(ends, 0)
        if begins.time_ms is not None:
            wanted = offsets_at(self._admin, NOTES.name, ends, begins.time_ms)
        elif begins.offset is not None:
            wanted = dict.fromkeys(ends, begins.offset)
        elif begins.offsets:
            wanted = dict(begins.offsets)
            if wanted.keys() != ends.keys():
                raise ConfigError(
                    f"--from: must name each partition of {NOTES.name} once: 0 to "
                    f"{len(ends) - 1}"
                )
        first = first_offsets(self._admin, NOTES.name, ends)
        return {p: min(max(at, first[p]), ends[p]) for p, at in wanted.items()}

    def _events(self, counts: Mapping[str, int]) -> dict[int, Mapping[str, object]]:
        """Return the events of the plan by partition of `notes`.

        They are the first records of the topic.
        """
        numbers = range(counts[self._audit.name])
        first = first_offsets(self._admin, self._audit.name, numbers)
        ends = end_offsets(self._admin, self._audit.name, numbers)
        # Each transaction ends with a marker, also one that was aborted before.
        ranges = {
            p: (first[p], min(ends[p], first[p] + 2 * self._partitions + 8))
            for p in numbers
        }
        seals = {
            each.key_id: each
            for each in (
                Seals(audit_key(key.value)) for key in self._settings.key_ring()
            )
        }
        found: dict[int, Mapping[str, object]] = {}
        group = f"{self._settings.group}-{RESCRUB}"
        for message in committed_records(
            self._settings, self._audit.name, ranges, group
        ):
            if message is None:
                continue
            record = record_of(message)
            if record.headers.get(OUTCOME) == BEGUN and _is_own(
                self._audit.name, record, seals
            ):
                event = orjson.loads(record.value or b"{}")
                found[int(event["source"]["partition"])] = event
        return found

    def _ends(self, topic: Topic, counts: Mapping[str, int]) -> dict[int, int]:
        """Return the ends of the partitions that hold, or held, committed records."""
        numbers = range(counts[topic.name])
        high = high_watermarks(self._admin, topic.name, numbers)
        reader = GroupOffsets(
            self._settings, f"{self._settings.group}-{RESCRUB}", topic.name
        )
        try:
            return {
                p: end
                for p, end in high.items()
                # Of a beginning that failed there may be aborted records.
                if end and reader.has_records_from({p: 0})
            }
        finally:
            reader.close()

    def _create_topics(self) -> None:
        """Create the topics as those of the live feed are.

        Raises:
            ConfigError: The cluster refuses.
        """
        counts = partition_counts(self._admin)
        new = [
            self._as_live(live, topic, counts[live.name])
            for live, topic in zip(RESCRUBBED, self._topics, strict=True)
            if topic.name not in counts
        ]
        if not new:
            return
        for name, future in self._admin.create_topics(
            new, operation_timeout=30
        ).items():
            try:
                future.result()
            except KafkaException as error:
                cause = error.args[0]
                if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue  # another slot begins the version, too
                if cause.retriable():
                    raise RetriableError(f"{name}: {cause.name()}") from None
                raise ConfigError(
                    f"{name}: the cluster refuses to create it: {cause.name()}; grant "
                    "what phistream topics acls prints for rescrub"
                ) from None
        self._wait_for_leaders([each.topic for each in new])

    def _as_live(self, live: Topic, topic: Topic, partitions: int) -> NewTopic:
        """Return a topic with the settings that the live one has at the broker."""
        resource = ConfigResource(ResourceType.TOPIC, live.name)
        with translated("describe configs"):
            answer = self._admin.describe_configs(
                [resource], request_timeout=CALL_SECONDS
            )
            entries: Mapping[str, ConfigEntry] = answer[resource].result()
            described = self._admin.list_topics(live.name, timeout=CALL_SECONDS)
        own = {
            name: each.value or ""
            for name, each in entries.items()
            if each.source == ConfigSource.DYNAMIC_TOPIC_CONFIG
        }
        replicas = len(described.topics[live.name].partitions[0].replicas)
        return NewTopic(
            topic.name,
            num_partitions=partitions,
            replication_factor=replicas,
            config=topic.config() | own,
        )

    def _wait_for_leaders(self, names: Sequence[str]) -> None:
        """Wait until topics that were just created can be used."""
        deadline = time.monotonic() + LEADER_SECONDS
        for name in names:
            while True:
                count = partition_counts(self._admin).get(name, 0)
                try:
                    if end_offsets(self._admin, name, range(count)):
                        break
                except RetriableError:
                    if time.monotonic() > deadline:
                        raise
                time.sleep(0.1)


def version_ids(settings: Settings, version: str) -> SchemaIds:
    """Return the ids of the schemas of a version's topics: those of the live ones."""
    live = schema_ids(settings, RESCRUBBED)
    return {f"{topic}.{version}": each for topic, each in live.items()}


def _plan_of(version: str, events: Mapping[int, Mapping[str, object]]) -> Plan:
    ranges = {}
    for partition, event in sorted(events.items()):
        source = event["source"]
        first = source["offset"] if isinstance(source, Mapping) else 0
        ranges[partition] = (int(first), int(str(event["until"])))
    any_event = next(iter(events.values()))
    said = {
        name: str(any_event.get(name, ""))
        for name in ("preset", "policy", "preset_version", "policy_version", "model")
    }
    return Plan(version, str(any_event["begins_from"]), Means(**said), ranges)


def _is_own(topic: str, record: Record, seals: Mapping[str, Seals]) -> bool:
    """Return whether a record has a seal of this service."""
    seal = Seal.read(record.headers.get(SEAL, b""))
    if seal is None or seal.key_id not in seals:
        return False
    made = seals[seal.key_id].of_output(
        topic, record.key, record.value, record.headers.items(), seal.input
    )
    return made == seal
