"""The broker's clock, compared with the local one.

Kafka has no call that returns the time.  The group coordinator stamps every committed
offset with its own clock, and the timestamp can be read in ``__consumer_offsets``: the
check commits an offset for a group of its own, reads the timestamp, and deletes the
group.  The timestamp must lie between the times before and after the call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import KafkaException, TopicPartition

from streams.kafka.client import translated
from streams.kafka.offsets import end_offsets
from streams.kafka.topics import NOTES_SCRUBBED

from .context import TIMEOUT_SECONDS, CheckContext
from .finding import Finding, fail, ok, warn

OFFSETS = "__consumer_offsets"
WARN_SECONDS, FAIL_SECONDS = 2.0, 600.0
"""Lag and latency become wrong; an hour ahead, the broker rejects records
(``log.message.timestamp.after.max.ms``)."""


def clocks(context: CheckContext) -> Iterator[Finding]:
    """Compare the coordinator's clock with the local one."""
    partitions = context.partitions(OFFSETS)
    if not partitions:
        # Kafka creates it with the first group.
        yield warn("unknown: no group has committed yet", "check again later")
        return
    try:
        before, timestamp, after = timestamps(context, partitions)
    except KafkaException as error:
        yield warn(f"unknown: {error.args[0].name()}",
                   f"allow Read on {OFFSETS} to this principal")  # fmt: skip
        return
    yield judge_clock(before, timestamp, after)


def judge_clock(before: float, timestamp: float | None, after: float) -> Finding:
    """Check the difference of the clocks.

    Args:
        before: The local time before the call, seconds since 1970.
        timestamp: The broker's time; None if unknown.
        after: The local time after the call.
    """
    if timestamp is None:
        return warn("the broker's time is unknown", "check again later")
    off = max(before - timestamp, timestamp - after, 0.0)
    word = "ahead of" if timestamp > after else "behind"
    if off < WARN_SECONDS:
        return ok(f"the clocks agree within {max(off, after - before):.1f} s")
    todo = "synchronise both clocks by NTP"
    seen = f"the broker's clock is {off:,.0f} s {word} the local one"
    return fail(seen, todo) if off >= FAIL_SECONDS else warn(seen, todo)


def timestamps(
    context: CheckContext, partitions: int
) -> tuple[float, float | None, float]:
    """Return the local time before, the broker's time, and the local time after.

    Raises:
        KafkaException: The broker denied it.
    """
    group = f"{context.settings.group}-doctor"
    ends = end_offsets(context.admin, OFFSETS, range(partitions))
    consumer = context.consumer(group)
    try:
        before = context.clock()
        consumer.commit(
            offsets=[TopicPartition(NOTES_SCRUBBED.name, 0, 0)], asynchronous=False
        )
        after = context.clock()
        return before, _timestamp(context, group, ends), after
    finally:
        consumer.close()
        for future in context.admin.delete_consumer_groups([group]).values():
            future.exception(TIMEOUT_SECONDS)


def _timestamp(
    context: CheckContext, group: str, ends: Mapping[int, int]
) -> float | None:
    reader = context.consumer(f"{group}-reader")
    reader.assign([TopicPartition(OFFSETS, p, end) for p, end in ends.items()])
    deadline = time.monotonic() + TIMEOUT_SECONDS
    try:
        while time.monotonic() < deadline:
            with translated(f"read {OFFSETS}"):
                message = reader.poll(0.2)
            key = None if message is None or message.error() else message.key()
            if isinstance(key, bytes) and group.encode() in key and message is not None:
                return message.timestamp()[1] / 1000
    finally:
        reader.close()
    return None
