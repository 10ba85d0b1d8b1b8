"""Clients of the cluster: consumer, transactional producer, admin; and their errors.

librdkafka's errors are translated here, by their flags and never by their names:
``fatal()`` means that the client is spent, ``txn_requires_abort()`` that the
transaction is.  Any other failure of a transactional call has an unknown outcome.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from ..engine.errors import (
    BrokerUnreachable,
    Fenced,
    RetriableError,
    StreamError,
    UnknownOutcome,
)
from ..engine.observer import PartitionListener
from ..engine.records import NO_TIMESTAMP, CommittedOffset, Output, Partition, Record
from ..engine.settings import Settings

log = logging.getLogger(__name__)

CALL_SECONDS = 15.0
IDLE_SECONDS = 0.1
STAMPED_NOW = 0
"""The timestamp that librdkafka replaces by the time of the call."""

PRODUCER = {
    # The default of Java, Connect and Faust; a join by partition needs the same one.
    "partitioner": "murmur2_random",
    # librdkafka waits so long while the markers of the last transaction are written.
    "retry.backoff.ms": 1,
    "compression.type": "lz4",
    "message.max.bytes": 64 * 1024 * 1024,
    "log.connection.close": False,
}
CONSUMER = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    # Keeps a fetch from waiting at the broker; not measured separately.
    "fetch.wait.max.ms": 10,
    "log.connection.close": False,
}


class KafkaConsumer:
    """A member of a group on one topic, whose partitions start paused.

    Args:
        settings: Address of the cluster, and time limits.
        topic: The topic to read.
        group: The consumer group.
        member: Stable per slot: a worker that restarts within the session timeout gets
            its partitions back at once, without a rebalance (KIP-345).
        listener: Called with assigned and revoked partitions.
        release: Called with partitions that are about to be handed over in order.
    """

    def __init__(
        self,
        settings: Settings,
        topic: str,
        *,
        group: str,
        member: str,
        listener: PartitionListener,
        release: Callable[[Sequence[int]], None] = lambda _partitions: None,
    ) -> None:
        self._topic = topic
        self._listener = listener
        self._release = release
        self._max_bytes = settings.batch_bytes
        self._assigned: set[int] = set()
        self._paused: set[int] = set()
        self._revoked_in_poll: set[int] = set()
        self._consumer = Consumer(
            settings.client(
                **CONSUMER,
                **{
                    "group.id": group,
                    "group.instance.id": member,
                    "partition.assignment.strategy": "cooperative-sticky",
                    "session.timeout.ms": int(settings.session_seconds * 1000),
                    "max.poll.interval.ms": int(settings.poll_seconds * 1000),
                },
                error_cb=_log_error,
            ),
            logger=log,
        )
        self._consumer.subscribe(
            [topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def poll(self, max_records: int, seconds: float) -> list[Record]:
        """Return up to ``max_records`` of the assigned partitions.

        Records that arrived while the last batch was processed are returned at once;
        after the first record the batch waits for ``seconds`` for more.  The record
        that brings it to `batch_bytes` is its last.
        """
        self._revoked_in_poll.clear()
        with translated("poll"):
            messages = self._messages(max_records, seconds)
        records = [record_of(message) for message in messages if not _is_error(message)]
        if not self._revoked_in_poll:
            return records
        return [r for r in records if r.partition.index not in self._revoked_in_poll]

    def resume(self, partitions: Iterable[int]) -> None:
        """Deliver the records of these partitions from now on."""
        ours = self._ours(partitions)
        if ours:
            self._consumer.resume(ours)
            self._paused.difference_update(p.partition for p in ours)

    def pause(self, partitions: Iterable[int]) -> None:
        """Hold back the records of these partitions until they are resumed."""
        ours = self._ours(partitions)
        if ours:
            self._consumer.pause(ours)
            self._paused.update(p.partition for p in ours)

    @property
    def paused(self) -> frozenset[int]:
        """The partitions whose records are held back."""
        return frozenset(self._paused)

    def rewind(self) -> Mapping[int, CommittedOffset]:
        """Go back to the committed offsets, and return them by partition.

        Aborting a transaction does not move the consumer's position.
        """
        committed = self.committed(sorted(self._assigned))
        for partition, each in committed.items():
            self._seek(TopicPartition(self._topic, partition, each.offset))
        return committed

    def committed(
        self, partitions: Sequence[int], seconds: float = CALL_SECONDS
    ) -> Mapping[int, CommittedOffset]:
        """Return the committed offsets of the group; without one, the first offset.

        Raises:
            RetriableError: The coordinator did not answer in time, e.g. because a
                transaction of a dead owner is still open.
        """
        wanted = [TopicPartition(self._topic, p) for p in partitions]
        if not wanted:
            return {}
        with translated("committed"):
            answers = self._consumer.committed(wanted, timeout=seconds)
            return {each.partition: self._as_committed(each) for each in answers}

    def group_metadata(self) -> object:
        """Return the group's generation, which fences offsets of zombies (KIP-447)."""
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        """Release the partitions.

        The group waits for a static member until its session times out; until then it
        can come back without a rebalance.
        """
        self._consumer.close()

    def _messages(self, max_records: int, seconds: float) -> list[Message]:
        first = self._consumer.poll(IDLE_SECONDS)
        if first is None:
            return []
        messages, size = [first], _size(first)
        deadline = time.monotonic() + seconds
        while len(messages) < max_records and size < self._max_bytes:
            message = self._consumer.poll(max(0.0, deadline - time.monotonic()))
            if message is None:
                break
            messages.append(message)
            size += _size(message)
        return messages

    def _as_committed(self, answer: TopicPartition) -> CommittedOffset:
        if answer.offset >= 0:
            return CommittedOffset(answer.offset, answer.metadata or "")
        where = TopicPartition(self._topic, answer.partition)
        low, _high = self._consumer.get_watermark_offsets(where, timeout=CALL_SECONDS)
        return CommittedOffset(int(low))

    def _ours(self, partitions: Iterable[int]) -> list[TopicPartition]:
        return [
            TopicPartition(self._topic, p) for p in partitions if p in self._assigned
        ]

    def _seek(self, partition: TopicPartition) -> None:
        # A new partition is not seekable until its fetcher has started.
        deadline = time.monotonic() + CALL_SECONDS
        while True:
            try:
                with translated("seek"):
                    self._consumer.seek(partition)
            except StreamError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        log.info("assigned %s", [p.partition for p in partitions])
        consumer.incremental_assign(partitions)
        if partitions:
            consumer.pause(partitions)
        self._assigned.update(p.partition for p in partitions)
        self._paused.update(p.partition for p in partitions)
        self._listener.assigned([p.partition for p in partitions])

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # No transaction is open here: a batch is committed before the next poll.
        self._release([p.partition for p in partitions])
        log.info("revoked %s", [p.partition for p in partitions])
        self._remove(consumer, partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Another member may own them by now: they can't be released any more.
        log.warning("lost %s", [p.partition for p in partitions])
        self._remove(consumer, partitions)

    def _remove(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {p.partition for p in partitions}
        self._revoked_in_poll |= gone
        self._assigned -= gone
        self._paused -= gone
        self._listener.revoked(sorted(gone))
        consumer.incremental_unassign(partitions)


class KafkaProducer:
    """A transactional producer under a stable id, which can be renewed.

    Args:
        settings: Address of the cluster, and time limits.
        transactional_id: Stable per slot, so that a restart aborts the transaction of
            the previous process at once.
    """

    def __init__(self, settings: Settings, transactional_id: str) -> None:
        self._config = settings.client(
            **PRODUCER,
            **{
                "transactional.id": transactional_id,
                "transaction.timeout.ms": int(settings.transaction_seconds * 1000),
            },
            error_cb=_log_error,
        )
        self._producer = self._new()

    def renew(self) -> None:
        """Replace the producer; the new one's init fences the old one's transaction."""
        self._producer = self._new()

    def begin(self) -> None:
        """Open a transaction."""
        with transactional("begin"):
            self._producer.begin_transaction()

    def produce(self, output: Output) -> None:
        """Add a record to the open transaction."""
        while True:
            try:
                with transactional("produce"):
                    self._producer.produce(
                        output.topic,
                        value=output.value,
                        key=output.key,
                        headers=list(output.headers.items()),
                        timestamp=NO_TIMESTAMP if output.timeless else STAMPED_NOW,
                    )
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def send_offsets(
        self, offsets: Mapping[Partition, CommittedOffset], group: object
    ) -> None:
        """Add the consumer's progress to the open transaction."""
        positions = [
            TopicPartition(p.topic, p.index, each.offset, metadata=each.metadata)
            for p, each in offsets.items()
        ]
        with transactional("send_offsets"):
            self._producer.send_offsets_to_transaction(positions, group, CALL_SECONDS)

    def commit(self) -> None:
        """Make the transaction visible."""
        with transactional("commit"):
            self._producer.commit_transaction(CALL_SECONDS)

    def abort(self) -> None:
        """Discard the open transaction."""
        with transactional("abort"):
            self._producer.abort_transaction(CALL_SECONDS)

    def _new(self) -> Producer:
        producer = Producer(self._config, logger=log)
        with transactional("init"):
            producer.init_transactions(CALL_SECONDS)
        return producer


def record_of(message: Message) -> Record:
    """Return a message of the client, without an error, as a record."""
    return Record(
        Partition(message.topic() or "", message.partition() or 0),
        message.offset() or 0,
        _bytes(message.key()),
        _bytes(message.value()),
        _headers(message),
        message.timestamp()[1],
    )


def _size(message: Message) -> int:
    return len(message.key() or b"") + len(message.value() or b"")


def _headers(message: Message) -> dict[str, bytes]:
    pairs = message.headers() or []
    # The client's type allows strings in place of pairs, but there are none.
    return {str(pair[0]): _bytes(pair[1]) or b"" for pair in pairs}


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _is_error(message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.fatal():
        raise Fenced(f"poll: {error.name()}")
    log.warning("poll: %s", error.name())
    return True


def _log_error(error: KafkaError) -> None:
    log.warning("kafka client: %s", error.name())


def admin_client(settings: Settings) -> AdminClient:
    """Return a client for topics and offsets."""
    return AdminClient(settings.client(), logger=log)


def wait_for_broker(settings: Settings) -> None:
    """Wait until the cluster answers.

    Raises:
        BrokerUnreachable: It did not answer within ``broker_wait_seconds``.
    """
    admin = admin_client(settings)
    deadline = time.monotonic() + settings.broker_wait_seconds
    delay = 0.25
    while True:
        left = deadline - time.monotonic()
        try:
            admin.list_topics(timeout=max(0.5, min(5.0, left)))
        except KafkaException as error:
            name = error.args[0].name()
            if left <= 0:
                raise BrokerUnreachable(
                    f"no broker answers at {settings.bootstrap} ({name}) after "
                    f"{settings.broker_wait_seconds:.0f} s: check bootstrap, network "
                    "and security settings"
                ) from None
            log.warning(
                "no broker answers at %s (%s); next try in %.1f s",
                settings.bootstrap,
                name,
                delay,
            )
            time.sleep(delay)
            delay = min(5.0, delay * 2)
        else:
            return


@contextmanager
def translated(call: str) -> Iterator[None]:
    """Translate the client's exceptions outside of transactions."""
    try:
        yield
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        kind = Fenced if cause.fatal() else RetriableError
        raise kind(f"{call}: {cause.name()}") from None


@contextmanager
def transactional(call: str) -> Iterator[None]:
    """Translate the client's exceptions of transactional calls."""
    try:
        yield
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        where = f"{call}: {cause.name()}"
        if cause.fatal():
            raise Fenced(where) from None
        if cause.txn_requires_abort():
            raise RetriableError(where) from None
        raise UnknownOutcome(where) from None
