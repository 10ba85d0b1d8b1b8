"""Checks of the schemas, and of the newest records against them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import orjson
from confluent_kafka import KafkaException, Message, TopicPartition

from schemas import SchemaError
from streams.kafka.client import header_pairs, translated, value_of
from streams.kafka.offsets import END_OF_PARTITION, end_offsets
from streams.kafka.topics import (
    DEAD_LETTERS,
    MESSAGES_SEEN,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    TOPICS,
    Topic,
)
from streams.kafka.wire_format import split
from streams.model.outputs import ERASED, OUTCOME, SCHEMA, schema_header

from .context import CheckContext
from .finding import Finding, fail, ok, warn

NEWEST = 5
"""Offsets of a partition that are checked, transaction markers included."""
READ_SECONDS = 5.0
CHECKED = (
    MESSAGES_SEEN,
    NOTES,
    PATIENT_UPDATES,
    PATIENTS,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PHI_AUDIT,
    DEAD_LETTERS,
)
ERASABLE = (PATIENT_UPDATES, PATIENTS, NOTES_HELD, MESSAGES_SEEN, DEAD_LETTERS)
"""A null value erases a patient, a letter, or a row that is needed no more."""
OURS = (NOTES_SCRUBBED, PHI_AUDIT, DEAD_LETTERS)


def schemas(_house: CheckContext) -> Iterator[Finding]:
    """Load and compile every schema."""
    of_json = [topic for topic in TOPICS if topic.schema_version]
    for topic in of_json:
        topic.schema.compile()
    yield ok(f"compiled: {', '.join(str(topic.schema) for topic in of_json)}")


def newest_values(context: CheckContext) -> Iterator[Finding]:
    """Check the newest committed records of each topic; none of them is shown."""
    for topic in CHECKED:
        if not context.partitions(topic.name):
            continue
        try:
            messages = newest(context, topic)
        except KafkaException as error:
            yield warn(f"{topic.name}: can't be read ({error.args[0].name()})",
                       "allow Read on it to this principal")  # fmt: skip
            continue
        yield judge_values(topic, messages)


def newest(context: CheckContext, topic: Topic) -> list[Message]:
    """Return the newest committed records of a topic, a few from each partition.

    Raises:
        KafkaException: The topic is not readable.
    """
    ends = end_offsets(context.admin, topic.name, range(context.partitions(topic.name)))
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
    """Check records against their schema; a finding names only path and rule."""
    for message in messages:
        why = broken_rule(topic, message)
        if not why:
            continue
        seen = f"{topic.name}[{message.partition()}]@{message.offset()}: {why}"
        if topic in OURS:
            return fail(
                seen, "a bug in phistream, or a foreign producer: find out which"
            )
        return warn(
            seen, f"find the producer of {topic.name}; such records become dead letters"
        )
    return ok(f"{topic.name}: the newest {len(messages)} are valid")


def broken_rule(topic: Topic, message: Message) -> str:
    """Return the rule that a record breaks; "" if it is valid."""
    value = value_of(message)
    headers = dict(header_pairs(message))
    if value is None:
        erases = topic in ERASABLE or headers.get(OUTCOME) == ERASED
        return "" if erases else "a null value"
    version = headers.get(SCHEMA)
    if version not in (None, schema_header(topic)):
        return "a version unknown to this phistream"
    try:
        # Of patient.updates the worker judges the id, and whether there may be one.
        body = split(value)[1] if topic == PATIENT_UPDATES else value
        topic.schema.check(orjson.loads(body))
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
