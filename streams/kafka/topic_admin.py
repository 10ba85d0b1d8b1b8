"""The topics at the cluster: made, counted, and compared with their declarations.

``phistream topics create`` makes them, and workers check them when they start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from streams.engine.errors import ConfigError, RetriableError

from .client import CALL_SECONDS, admin_client, translated
from .settings import KafkaSettings
from .topics import ALL_TOPICS, Topic

TO_HAVE_THEM = (
    "run: phistream topics create, or grant what phistream topics acls prints"
)
"""The next action where topics are missing, or hidden by access control lists."""


def create_topics(settings: KafkaSettings) -> list[str]:
    """Create the missing topics; return their names.

    Raises:
        RetriableError: The cluster did not answer.
        ConfigError: The cluster refuses, e.g. replication above the number of brokers.
    """
    admin = admin_client(settings)
    counts = partition_counts(admin)
    wanted = [
        NewTopic(
            topic.name,
            num_partitions=counts.get(topic.copartitioned_with, settings.partitions),
            replication_factor=settings.replication,
            config=topic.config(),
        )
        for topic in ALL_TOPICS
    ]
    created = []
    for name, future in admin.create_topics(wanted, operation_timeout=30).items():
        try:
            future.result()
            created.append(name)
        except KafkaException as error:
            _accept_existing(name, error)
    return created


def check_topics(settings: KafkaSettings) -> list[str]:
    """Return how the cluster's topics differ from their declaration."""
    admin = admin_client(settings)
    counts = partition_counts(admin)
    problems = [
        f"{topic.name}: missing; run: phistream topics create"
        for topic in ALL_TOPICS
        if topic.name not in counts
    ]
    problems += _copartition_problems(counts, ALL_TOPICS)
    present = [topic for topic in ALL_TOPICS if topic.name in counts]
    return problems + _config_problems(admin, present)


def require_topics(settings: KafkaSettings, names: Sequence[str]) -> Mapping[str, int]:
    """Return the partition counts of ``names``.

    Raises:
        ConfigError: A topic is missing, or partition counts differ that must be equal.
    """
    counts = partition_counts(admin_client(settings))
    missing = [name for name in names if name not in counts]
    if missing:
        raise ConfigError(
            "topics missing, or hidden from this user: "
            f"{', '.join(missing)}; {TO_HAVE_THEM}"
        )
    required = [topic for topic in ALL_TOPICS if topic.name in names]
    problems = _copartition_problems(counts, required)
    if problems:
        raise ConfigError("; ".join(problems))
    return {name: counts[name] for name in names}


def partition_counts(admin: AdminClient, *, seconds: float = 10) -> dict[str, int]:
    """Return the number of partitions of every topic of the cluster.

    Raises:
        RetriableError: The cluster did not answer.
    """
    try:
        metadata = admin.list_topics(timeout=seconds)
    except KafkaException as error:
        raise RetriableError(f"topics: the cluster did not answer: {error}") from None
    return {
        name: len(topic.partitions)
        for name, topic in metadata.topics.items()
        if topic.error is None
    }


def _copartition_problems(
    counts: Mapping[str, int], topics: Sequence[Topic]
) -> list[str]:
    problems = []
    for topic in topics:
        own, other = counts.get(topic.name), counts.get(topic.copartitioned_with)
        if own is not None and other is not None and own != other:
            problems.append(
                f"{topic.name} has {own} partitions and {topic.copartitioned_with} "
                f"has {other}: both need the same count"
            )
    return problems


def topic_settings(
    admin: AdminClient, names: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Return the settings of topics at the broker, by topic.

    Raises:
        RetriableError: The cluster did not answer.
    """
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    if not resources:
        return {}
    with translated("describe configs"):
        return {
            resource.name: {key: each.value for key, each in future.result().items()}
            for resource, future in admin.describe_configs(
                resources, request_timeout=CALL_SECONDS
            ).items()
        }


def _config_problems(admin: AdminClient, topics: Sequence[Topic]) -> list[str]:
    wanted = {topic.name: topic.config() for topic in topics}
    return [
        f"{name}: {key} is {actual[key]}, declared {wanted[name][key]}"
        for name, actual in topic_settings(admin, wanted).items()
        for key in wanted[name]
        if actual[key] != wanted[name][key]
    ]


def _accept_existing(name: str, error: KafkaException) -> None:
    cause = error.args[0]
    if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
        return
    if cause.retriable():
        raise RetriableError(f"{name}: not created: {cause.str()}") from None
    raise ConfigError(f"{name}: the cluster refuses it: {cause.str()}") from None
