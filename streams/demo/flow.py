"""Wait until the demo's services are done, and summarise their outputs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka import Message, TopicPartition

from streams.engine.errors import FatalError, RetriableError
from streams.kafka.client import (
    admin_client,
    consumer_client,
    header_pairs,
    translated,
    value_of,
)
from streams.kafka.lag import LagReader
from streams.kafka.offsets import end_offsets
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
    Stage,
)
from streams.model.outputs import SOURCE
from streams.operations.settings import Settings

PATIENCE_SECONDS = 600.0


@dataclass(slots=True)
class Example:
    """A note before and after, with the annotations of its audit event."""

    before: str = field(repr=False)
    after: str = field(repr=False)
    annotations: list[dict[str, Any]]
    offsets: list[list[int]]


@dataclass(slots=True)
class Summary:
    """Counts of the outputs, and an example."""

    notes: int = 0
    scrubbed: int = 0
    seconds: float = 0.0
    joins: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[tuple[str, str]] = field(default_factory=Counter)
    example: Example | None = None


@dataclass(frozen=True, slots=True)
class FlowProgress:
    """The offsets committed by both stages, and the ends of what they read."""

    intake_done: int
    intake_all: int
    scrub_done: int
    scrub_all: int


def wait_until_drained(
    settings: Settings,
    check: Callable[[], None],
    show: Callable[[FlowProgress], None],
) -> None:
    """Return when intake and scrub have processed all records.

    Args:
        settings: Where the cluster is.
        check: Raises when a service has ended.
        show: Called a few times a second.

    Raises:
        FatalError: No offset has moved for ten minutes.
    """
    admin = admin_client(settings)
    # Each topic before those that grow while it is processed.
    raw, notes, updates = readers = [
        LagReader(settings, admin, topic.name, f"{settings.group}-{stage}")
        for topic, stage in (
            (HL7_RAW, Stage.INTAKE),
            (NOTES, Stage.SCRUB),
            (PATIENT_UPDATES, Stage.SCRUB),
        )
    ]
    last, since = None, time.monotonic()
    while True:
        check()
        now = last
        with suppress(RetriableError):  # a broker that doesn't answer is asked again
            done, end = _offsets([raw])
            now = FlowProgress(done, end, *_offsets([notes, updates]))
            show(now)
            if all(reader.is_drained(reader.read()) for reader in readers):
                break
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE_SECONDS:
            raise FatalError("no offset has moved for ten minutes; read the logs")
        time.sleep(0.25)
    for reader in readers:
        reader.close()


def _offsets(readers: Iterable[LagReader]) -> tuple[int, int]:
    """Return the sums of committed offsets, and of the ends."""
    lags = [lag for reader in readers for lag in reader.read().values()]
    return sum(lag.committed for lag in lags), sum(lag.stable for lag in lags)


def summarise(settings: Settings) -> Summary:
    """Return the counts of the outputs, read as a `read_committed` subscriber."""
    summary = Summary()
    audits: dict[bytes, list[dict[str, Any]]] = {}
    stamps = []
    for message in read_topic(settings, PHI_AUDIT.name):
        event = orjson.loads(value_of(message) or b"{}")
        if event["outcome"] != "scrubbed" or "format" in event:
            continue
        summary.joins[event["join"]] += 1
        summary.labels.update(each["label"] for each in event["annotations"])
        audits[_source(message)] = event["annotations"]
        stamps.append(message.timestamp()[1])
    for message in read_topic(settings, DEAD_LETTERS.name):
        if message.value() is None:
            continue  # it erases a letter
        letter = orjson.loads(message.value() or b"{}")
        summary.dead_letters[letter["stage"], letter["reason"]] += 1
    scrubbed = {
        _source(message): orjson.loads(value_of(message) or b"{}")
        for message in read_topic(settings, NOTES_SCRUBBED.name)
    }
    summary.scrubbed = len(scrubbed)
    summary.seconds = (max(stamps) - min(stamps)) / 1000 if stamps else 0.0
    chosen = _best_example(audits, scrubbed)
    for message in read_topic(settings, NOTES.name):
        summary.notes += 1
        position = f"{NOTES.name}/{message.partition()}/{message.offset()}".encode()
        if position == chosen:
            note = orjson.loads(message.value() or b"{}")
            after = scrubbed[chosen]
            summary.example = Example(
                note["text"], after["text"], audits[chosen], after["offsets"]
            )
    return summary


def read_topic(settings: Settings, topic: str) -> Iterator[Message]:
    """Yield all stable records of a topic."""
    admin = admin_client(settings)
    ends = end_offsets(admin, topic, range(partition_counts(admin)[topic]))
    left = {p for p, end in ends.items() if end}
    consumer = consumer_client(
        settings,
        **{
            "group.id": f"{settings.group}-demo",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        },
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in sorted(left)])
    try:
        while left:
            with translated("read"):
                messages = consumer.consume(500, timeout=0.1)
            for message in messages:
                if message.error() is None:
                    yield message
                else:
                    left.discard(message.partition() or 0)
    finally:
        consumer.close()


def _best_example(
    audits: dict[bytes, list[dict[str, Any]]], scrubbed: dict[bytes, dict[str, Any]]
) -> bytes | None:
    """Return a note that fits a screen, with fuzzy matches and many labels."""

    def worth(source: bytes) -> tuple[bool, bool, int]:
        annotations = audits[source]
        fits = len(scrubbed[source]["text"]) < 1400
        is_fuzzy = any(each["detector"].endswith("~") for each in annotations)
        return fits, is_fuzzy, len({each["label"] for each in annotations})

    candidates = sorted(source for source in audits if source in scrubbed)
    return max(candidates, key=worth, default=None)


def _source(message: Message) -> bytes:
    raw = dict(header_pairs(message)).get(SOURCE)
    return raw if isinstance(raw, bytes) else b""
