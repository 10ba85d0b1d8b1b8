"""Reads offsets: the ends of topics, and the committed offsets of groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.engine.claim import Claim
from streams.engine.errors import RetriableError

from .client import CALL_SECONDS, CONSUMER, consumer_client, translated
from .settings import KafkaSettings

END_OF_PARTITION = KafkaError._PARTITION_EOF  # noqa: SLF001  # the client's public name
NOT_NOW = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError._NOENT,  # noqa: SLF001  # the client's public name
    KafkaError._TRANSPORT,  # noqa: SLF001
}
"""Answers of a broker that does not lead the partition any more, or not yet.

The last two are the client's own, say just after a pause: no broker leads it, and the
connection was given up while the question was on its way.
"""
ASK_AGAIN_SECONDS = 10.0
PEEK = {
    "queued.min.messages": 1,
    "fetch.message.max.bytes": 64 * 1024,
    # Otherwise a partition waits a second for each other one that has answered.
    "fetch.queue.backoff.ms": 5,
}
"""For reading one record; with the defaults the client would fetch megabytes."""


class GroupOffsets:
    """Reads the committed offsets of a group on a topic, without being a member.

    The admin client is no alternative: its list_consumer_group_offsets crashes if the
    coordinator has just moved (confluent-kafka-python issue 1982, seen in 2.16.1).
    """

    def __init__(self, settings: KafkaSettings, group: str, topic: str) -> None:
        self._topic = topic
        self._consumer = consumer_client(
            settings,
            **CONSUMER,
            **PEEK,
            **{"group.id": group, "enable.partition.eof": True},
        )

    def read(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return the committed offsets, 0 where there is none yet.

        Raises:
            RetriableError: The group's coordinator did not answer in time.
        """
        known = self.read_known(partitions)
        return {partition: offset or 0 for partition, offset in known.items()}

    def read_known(
        self, partitions: Iterable[int], seconds: float = CALL_SECONDS
    ) -> dict[int, int | None]:
        """Return the committed offsets, None where there is none.

        Args:
            partitions: Of the topic.
            seconds: To wait for the answer: there is none while a transaction with
                offsets is open, e.g. that of a process that was killed.

        Raises:
            RetriableError: The group's coordinator did not answer in time.
        """
        return {
            each.partition: each.offset if each.offset >= 0 else None
            for each in self._committed(partitions, seconds)
        }

    def claims(self, partitions: Iterable[int]) -> dict[int, Claim]:
        """Return the claims of the partitions.

        Raises:
            RetriableError: The group's coordinator did not answer in time.
        """
        answers = self._committed(partitions)
        return {each.partition: Claim.read(each.metadata) for each in answers}

    def _committed(
        self, partitions: Iterable[int], seconds: float = CALL_SECONDS
    ) -> list[TopicPartition]:
        wanted = [TopicPartition(self._topic, p) for p in partitions]
        deadline = time.monotonic() + seconds
        while True:
            try:
                answers = self._consumer.committed(wanted, timeout=CALL_SECONDS)
            except KafkaException as error:
                # A coordinator that has just moved fails until it has loaded.
                if time.monotonic() > deadline:
                    name = error.args[0].name()
                    raise RetriableError(f"committed: {name}") from None
                time.sleep(0.2)
            else:
                return list(answers)

    def has_records_from(self, offsets: Mapping[int, int]) -> bool:
        """Return whether any partition has a stable record at its offset or later."""
        found = self.first_records(offsets)
        return any(found.get(partition, 0) is not None for partition in offsets)

    def first_records(self, offsets: Mapping[int, int]) -> dict[int, int | None]:
        """Return when the first stable record at each offset or later was written.

        In milliseconds since 1970, -1 for a record without time; None where only
        markers follow.  A partition that was not read in time is left out.
        """
        self._consumer.assign(
            [TopicPartition(self._topic, p, offset) for p, offset in offsets.items()]
        )
        found: dict[int, int | None] = {}
        deadline = time.monotonic() + CALL_SECONDS
        while len(found) < len(offsets) and time.monotonic() < deadline:
            for message in self._consumer.consume(len(offsets), timeout=0.1):
                error, partition = message.error(), message.partition() or 0
                if error is None:
                    found.setdefault(partition, message.timestamp()[1])
                elif error.code() == END_OF_PARTITION:
                    found.setdefault(partition, None)
        # Otherwise the client goes on fetching.
        self._consumer.unassign()
        return found

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def end_offsets(
    admin: AdminClient, topic: str, partitions: Iterable[int]
) -> dict[int, int]:
    """Return the last stable offset of each partition."""
    level = IsolationLevel.READ_COMMITTED
    return _listed(admin, topic, partitions, OffsetSpec.latest, level)


def high_watermarks(
    admin: AdminClient, topic: str, partitions: Iterable[int]
) -> dict[int, int]:
    """Return the end of each partition, including open transactions."""
    level = IsolationLevel.READ_UNCOMMITTED
    return _listed(admin, topic, partitions, OffsetSpec.latest, level)


def stable_ends(
    admin: AdminClient, topic: str, partitions: Sequence[int], seconds: float
) -> dict[int, int]:
    """Return ends before which no transaction is open, and all that was committed is.

    A commit is confirmed a moment before its records can be read, and what is behind an
    open transaction of another producer waits for that.

    Args:
        admin: Asks the brokers.
        topic: Its name.
        partitions: Of the topic.
        seconds: The longest that a transaction stays open.

    Raises:
        RetriableError: One was open for longer, or the cluster does not answer.
    """
    wanted = high_watermarks(admin, topic, partitions)
    deadline = time.monotonic() + seconds + CALL_SECONDS
    while True:
        ends = end_offsets(admin, topic, partitions)
        if all(ends[p] >= wanted[p] for p in partitions):
            return ends
        if time.monotonic() > deadline:
            raise RetriableError(
                f"{topic}: a transaction stays open; find it with "
                "kafka-transactions.sh find-hanging, abort it, and run this again"
            )
        time.sleep(0.1)


def first_offsets(
    admin: AdminClient, topic: str, partitions: Iterable[int]
) -> dict[int, int]:
    """Return the first offset that each partition still holds."""
    level = IsolationLevel.READ_UNCOMMITTED
    return _listed(admin, topic, partitions, OffsetSpec.earliest, level)


def offsets_at(
    admin: AdminClient, topic: str, partitions: Iterable[int], since_ms: int
) -> dict[int, int]:
    """Return the first offset written at a time or later; the end if there is none."""
    found = _listed(
        admin,
        topic,
        partitions,
        lambda: OffsetSpec.for_timestamp(since_ms),
        IsolationLevel.READ_UNCOMMITTED,
    )
    if all(offset >= 0 for offset in found.values()):
        return found
    ends = high_watermarks(admin, topic, found)
    return {p: offset if offset >= 0 else ends[p] for p, offset in found.items()}


def _listed(
    admin: AdminClient,
    topic: str,
    partitions: Iterable[int],
    spec: Callable[[], OffsetSpec],
    level: IsolationLevel,
) -> dict[int, int]:
    wanted = {TopicPartition(topic, p): spec() for p in partitions}
    if not wanted:
        return {}
    deadline = time.monotonic() + ASK_AGAIN_SECONDS
    with translated("list offsets"):
        while True:
            futures = admin.list_offsets(
                wanted, isolation_level=level, request_timeout=CALL_SECONDS
            )
            try:
                return {tp.partition: f.result().offset for tp, f in futures.items()}
            except KafkaException as error:
                is_passing = error.args[0].code() in NOT_NOW
                if not is_passing or time.monotonic() > deadline:
                    raise
            # The client asks the leader that it knows, and never learns another.
            admin.list_topics(topic, timeout=CALL_SECONDS)
            time.sleep(0.1)
