"""The consumer of a worker: a member of a group."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription

from streams.engine.errors import ConfigError, Fenced, RetriableError, StreamError
from streams.engine.observer import PartitionListener
from streams.engine.records import NO_EPOCH, CommittedOffset, Partition, Record

from .client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    epoch_of,
    log_error,
    position_of,
    record_of,
    require_slot,
    translated,
)
from .offsets import END_OF_PARTITION, high_watermarks
from .settings import KafkaSettings
from .updates_first import UpdatesFirst

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.1
FOLLOW_SECONDS = 0.25
"""How long a call of `poll` waits for updates, with the notes that need them held."""
ALONE = {
    # Records end a fetch at once.  The end of a partition, which notes wait for, is
    # learnt from a fetch without any, and such a fetch costs the broker .4 ms.
    "fetch.wait.max.ms": 100,
}
"""Of a topic that is read alone."""
FATAL = KafkaError._FATAL  # noqa: SLF001  # the client's public name
UNREADABLE = frozenset({KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG})  # noqa: SLF001  # public names, too
"""Of a batch that the client can't take apart; it is asked for again and again."""
UNEVEN_SECONDS = 15.0
"""How long partitions may be assigned unevenly, in the middle of a rebalance."""


class KafkaConsumer:
    """A member of a group whose partitions start paused.

    A partition's number stands for that partition of all topics that are read.

    Args:
        settings: Address of the cluster, and time limits.
        topic: The topic to read.
        updates: A topic that is partitioned alike; see `updates_first`.
        group: The consumer group.
        member: Stable per slot: a worker that restarts within the session timeout gets
            its partitions back at once, without a rebalance (KIP-345).
        listener: Called with assigned and revoked partitions.
        release: Called with partitions that are about to be handed over in order.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        *,
        updates: str = "",
        group: str,
        member: str,
        listener: PartitionListener,
        release: Callable[[Sequence[int]], None] = lambda _partitions: None,
    ) -> None:
        self._topics = (updates, topic) if updates else (topic,)
        self._topic, self._updates = topic, updates
        self._listener = listener
        self._release = release
        self._max_bytes = settings.batch_bytes
        self._owned: set[Partition] = set()
        self._assigned: set[int] = set()
        self._paused: set[int] = set()
        self._resumed: set[int] = set()
        self._to_seek: dict[Partition, CommittedOffset] = {}
        self._uneven_since: float | None = None
        self._revoked_in_poll: set[int] = set()
        self._order = _updates_first(settings, updates) if updates else None
        self._throttled: set[int] = set()
        self._unreadable: dict[tuple[str, int], int] = {}
        self._is_rewinding = False
        self._is_eager = bool(updates) and not _is_new_protocol(settings)
        self._consumer = _client(settings, updates, group, member)
        self._consumer.subscribe(
            list(self._topics),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def poll(self, max_records: int, seconds: float) -> list[Record]:
        """Return up to ``max_records`` of the assigned partitions, updates first.

        Records that arrived while the last batch was processed are returned at once;
        after the first record the batch waits for ``seconds`` for more.  The record
        that brings it to `batch_bytes` is its last.

        Raises:
            ConfigError: The group's assignor does not partition the topics alike.
        """
        self._revoked_in_poll.clear()
        self._start()
        order = self._order
        idle = IDLE_SECONDS if order is None or order.is_empty else 0.0
        records = self._gathered(max_records, seconds, idle)
        self._require_even()
        if order is None:
            return records
        order.add(records)
        records = self._in_order(order, max_records)
        if records and order.is_empty:
            # What the next notes need is asked for now: while these are processed the
            # transactions that are open end, and the next call has not to wait.
            order.add(self._gathered(max_records, 0.0, 0.0))
            order.ask()
        return [r for r in records if r.partition.index not in self._revoked_in_poll]

    def resume(self, partitions: Iterable[int]) -> None:
        """Deliver the records of these partitions, once their positions are checked."""
        self._resumed |= self._assigned.intersection(partitions)
        self._start()

    def pause(self, partitions: Iterable[int]) -> None:
        """Hold back the records of these partitions until they are resumed."""
        ours = self._assigned.intersection(partitions)
        self._resumed -= ours
        if ours:
            self._consumer.pause(self._places(ours))
            self._paused |= ours

    @property
    def paused(self) -> frozenset[int]:
        """The partitions whose records are held back."""
        return frozenset(self._paused)

    def rewind(self) -> Mapping[Partition, CommittedOffset]:
        """Go back to the committed offsets, and return them.

        Aborting a transaction does not move the consumer's position.

        Raises:
            SlotTaken: Another process has joined the group under this one's name.
            RetriableError: The coordinator did not answer in time.
        """
        self._forget(self._assigned)
        self._unthrottle(self._throttled)
        deadline = time.monotonic() + CALL_SECONDS
        # What is lost can't be claimed again.
        self._serve(0.0)
        while True:
            committed = self.committed(
                [Partition(t, p) for p in sorted(self._assigned) for t in self._topics]
            )
            try:
                with translated("seek"):
                    for partition, offset in committed.items():
                        self._consumer.seek(position_of(partition, offset))
            except RetriableError:
                if time.monotonic() > deadline:
                    raise
                self._serve(0.05)
            else:
                for partition in committed:
                    self._to_seek.pop(partition, None)
                return committed

    def committed(
        self, partitions: Sequence[Partition], seconds: float = CALL_SECONDS
    ) -> Mapping[Partition, CommittedOffset]:
        """Return the committed offsets of the group; without one, the first offset.

        Raises:
            RetriableError: The coordinator did not answer in time, e.g. because a
                transaction of a dead owner is still open.
        """
        wanted = [TopicPartition(p.topic, p.index) for p in partitions]
        if not wanted:
            return {}
        with translated("committed"):
            answers = self._consumer.committed(wanted, timeout=seconds)
            committed = {
                Partition(answer.topic, answer.partition): self._as_committed(answer)
                for answer in answers
            }
        for partition, offset in committed.items():
            self._to_seek.pop(partition, None)
            if offset.leader_epoch != NO_EPOCH:
                self._to_seek[partition] = offset
        return committed

    def go_on(self, offsets: Mapping[Partition, CommittedOffset]) -> None:
        """Begin partitions that are held back at other offsets, once they flow."""
        self._to_seek |= offsets

    def group_metadata(self) -> object:
        """Return the group's generation, which fences offsets of zombies (KIP-447)."""
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        """Release the partitions.

        The group waits for a static member until its session times out; until then it
        can come back without a rebalance.
        """
        # An assignment that has arrived meanwhile must be taken first: librdkafka may
        # wait for ever for the answer if it is delivered while the client closes.
        with suppress(StreamError), translated("close"):
            self._consumer.poll(0.0)
        self._consumer.close()

    def _start(self) -> None:
        """Resume what is to be resumed and has its position checked."""
        ours = {
            index
            for index in self._resumed
            if all(self._is_checked(Partition(topic, index)) for topic in self._topics)
        }
        if ours:
            self._consumer.resume(self._places(ours))
            self._resumed -= ours
            self._paused -= ours
            self._throttled -= ours

    def _is_checked(self, partition: Partition) -> bool:
        """Return whether the client begins at a partition's committed offset.

        It asks the leader for the epoch of that offset only if it is told to seek it.
        If the partition was cut off before, it begins at the first record, which the
        engine refuses.
        """
        offset = self._to_seek.pop(partition, None)
        if offset is None:
            return True
        try:
            with translated("seek"):
                self._consumer.seek(position_of(partition, offset))
        except RetriableError:
            # Its fetcher has not started yet.
            self._to_seek[partition] = offset
            return False
        return True

    def _gathered(
        self,
        max_records: int,
        seconds: float,
        idle: float,
        waiting: UpdatesFirst | None = None,
    ) -> list[Record]:
        """Return the records that are there, or soon will be.

        Args:
            max_records: At most.
            seconds: To wait for further records after the first.
            idle: Seconds to wait for the first.
            waiting: Ends the call when nothing is lacking any more.
        """
        records: list[Record] = []
        size, deadline = 0, time.monotonic() + idle
        with translated("poll"):
            while len(records) < max_records and size < self._max_bytes:
                message = self._consumer.poll(max(0.0, deadline - time.monotonic()))
                if message is None:
                    break
                record = self._record(message)
                if record is not None:
                    if not records:
                        deadline = time.monotonic() + seconds
                    records.append(record)
                    size += record.size
                elif waiting is not None and not waiting.lacking:
                    break
        # A call of the client's `poll` may have revoked the partition of records that
        # calls before it returned.  They are read again, by whoever owns it then.
        return [r for r in records if r.partition.index not in self._revoked_in_poll]

    def _record(self, message: Message) -> Record | None:
        """Return the record of a message; None for an event of the client."""
        error = message.error()
        if error is None:
            return record_of(message)
        if error.code() in UNREADABLE:
            self._report_unreadable(message, error)
        elif error.code() != END_OF_PARTITION:
            _check(error)
        elif self._order is not None and message.topic() == self._updates:
            self._order.reach(message.partition() or 0, message.offset() or 0)
        return None

    def _report_unreadable(self, message: Message, error: KafkaError) -> None:
        """Log once where a partition stands still, until a person has looked."""
        where = message.topic() or "", message.partition() or 0
        offset = message.offset() or 0
        if self._unreadable.get(where) != offset:
            self._unreadable[where] = offset
            log.error(
                "%s[%d]@%d: this batch can't be read (%s): its partition stands still; "
                "see PhistreamLagStall in the runbook",
                *where, offset, error.name(),
            )  # fmt: skip

    def _in_order(self, order: UpdatesFirst, max_records: int) -> list[Record]:
        """Return updates, and the notes whose updates have all been delivered."""
        order.ask()
        deadline = time.monotonic() + FOLLOW_SECONDS
        while order.lacking and not self._is_batch(order.updates, max_records):
            if time.monotonic() > deadline or self._revoked_in_poll:
                break
            if self._is_batch(order.waiting, max_records):
                self._throttle(order.lacking - self._throttled)
            order.add(self._gathered(max_records, 0.0, 0.02, order))
        records = order.take()
        self._unthrottle(self._throttled - order.lacking)
        return records

    def _is_batch(self, records: Sequence[Record], max_records: int) -> bool:
        """Return whether the records are as many, or as large, as a batch may be."""
        if len(records) >= max_records:
            return True
        return sum(record.size for record in records) >= self._max_bytes

    def _throttle(self, partitions: Collection[int]) -> None:
        """Receive no more notes of partitions whose updates are far behind."""
        if partitions:
            self._consumer.pause(self._places(partitions, self._topic))
            self._throttled |= set(partitions)

    def _unthrottle(self, partitions: Collection[int]) -> None:
        if flowing := self._assigned.intersection(partitions) - self._paused:
            self._consumer.resume(self._places(flowing, self._topic))
        self._throttled -= set(partitions)

    def _as_committed(self, answer: TopicPartition) -> CommittedOffset:
        if answer.offset >= 0:
            return CommittedOffset(
                answer.offset, answer.metadata or "", epoch_of(answer.leader_epoch)
            )
        where = TopicPartition(answer.topic, answer.partition)
        low, _high = self._consumer.get_watermark_offsets(where, timeout=CALL_SECONDS)
        return CommittedOffset(int(low), is_absent=True)

    def _forget(self, partitions: Collection[int]) -> None:
        if self._order is not None:
            self._order.forget(partitions)

    def _places(self, partitions: Iterable[int], *topics: str) -> list[TopicPartition]:
        return [
            TopicPartition(topic, p)
            for p in sorted(partitions)
            for topic in topics or self._topics
        ]

    def _serve(self, seconds: float) -> None:
        """Take in what the client knows of the group; a record is read again.

        A new partition is not seekable until its fetcher has started, and a lost one
        is not any more: only a poll tells.
        """
        self._is_rewinding = True
        try:
            with translated("poll"):
                message = self._consumer.poll(seconds)
        finally:
            self._is_rewinding = False
        error = message.error() if message is not None else None
        if error is not None and error.code() != END_OF_PARTITION:
            _check(error)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        assign = consumer.assign if self._is_eager else consumer.incremental_assign
        assign(partitions)
        if partitions:
            consumer.pause(partitions)
        self._owned.update(Partition(p.topic, p.partition) for p in partitions)
        whole = self._whole()
        new = sorted(whole - self._assigned)
        log.info("assigned %s", new)
        self._assigned |= whole
        self._paused.update(new)
        self._listener.assigned(new)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # No transaction is open here: a batch is committed before the next poll.
        gone = sorted({p.partition for p in partitions} & self._assigned)
        # The offsets to release are not known before a rewind is through.
        if not self._is_rewinding:
            self._release(gone)
        log.info("revoked %s", gone)
        self._remove(consumer, partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Another member may own them by now: they can't be released any more.
        log.warning("lost %s", sorted({p.partition for p in partitions}))
        self._remove(consumer, partitions)

    def _remove(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned.difference_update(
            Partition(p.topic, p.partition) for p in partitions
        )
        gone = self._assigned - self._whole()
        self._revoked_in_poll |= gone
        self._assigned -= gone
        self._paused -= gone
        self._throttled -= gone
        self._resumed -= gone
        for p in gone:
            for topic in self._topics:
                self._to_seek.pop(Partition(topic, p), None)
        self._forget(gone)
        self._listener.revoked(sorted(gone))
        if self._is_eager:
            consumer.unassign()
        else:
            consumer.incremental_unassign(partitions)

    def _whole(self) -> set[int]:
        """Return the partitions that this member owns in all topics."""
        numbers = [
            {partition.index for partition in self._owned if partition.topic == topic}
            for topic in self._topics
        ]
        return set.intersection(*numbers)

    def _require_even(self) -> None:
        if len(self._owned) == len(self._assigned) * len(self._topics):
            self._uneven_since = None
            return
        now = time.monotonic()
        self._uneven_since = self._uneven_since or now
        if now - self._uneven_since > UNEVEN_SECONDS:
            raise ConfigError(
                f"{' and '.join(self._topics)}: the group's assignor gives this member "
                "different partitions of them; use range (group.remote.assignor=range "
                "with group.protocol=consumer), and the same in all members"
            )


def require_assignor(settings: KafkaSettings, group: str) -> None:
    """Check that the members of a group, if it has any, assign partitions by range.

    Raises:
        ConfigError: They do not: a worker that joined them would be refused, or would
            get different partitions of its topics.
        RetriableError: The group's coordinator did not answer.
    """
    description = _description(settings, group)
    assignor = description.partition_assignor
    if description.members and assignor not in ("range", ""):
        raise ConfigError(
            f"group {group}: its members use the assignor {assignor}, "
            "which does not keep notes and patient.updates together: stop them all, "
            "wait until the group is empty (session_seconds), then start again"
        )


def _description(settings: KafkaSettings, group: str) -> ConsumerGroupDescription:
    admin, deadline = admin_client(settings), time.monotonic() + CALL_SECONDS
    while True:
        try:
            with translated("describe group"):
                answers = admin.describe_consumer_groups([group])
                description: ConsumerGroupDescription = answers[group].result(
                    CALL_SECONDS
                )
                return description
        except RetriableError:
            # A coordinator that has just moved fails until it has loaded.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _updates_first(settings: KafkaSettings, updates: str) -> UpdatesFirst:
    admin = admin_client(settings)
    return UpdatesFirst(updates, lambda p: high_watermarks(admin, updates, p))


def _is_new_protocol(settings: KafkaSettings) -> bool:
    return settings.kafka.get("group.protocol", "").lower() == "consumer"


def _assignment(settings: KafkaSettings, *, is_even: bool) -> dict[str, object]:
    """Return the properties that decide how partitions are assigned.

    Of the assignors only `range` gives a member the same partitions of several topics,
    also after members have come and gone.
    """
    if _is_new_protocol(settings):
        return {"group.remote.assignor": "range"} if is_even else {}
    return {
        "partition.assignment.strategy": "range" if is_even else "cooperative-sticky",
        "session.timeout.ms": int(settings.session_seconds * 1000),
    }


def check_consumers(settings: KafkaSettings) -> None:
    """Check that a worker's consumer can be had with the settings.

    Raises:
        ConfigError: Properties are wrong, or do not go with one another.
    """
    group = f"{settings.group}-check"
    for updates in ("", "updates"):
        _client(settings, updates, group, group).close()


def _client(settings: KafkaSettings, updates: str, group: str, member: str) -> Consumer:
    return consumer_client(
        settings,
        **(CONSUMER if updates else CONSUMER | ALONE),
        **_assignment(settings, is_even=bool(updates)),
        **{
            "group.id": group,
            "group.instance.id": member,
            "max.poll.interval.ms": int(settings.poll_seconds * 1000),
            "enable.partition.eof": bool(updates),
        },
        error_cb=log_error,
    )


def _check(error: KafkaError) -> None:
    require_slot(error)
    # The client does not set the flag of a fatal error that `poll` delivers.
    if error.fatal() or error.code() == FATAL:
        raise Fenced(f"poll: {error.name()}")
    log.warning("poll: %s", error.name())
