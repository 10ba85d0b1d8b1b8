"""Checks of the topics: present, co-partitioned, configured, replicated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka.admin import ConfigResource, ResourceType, TopicMetadata

from streams.kafka.client import translated
from streams.kafka.topic_admin import TO_HAVE_THEM
from streams.kafka.topics import (
    ALL_TOPICS,
    DEAD_LETTERS,
    LETTERS_COME_FROM,
    MESSAGES_SEEN,
    NOTES,
    TOPICS,
    WATCH_TOPICS,
    Topic,
)

from .context import TIMEOUT_SECONDS, CheckContext
from .finding import Finding, fail, ok, warn

CREATE = "run: phistream topics create"
INTERNAL = ("__consumer_offsets", "__transaction_state")
MIN_COPIES = 3
RETENTION = "retention.ms"


@dataclass(frozen=True, slots=True)
class SeenTopic:
    """A topic as the cluster reports it.

    Args:
        partitions: Their number.
        copies: Replicas of the partition with the fewest.
        behind: Partitions whose replicas are not all in sync.
        leaderless: Partitions without a leader.
        config: Its settings at the broker.
    """

    partitions: int
    copies: int
    behind: int = 0
    leaderless: int = 0
    config: Mapping[str, str] = field(default_factory=dict)


def topics(context: CheckContext) -> Iterator[Finding]:
    """Compare every topic with its declaration."""
    metadata = context.broker.metadata
    present = [topic for topic in ALL_TOPICS if context.partitions(topic.name)]
    configs = _configs(context, [topic.name for topic in present])
    seen = {t.name: _seen(metadata.topics[t.name], configs[t.name]) for t in present}
    findings = [*judge_presence(seen), *judge_counts(seen)]
    for topic in present:
        findings += judge_topic(topic, seen[topic.name])
    findings += judge_dead_letters(seen)
    yield from findings
    if not findings:
        count = seen[NOTES.name].partitions
        yield ok(f"all {len(ALL_TOPICS)} as declared; {count} partitions of notes")
    yield from judge_copies(seen, len(metadata.brokers))


def internal_topics(context: CheckContext) -> Iterator[Finding]:
    """Check the topics in which Kafka keeps offsets and transactions."""
    metadata = context.broker.metadata
    present = [name for name in INTERNAL if context.partitions(name)]
    findings = [
        *judge_copies(
            {name: _seen(metadata.topics[name], {}) for name in present},
            len(metadata.brokers),
        )
    ]
    # Kafka creates them on first use, and may hide them.
    yield from findings or [ok(", ".join(present) or "not created yet, or hidden")]


def judge_presence(seen: Mapping[str, SeenTopic]) -> Iterator[Finding]:
    """Check that no topic is missing."""
    missing = [topic.name for topic in ALL_TOPICS if topic.name not in seen]
    needed = [topic.name for topic in TOPICS if topic.name in missing]
    if needed:
        yield fail(f"missing, or hidden: {', '.join(needed)}", TO_HAVE_THEM)
    elif missing:
        yield warn(f"missing, needed by watch: {', '.join(missing)}", TO_HAVE_THEM)


def judge_counts(seen: Mapping[str, SeenTopic]) -> Iterator[Finding]:
    """Check that topics have as many partitions as those they depend on."""
    counts = {name: each.partitions for name, each in seen.items()}
    for topic in ALL_TOPICS:
        own, other = counts.get(topic.name), counts.get(topic.copartitioned_with)
        if None in (own, other) or own == other:
            continue
        differ = (
            f"{topic.name} has {own} partitions and {topic.copartitioned_with} {other}"
        )
        if topic in WATCH_TOPICS:
            yield fail(
                f"{differ}: watch refuses to start",
                f"delete {topic.name}, then {CREATE}; watch counts again",
            )
        elif topic is MESSAGES_SEEN:
            yield warn(
                f"{differ}: with repeated_seconds intake refuses to start",
                f"delete {topic.name}, then {CREATE}; it is filled again",
            )
        else:
            yield fail(
                f"{differ}: notes would miss their patients",
                "recreate both with the same count; adding partitions later moves keys",
            )


def judge_topic(topic: Topic, seen: SeenTopic) -> Iterator[Finding]:
    """Compare a topic's settings with its declaration."""
    yield from _judge_cleanup(topic, seen.config)
    size = seen.config.get("max.message.bytes", "")
    if size and int(size) < topic.max_message_bytes:
        yield fail(
            f"{topic.name}: max.message.bytes {size}, declared "
            f"{topic.max_message_bytes}: a large record would stop the stage",
            _alter(topic, "max.message.bytes", str(topic.max_message_bytes)),
        )


def judge_dead_letters(seen: Mapping[str, SeenTopic]) -> Iterator[Finding]:
    """Check that a record is not kept longer as a dead letter than where it was."""
    kept = {
        name: int(seen[name].config[RETENTION])
        for name in (DEAD_LETTERS.name, *(each.name for each in LETTERS_COME_FROM))
        if name in seen and RETENTION in seen[name].config
    }
    own = kept.pop(DEAD_LETTERS.name, None)
    limited = {name: ms for name, ms in kept.items() if ms >= 0}
    if own is None or not limited:
        return
    shortest = min(limited, key=lambda name: limited[name])
    if own < 0 or own > limited[shortest]:
        yield fail(
            f"{DEAD_LETTERS.name} keeps records longer than {shortest}: {RETENTION} is "
            f"{own}, there {limited[shortest]}",
            _alter(DEAD_LETTERS, RETENTION, str(limited[shortest])),
        )


def judge_copies(seen: Mapping[str, SeenTopic], nodes: int) -> Iterator[Finding]:
    """Check that topics can be written, and survive the loss of a broker."""
    for is_bad, level, what, todo in (
        (_is_leaderless, fail, "a partition has no leader", "bring its brokers back"),
        (
            _is_blocked,
            fail,
            "fewer copies than min.insync.replicas: not writable",
            "lower min.insync.replicas, or add copies",
        ),
        (_is_behind, warn, "copies are not in sync", "check the brokers"),
        (
            _is_fragile,
            warn,
            "min.insync.replicas 1: the loss of a broker can lose records",
            "set min.insync.replicas=2 on them",
        ),
    ):
        names = [name for name, each in seen.items() if is_bad(each)]
        if names:
            yield level(f"{', '.join(names)}: {what}", todo)
    few = [name for name, each in seen.items() if each.copies < MIN_COPIES]
    if few:
        yield warn(
            f"{', '.join(few)}: fewer than {MIN_COPIES} copies, on {nodes} "
            f"{'broker' if nodes == 1 else 'brokers'}",
            "sufficient for a trial; use three brokers and three copies for real notes",
        )


def _is_leaderless(seen: SeenTopic) -> bool:
    return seen.leaderless > 0


def _is_blocked(seen: SeenTopic) -> bool:
    return _insync(seen) > seen.copies


def _is_behind(seen: SeenTopic) -> bool:
    return seen.behind > 0


def _is_fragile(seen: SeenTopic) -> bool:
    return bool(seen.config) and seen.copies > 1 and _insync(seen) < 2


def _insync(seen: SeenTopic) -> int:
    return int(seen.config.get("min.insync.replicas") or 1)


def _judge_cleanup(topic: Topic, config: Mapping[str, str]) -> Iterator[Finding]:
    for key, declared in topic.config().items():
        value = config.get(key)
        if value in (None, declared) or key == "max.message.bytes":
            continue
        seen = f"{topic.name}: {key} is {value}, declared {declared}"
        todo = _alter(topic, key, declared)
        # Another policy drops patients, or keeps only one note of each.
        is_severe = key in ("cleanup.policy", "delete.retention.ms")
        yield fail(seen, todo) if is_severe else warn(seen, f"unless intended: {todo}")


def _alter(topic: Topic, key: str, value: str) -> str:
    return (
        f"kafka-configs --alter --entity-type topics --entity-name {topic.name} "
        f"--add-config {key}={value}"
    )


def _seen(metadata: TopicMetadata, config: Mapping[str, str]) -> SeenTopic:
    parts = metadata.partitions.values()
    return SeenTopic(
        partitions=len(parts),
        copies=min((len(each.replicas) for each in parts), default=0),
        behind=sum(len(each.isrs) < len(each.replicas) for each in parts),
        leaderless=sum(each.leader < 0 for each in parts),
        config=config,
    )


def _configs(context: CheckContext, names: Sequence[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    with translated("describe topics' settings"):
        return {
            resource.name: {
                key: entry.value or ""
                for key, entry in future.result(TIMEOUT_SECONDS).items()
            }
            for resource, future in context.admin.describe_configs(resources).items()
        }
