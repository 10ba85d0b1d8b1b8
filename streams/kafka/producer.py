"""The transactional producer of a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from streams.engine.errors import RetriableError
from streams.engine.records import NO_TIMESTAMP, CommittedOffset, Output, Partition

from .client import (
    CALL_SECONDS,
    PRODUCER,
    log_error,
    position_of,
    producer_client,
    transactional,
    translated,
)
from .partitioner import partition_of
from .settings import KafkaSettings
from .wire_format import SchemaIds, WireFormat

HANGS_SECONDS = CALL_SECONDS + 10
"""After which a call of the client that has a time limit does not return any more."""
STAMPED_NOW = 0
"""The timestamp that librdkafka replaces by the time of the call."""


def _as_long_as_it_takes(_seconds: float) -> AbstractContextManager[None]:
    return nullcontext()


class KafkaProducer:
    """A transactional producer under a stable id, which can be renewed.

    Args:
        settings: Address of the cluster, and time limits.
        transactional_id: Stable per slot, so that a restart aborts the transaction of
            the previous process at once.
        schema_ids: Of the topics whose JSON gets the wire format of a schema registry.
        within: Ends the process if its block takes longer than so many seconds.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        transactional_id: str,
        schema_ids: SchemaIds | None = None,
        *,
        within: Callable[[float], AbstractContextManager[None]] = _as_long_as_it_takes,
    ) -> None:
        self._within = within
        # Longer than that its broker does not keep a transaction open.
        longest = min(settings.transaction_seconds, settings.poll_seconds / 2)
        self._commit_seconds = max(CALL_SECONDS, longest)
        self._client = partial(_client, settings, transactional_id)
        self._wire_format = WireFormat(schema_ids or {})
        self._written: dict[Partition, int] = {}
        self._counts: dict[str, int] = {}
        self._producer = self._new()

    def renew(self) -> None:
        """Replace the producer; the new one's init fences the old one's transaction."""
        self._producer = self._new()

    def begin(self) -> None:
        """Open a transaction."""
        self._written.clear()
        with transactional("begin"):
            self._producer.begin_transaction()

    def produce(self, output: Output) -> None:
        """Add a record to the open transaction."""
        value = self._wire_format.value_of(output)
        placed: dict[str, Any] = {}
        if output.partition is not None:
            placed = {"partition": output.partition, "on_delivery": self._delivered}
        elif output.grouped_by is not None:
            count = self._partitions(output.topic)
            placed = {"partition": partition_of(output.grouped_by, count)}
        while True:
            try:
                with transactional("produce"):
                    self._producer.produce(
                        output.topic,
                        value=value,
                        key=output.key,
                        headers=list(output.headers.items()),
                        timestamp=NO_TIMESTAMP if output.timeless else STAMPED_NOW,
                        **placed,
                    )
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def send_offsets(
        self, offsets: Mapping[Partition, CommittedOffset], group: object
    ) -> None:
        """Add the consumer's progress to the open transaction."""
        positions = [position_of(*committed) for committed in offsets.items()]
        # librdkafka ignores the limit while the group's coordinator is away, and may
        # wait for ever after that (its issues 5456 and 5511).
        with self._within(HANGS_SECONDS), transactional("send_offsets"):
            self._producer.send_offsets_to_transaction(positions, group, CALL_SECONDS)

    def commit(self) -> Mapping[Partition, int]:
        """Make the transaction visible.

        It is tried as long as the transaction may be open: to give it up earlier, and
        abort it, may end one that is committed in part (decision 29).

        Returns:
            The offset after the last record of each changelog's partition.
        """
        with transactional("commit"):
            # Delivers all records first, and calls back for those of changelogs.
            self._producer.commit_transaction(self._commit_seconds)
        return dict(self._written)

    def abort(self) -> None:
        """Discard the open transaction."""
        with transactional("abort"):
            self._producer.abort_transaction(CALL_SECONDS)

    def _partitions(self, topic: str) -> int:
        if topic not in self._counts:
            with translated(f"look up {topic}"):
                topics = self._producer.list_topics(topic, CALL_SECONDS).topics
            partitions = topics[topic].partitions
            if not partitions:
                raise RetriableError(f"{topic}: missing, or hidden from this user")
            self._counts[topic] = len(partitions)
        return self._counts[topic]

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partition = Partition(message.topic() or "", message.partition() or 0)
            after = (message.offset() or 0) + 1
            self._written[partition] = max(after, self._written.get(partition, 0))

    def _new(self) -> Producer:
        producer = self._client()
        with transactional("init"):
            producer.init_transactions(CALL_SECONDS)
        return producer


def check_producer(settings: KafkaSettings) -> None:
    """Check that a worker's producer can be had with the settings.

    Raises:
        ConfigError: Properties are wrong, or do not go with one another.
    """
    _client(settings, f"{settings.group}-check")


def _client(settings: KafkaSettings, transactional_id: str) -> Producer:
    return producer_client(
        settings,
        **PRODUCER,
        **{
            "transactional.id": transactional_id,
            "transaction.timeout.ms": int(settings.transaction_seconds * 1000),
        },
        error_cb=log_error,
    )
