"""The schemas, and whether the newest records of each topic keep them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import orjson
from confluent_kafka import KafkaException, Message, TopicPartition

from schemas import SchemaError
from streams.cluster.client import translated
from streams.cluster.offsets import END_OF_PARTITION, end_offsets
from streams.cluster.topics import (
    DEAD_LETTERS,
    NOTES,
    NOTES_SCRUBBED,
    PATIENTS,
    PHI_AUDIT,
    TOPICS,
    Topic,
)
from streams.events.outputs import SCHEMA, schema_header

from .context import CheckContext
from .finding import Finding, fail, ok, warn

NEWEST = 5
"""Records of a partition that are looked at; a transaction's marker takes one."""
READ_SECONDS = 5.0
CHECKED = (NOTES, PATIENTS, NOTES_SCRUBBED, PHI_AUDIT, DEAD_LETTERS)
OURS = (NOTES_SCRUBBED, PHI_AUDIT, DEAD_LETTERS)


def schemas(_house: CheckContext) -> Iterator[Finding]:
    """Load and compile every schema."""
    for topic in TOPICS:
        topic.schema.compile()
    yield ok(f"compiled: {', '.join(str(topic.schema) for topic in TOPICS)}")


def newest_values(context: CheckContext) -> Iterator[Finding]:
    """Check the newest stable records of each topic; none of them is shown."""
    told = context.broker.metadata.topics
    for topic in CHECKED:
        if topic.name not in told or told[topic.name].error is not None:
            continue
        try:
            messages = newest(context, topic, len(told[topic.name].partitions))
        except KafkaException as error:
            yield warn(f"{topic.name}: can't be read ({error.args[0].name()})",
                       "allow Read on it to who runs the doctor")  # fmt: skip
            continue
        yield judge_values(topic, messages)


def newest(context: CheckContext, topic: Topic, partitions: int) -> list[Message]:
    """Return the newest stable records of a topic, a few of each partition.

    Raises:
        KafkaException: It can't be read.
    """
    ends = end_offsets(context.admin, topic.name, range(partitions))
    left = {p for p, end in ends.items() if end}
    consumer = context.consumer(f"{context.settings.group}-doctor")
    consumer.assign(
        [TopicPartition(topic.name, p, max(0, ends[p] - NEWEST)) for p in left]
    )
    found: list[Message] = []
    deadline = time.monotonic() + READ_SECONDS
    try:
        while left and time.monotonic() < deadline:
            with translated(f"read {topic.name}"):
                messages = consumer.consume(100, timeout=0.2)
            found += [each for each in messages if each.error() is None]
            left -= {each.partition() for each in messages if _is_end(each)}
    finally:
        consumer.close()
    return found


def judge_values(topic: Topic, messages: list[Message]) -> Finding:
    """Return whether records keep their topic's schema; names path and rule alone."""
    for message in messages:
        why = broken_rule(topic, message)
        if not why:
            continue
        seen = f"{topic.name}[{message.partition()}]@{message.offset()}: {why}"
        if topic in OURS:
            return fail(seen, "a bug of ours, or a foreign producer: find out which")
        return warn(seen, f"find who writes {topic.name}; such notes are dead letters")
    return ok(f"{topic.name}: the newest {len(messages)} keep their schema")


def broken_rule(topic: Topic, message: Message) -> str:
    """Return what is wrong with a record; "" if nothing is."""
    value = message.value()
    if value is None:
        return "" if topic is PATIENTS else "a null value"
    mark = dict(message.headers() or []).get(SCHEMA)
    if mark not in (None, schema_header(topic)):
        return "of a version that this phistream does not know"
    try:
        topic.schema.check(orjson.loads(value))
    except orjson.JSONDecodeError:
        return "not JSON"
    except SchemaError as error:
        return str(error)
    return ""


def _is_end(message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() == END_OF_PARTITION:
        return True
    raise KafkaException(error)
