"""Read the committed records of a topic once, up to what is in it now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Literal

from confluent_kafka import Message, TopicPartition

from streams.engine.errors import RetriableError

from .client import CONSUMER, consumer_client, translated
from .offsets import END_OF_PARTITION
from .settings import KafkaSettings

SILENT_SECONDS = 30.0


def committed_records(
    settings: KafkaSettings,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    group: str,
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    silent_seconds: float = SILENT_SECONDS,
) -> Iterator[Message | None]:
    """Yield the committed records of a topic, each partition in order.

    The consumer joins no group and commits nothing.  None says that a while has passed.

    Args:
        settings: Connection settings.
        topic: Its name.
        ranges: By partition, the first offset and the one to stop before.
        group: Named in the broker's log, and in its access rules.
        isolation: Whether records of aborted and open transactions are left out.
        silent_seconds: How long the cluster may not answer.

    Raises:
        RetriableError: The cluster does not answer.
    """
    left = {p for p, (first, end) in ranges.items() if end > first}
    properties = {
        **CONSUMER,
        "group.id": group,
        "enable.partition.eof": True,
        "isolation.level": isolation,
    }
    consumer = consumer_client(settings, **properties)
    try:
        with translated("read"):
            consumer.assign([TopicPartition(topic, p, ranges[p][0]) for p in left])
        silent_since = time.monotonic()
        while left:
            with translated("read"):
                messages = consumer.consume(1000, timeout=0.2)
            if any(_is_answer(message) for message in messages):
                silent_since = time.monotonic()
            elif time.monotonic() - silent_since > silent_seconds:
                raise RetriableError(f"{topic}: no answer for {silent_seconds:.0f} s")
            for message in messages:
                partition, offset = message.partition() or 0, message.offset() or 0
                _first, end = ranges[partition]
                is_record = message.error() is None
                if is_record and offset < end:
                    yield message
                # A partition may end with markers: then only an EOF event arrives.
                if offset + is_record >= end:
                    left.discard(partition)
            yield None
    finally:
        consumer.close()


def _is_answer(message: Message) -> bool:
    error = message.error()
    return error is None or error.code() == END_OF_PARTITION
