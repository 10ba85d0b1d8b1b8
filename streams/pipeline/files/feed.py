"""Publishes messages and patient updates, as systems of the hospital would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message, Producer

from streams.engine.character_sets import UTF_8
from streams.engine.errors import FatalError, InvalidRecord
from streams.formats.hl7.sender import sender_key
from streams.formats.json_map import JsonMap
from streams.kafka.client import PRODUCER, producer_client
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import HL7_RAW, Topic

from .json_notes import for_topic
from .sources import SourceRecord

FLUSH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A record to publish."""

    value: bytes | None = field(repr=False)
    key: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def raw_messages(
    records: Iterable[SourceRecord],
    refused: Callable[[str], None],
    json_map: JsonMap | None = None,
    *,
    by_sender: bool = False,
    any_json: bool = False,
    charset: str = UTF_8,
) -> Iterator[RawMessage]:
    """Yield the records of files as messages; the key is the file, to keep their order.

    Args:
        records: JSON notes in short form become note events.
        refused: Called with place and reason of each JSON note that is not published.
        json_map: How JSON of other forms becomes note events.
        by_sender: The key of an HL7 message is its sender: the order is then kept for
            each sender, and intake can find repeated messages.
        any_json: See `for_topic`.
        charset: The codec of messages that name none, and are not UTF-8.
    """
    for each in records:
        try:
            value = for_topic(each.value, json_map, any_json=any_json)
        except InvalidRecord as error:
            refused(f"{each.origin} record {each.ordinal + 1}: {error.reason}")
        else:
            sender = sender_key(value, charset) if by_sender else None
            yield RawMessage(value, sender or str(each.origin).encode())


def feed(
    settings: KafkaSettings,
    messages: Iterable[RawMessage],
    *,
    topic: Topic = HL7_RAW,
    progress: Callable[[int], None] = lambda _count: None,
) -> int:
    """Publish messages in order; return the number that the cluster has confirmed.

    Raises:
        FatalError: A message was not confirmed, e.g. because it is too large.
    """
    failures: list[str] = []
    producer = producer_client(
        settings, **PRODUCER, **{"enable.idempotence": True, "linger.ms": 20}
    )

    def confirm(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error.name())

    count = 0
    for count, message in enumerate(messages, start=1):
        _produce(producer, topic, message, confirm)
        if count % 100 == 0:
            progress(count)
    left = producer.flush(FLUSH_SECONDS)
    if failures or left:
        raise FatalError(
            f"{topic.name}: {len(failures) + left} of {count} messages were not "
            f"confirmed ({', '.join(sorted(set(failures))) or 'time ran out'}); "
            "feed them again"
        )
    progress(count)
    return count


def _produce(
    producer: Producer,
    topic: Topic,
    message: RawMessage,
    confirm: Callable[[KafkaError | None, Message], None],
) -> None:
    while True:
        try:
            producer.produce(
                topic.name,
                value=message.value,
                key=message.key,
                headers=list(message.headers.items()),
                on_delivery=confirm,
            )
        except BufferError:
            producer.poll(0.2)
        else:
            producer.poll(0)
            return
