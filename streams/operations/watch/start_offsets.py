"""Start offsets: watch reads nothing older than its longest window."""

from __future__ import annotations

import time
from collections.abc import Iterable

from confluent_kafka import Consumer, TopicPartition

from streams.kafka.client import CALL_SECONDS, CONSUMER, consumer_client, translated
from streams.kafka.topic_admin import require_topics
from streams.operations.counts.windows import DAY
from streams.operations.settings import Settings

MARGIN_SECONDS = 3600


def skip_older_than_a_day(
    settings: Settings, group: str, topics: Iterable[str], *, now: float | None = None
) -> int:
    """Commit an offset a day ago wherever the group's offset is older.

    The audit topic keeps a year; without this, a first start would read all of it.

    Returns:
        The number of partitions whose offset was moved.

    Raises:
        RetriableError: The cluster does not answer.
        ConfigError: A topic is missing.
    """
    at = time.time() if now is None else now
    since_ms = int((at - DAY.seconds - MARGIN_SECONDS) * 1000)
    counts = require_topics(settings, list(topics))
    consumer = consumer_client(settings, **CONSUMER, **{"group.id": group})
    try:
        with translated("offsets"):
            return sum(
                _skip(consumer, topic, range(count), since_ms)
                for topic, count in counts.items()
            )
    finally:
        consumer.close()


def _skip(
    consumer: Consumer, topic: str, partitions: Iterable[int], since_ms: int
) -> int:
    times = [TopicPartition(topic, p, since_ms) for p in partitions]
    targets = consumer.offsets_for_times(times, timeout=CALL_SECONDS)
    committed = consumer.committed(
        [TopicPartition(topic, each.partition) for each in times], timeout=CALL_SECONDS
    )
    moved = []
    for target, current in zip(targets, committed, strict=True):
        offset = target.offset if target.offset >= 0 else _end(consumer, target)
        if current.offset < offset:
            moved.append(TopicPartition(topic, target.partition, offset))
    if moved:
        consumer.commit(offsets=moved, asynchronous=False)
    return len(moved)


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    where = TopicPartition(partition.topic, partition.partition)
    _low, high = consumer.get_watermark_offsets(where, timeout=CALL_SECONDS)
    return int(high)
