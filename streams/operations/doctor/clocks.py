"""The broker's clock against ours.

Kafka has no call that tells the time.  But the group coordinator stamps every committed
offset with its own clock, and the stamp can be read in ``__consumer_offsets``: the
doctor commits an offset for a group of its own, reads the stamp, and deletes the group.
The stamp must lie between the moments before and after the call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import KafkaException, TopicPartition

from streams.cluster.client import translated
from streams.cluster.offsets import end_offsets
from streams.cluster.topics import NOTES_SCRUBBED

from .context import ANSWER_SECONDS, CheckContext
from .finding import Finding, fail, ok, warn

OFFSETS = "__consumer_offsets"
NOTICEABLE, GRAVE = 2.0, 600.0
"""Seconds: lag and latency are told wrongly; an hour ahead, and records are refused
(``log.message.timestamp.after.max.ms``)."""


def clocks(context: CheckContext) -> Iterator[Finding]:
    """Ask the coordinator for the time."""
    told = context.broker.metadata.topics.get(OFFSETS)
    if told is None or told.error is not None:
        # It is made with the first group; `groups` says so if there is none.
        yield warn("not seen: no group has committed yet", "look again later")
        return
    try:
        before, stamp, after = stamps(context, len(told.partitions))
    except KafkaException as error:
        yield warn(f"not seen: {error.args[0].name()}",
                   f"allow Read on {OFFSETS} to who runs the doctor")  # fmt: skip
        return
    yield judge_clock(before, stamp, after)


def judge_clock(before: float, stamp: float | None, after: float) -> Finding:
    """Return how far the broker's clock is from ours.

    Args:
        before: Our clock before the broker was asked, seconds since 1970.
        stamp: The broker's; None if it was not seen.
        after: Ours when it had answered.
    """
    if stamp is None:
        return warn("the broker's time was not seen", "look again later")
    off = max(before - stamp, stamp - after, 0.0)
    word = "ahead of" if stamp > after else "behind"
    if off < NOTICEABLE:
        return ok(
            f"the broker's clock is ours, within {max(off, after - before):.1f} s"
        )
    todo = "set both clocks by NTP"
    said = f"the broker's clock is {off:,.0f} s {word} ours"
    return fail(said, todo) if off >= GRAVE else warn(said, todo)


def stamps(context: CheckContext, partitions: int) -> tuple[float, float | None, float]:
    """Return our time before, the broker's, and ours after.

    Raises:
        KafkaException: The broker does not allow it.
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
        return before, _stamp(context, group, ends), after
    finally:
        consumer.close()
        for future in context.admin.delete_consumer_groups([group]).values():
            future.exception(ANSWER_SECONDS)


def _stamp(context: CheckContext, group: str, ends: Mapping[int, int]) -> float | None:
    reader = context.consumer(f"{group}-reader")
    reader.assign([TopicPartition(OFFSETS, p, end) for p, end in ends.items()])
    deadline = time.monotonic() + ANSWER_SECONDS
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
