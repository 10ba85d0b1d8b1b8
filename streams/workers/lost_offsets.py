"""What a worker checks before it joins its group: are offsets and tables still there?

Kafka deletes the committed offsets of a group without members after a week, and a
person may delete them, or a topic.  A group without offsets would begin at the first
record, and publish everything once more.  But each record that was processed has an
audit event that names it, written in the transaction that committed its offset.  So the
last event of each partition gives back the offset.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from ..cluster.bounded import committed_records
from ..cluster.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    record_of,
    translated,
)
from ..cluster.offsets import (
    GroupOffsets,
    end_offsets,
    first_offsets,
    high_watermarks,
    offsets_at,
)
from ..cluster.topics import (
    DAY_MS,
    INPUT,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    Stage,
    Topic,
    partition_counts,
)
from ..engine.errors import ConfigError, RetriableError
from ..engine.settings import Settings
from ..events.outputs import RECEIVED, SOURCE, received_header

log = logging.getLogger(__name__)

SOURCE_FORM = re.compile(
    rb"(?P<topic>[\w.-]+)/(?P<partition>[0-9]{1,9})/(?P<offset>[0-9]{1,18})"
)


def restore_offsets(
    settings: Settings, stage: Stage, *, beat: Callable[[], None]
) -> None:
    """Restore the committed offsets of a stage's group if they are gone.

    Args:
        settings: Of the service.
        stage: Its inputs' offsets.
        beat: Called now and then.

    Raises:
        ConfigError: The table's rows are gone, and can't be made again from updates.
        RetriableError: The cluster does not answer, or another worker was quicker.
    """
    admin = admin_client(settings)
    group = _Group(settings, f"{settings.group}-{stage}", partition_counts(admin))
    try:
        if not group.offsets(INPUT[stage]):
            found = _processed(settings, admin, group, INPUT[stage], beat)
            group.set(INPUT[stage], found)
        if stage is Stage.SCRUB:
            _require_rows(admin, group)
    finally:
        group.close()


class _Group:
    """The committed offsets of a group, read and set without being a member.

    Args:
        settings: Address of the cluster.
        name: Of the group.
        counts: The number of partitions of each topic.
    """

    def __init__(
        self, settings: Settings, name: str, counts: Mapping[str, int]
    ) -> None:
        self.name = name
        self._counts = counts
        # Whether there are any does not depend on transactions that are open.
        level = {"isolation.level": "read_uncommitted", "group.id": name}
        self._consumer = Consumer(settings.client(**(CONSUMER | level)), logger=log)

    def partitions(self, topic: Topic) -> range:
        """Return the partitions of a topic."""
        return range(self._counts.get(topic.name, 0))

    def offsets(self, topic: Topic) -> dict[int, int]:
        """Return the committed offsets of those partitions that have one."""
        wanted = [TopicPartition(topic.name, p) for p in self.partitions(topic)]
        deadline = time.monotonic() + CALL_SECONDS
        while True:
            try:
                with translated("committed"):
                    found = self._consumer.committed(wanted, timeout=CALL_SECONDS)
            except RetriableError:
                # A coordinator that has just moved fails until it has loaded.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return {
                    each.partition: each.offset for each in found if each.offset >= 0
                }

    def set(self, topic: Topic, offsets: Mapping[int, int]) -> None:
        """Commit offsets; refused by the broker once the group has members."""
        if not offsets:
            return
        places = [TopicPartition(topic.name, p, at) for p, at in offsets.items()]
        with translated(f"commit to {self.name}, which has members already"):
            self._consumer.commit(offsets=places, asynchronous=False)
        log.warning(
            "%s: the group's offsets are set to what was processed: %s",
            topic.name,
            dict(sorted(offsets.items())),
        )

    def close(self) -> None:
        self._consumer.close()


def _processed(
    settings: Settings,
    admin: AdminClient,
    group: _Group,
    topic: Topic,
    beat: Callable[[], None],
) -> dict[int, int]:
    """Return the offset after the last record of each partition with an audit event."""
    partitions = group.partitions(PHI_AUDIT)
    high = high_watermarks(admin, PHI_AUDIT.name, partitions)
    if not any(high.values()):
        return {}
    log.warning("%s: the group has no offsets: reading %s", topic.name, PHI_AUDIT.name)
    since = _oldest_ms(settings, admin, group, topic)
    first = offsets_at(admin, PHI_AUDIT.name, partitions, since)
    _wait_until_stable(settings, admin, high, beat)
    ranges = {p: (first[p], high[p]) for p in partitions}
    last: dict[int, _Event] = {}
    reader = f"{group.name}-offsets"
    for message in committed_records(settings, PHI_AUDIT.name, ranges, reader):
        beat()
        event = _event(message, topic) if message is not None else None
        if event and event.offset >= last.get(event.partition, event).offset:
            last[event.partition] = event
    return _confirmed(settings, admin, group, topic, last)


def _confirmed(
    settings: Settings,
    admin: AdminClient,
    group: _Group,
    topic: Topic,
    last: Mapping[int, _Event],
) -> dict[int, int]:
    """Return the offsets after those events whose record is still the same.

    A topic that was made anew has other records at the same offsets.
    """
    first = first_offsets(admin, topic.name, group.partitions(topic))
    ends = end_offsets(admin, topic.name, group.partitions(topic))
    ranges = {
        p: (event.offset, event.offset + 1)
        for p, event in last.items()
        if p in ends and first[p] <= event.offset < ends[p]
    }
    return {
        message.partition() or 0: (message.offset() or 0) + 1
        for message in committed_records(
            settings, topic.name, ranges, f"{group.name}-offsets"
        )
        if message is not None
        and received_header(record_of(message))
        == last[message.partition() or 0].received
    }


def _oldest_ms(
    settings: Settings, admin: AdminClient, group: _Group, topic: Topic
) -> int:
    """Return a time before any record that the topic still holds was processed."""
    reader = GroupOffsets(settings, group.name, topic.name)
    try:
        first = first_offsets(admin, topic.name, group.partitions(topic))
        times = reader.first_records(first).values()
    finally:
        reader.close()
    kept = int(time.time() * 1000) - topic.retention_days * DAY_MS
    known = [at for at in times if at is not None]
    return max(0, min([kept, *known]) - DAY_MS)


def _wait_until_stable(
    settings: Settings,
    admin: AdminClient,
    high: Mapping[int, int],
    beat: Callable[[], None],
) -> None:
    """Wait for the end of transactions that hide events which are committed."""
    deadline = time.monotonic() + settings.transaction_seconds + CALL_SECONDS
    while True:
        stable = end_offsets(admin, PHI_AUDIT.name, high)
        if all(stable[p] >= end for p, end in high.items()):
            return
        if time.monotonic() > deadline:
            raise RetriableError(f"{PHI_AUDIT.name}: a transaction stays open")
        beat()
        time.sleep(0.2)


@dataclass(frozen=True, slots=True)
class _Event:
    """What an audit event says of its record: where it is, and when it came."""

    partition: int
    offset: int
    received: bytes


def _event(message: Message, topic: Topic) -> _Event | None:
    headers = record_of(message).headers
    found = SOURCE_FORM.fullmatch(headers.get(SOURCE, b""))
    if found is None or found["topic"] != topic.name.encode():
        return None
    received = headers.get(RECEIVED, b"")
    return _Event(int(found["partition"]), int(found["offset"]), received)


def _require_rows(admin: AdminClient, group: _Group) -> None:
    """Have all updates read again if the table's changelog was made anew.

    Raises:
        ConfigError: Retention has deleted some of the updates.
    """
    if any(high_watermarks(admin, PATIENTS.name, group.partitions(PATIENTS)).values()):
        return
    partitions = group.partitions(PATIENT_UPDATES)
    first = first_offsets(admin, PATIENT_UPDATES.name, partitions)
    committed = group.offsets(PATIENT_UPDATES)
    lost = [p for p, at in committed.items() if at > first[p]]
    if not lost:
        return
    if any(first.values()):
        raise ConfigError(
            f"{PATIENTS.name} is empty, though updates of partitions {lost} were "
            "processed: notes would be joined with nothing; restore its records, or "
            "send all patients again and set the group's offsets of "
            f"{PATIENT_UPDATES.name} to the first (runbook, Lost offsets)"
        )
    log.warning(
        "%s is empty, though updates were processed: all are read again",
        PATIENTS.name,
    )
    group.set(PATIENT_UPDATES, first)
