"""Check before a worker joins its group: are offsets and tables still there?

Kafka deletes the committed offsets of a group without members after a week, and a
person may delete them, or a topic.  A group without offsets would begin at the first
record, and publish everything once more.  The last audit event of each partition whose
record is still there gives back the offset (`processed`).

The metadata of an offset names the topics that it counts in, and those of `patients` as
well where it counts updates: if `patients` was made anew, all updates are read again.
Of them nothing is forwarded between linked identifiers: that is on the topic already,
and once more it would come behind the null values of patients who were erased.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from streams.engine.claim import Claim
from streams.engine.errors import ConfigError, RetriableError
from streams.kafka.bounded import committed_records
from streams.kafka.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    translated,
)
from streams.kafka.identities import CHECK_SECONDS
from streams.kafka.offsets import (
    GroupOffsets,
    end_offsets,
    first_offsets,
    high_watermarks,
    offsets_at,
)
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import (
    DAY_MS,
    INPUT,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    READ_ALONG,
    Stage,
    Topic,
    inputs_of,
)
from streams.operations.settings import Settings

from .processed import AuditedRecords, AuditTrail, last_processed

log = logging.getLogger(__name__)


class _HasMembersError(RetriableError):
    """Offsets can't be set while workers are in the group."""


def watched_topics(stage: Stage) -> list[str]:
    """Return the topics that a worker of a stage can't do without as they were."""
    tables = (PATIENTS,) if stage in READ_ALONG else ()
    return [topic.name for topic in (*inputs_of(stage), *tables)]


def identities_of(stage: Stage, ids: Mapping[str, str]) -> dict[str, str]:
    """Return what the metadata of a stage's offsets names, by topic.

    Args:
        stage: The stage.
        ids: Of `watched_topics`.
    """
    identities = {topic.name: ids[topic.name] for topic in inputs_of(stage)}
    if stage in READ_ALONG:
        identities[READ_ALONG[stage].name] += f".{ids[PATIENTS.name]}"
    return identities


def restore_offsets(
    settings: Settings,
    stage: Stage,
    ids: Mapping[str, str],
    *,
    beat: Callable[[], None],
) -> None:
    """Restore the committed offsets of a stage's group if they are gone.

    Args:
        settings: Of the service.
        stage: Its inputs' offsets.
        ids: Of `watched_topics`.
        beat: Called now and then.

    Raises:
        ConfigError: The table's rows are gone, and can't be made again from updates.
        RetriableError: The cluster does not answer, or another worker was quicker.
    """
    # Other workers leave as soon as they notice that a topic was made anew.
    deadline = time.monotonic() + settings.session_seconds + 3 * CHECK_SECONDS
    while True:
        try:
            _restore(settings, stage, ids, beat)
        except _HasMembersError:
            if time.monotonic() > deadline:
                raise
            beat()
            time.sleep(1.0)
        else:
            return


def _restore(
    settings: Settings, stage: Stage, ids: Mapping[str, str], beat: Callable[[], None]
) -> None:
    admin = admin_client(settings)
    counts = partition_counts(admin)
    name = f"{settings.group}-{stage}"
    group = _Group(settings, name, counts, identities_of(stage, ids))
    topic = INPUT[stage]
    try:
        is_lost = not group.offsets(topic)
        if is_lost:
            offsets = _processed(settings, admin, group, topic, beat)
            # A partition without an audit event begins at its first record, which the
            # group must be told where it still has an offset of a former topic.
            group.set(topic, group.first_of_others(admin, topic) | offsets)
        if stage is Stage.SCRUB:
            _require_rows(settings, admin, group, beat)
    finally:
        group.close()


class _Group:
    """The committed offsets of a group, read and set without being a member.

    Args:
        settings: Address of the cluster.
        name: Of the group.
        counts: The number of partitions of each topic.
        identities: Of `identities_of`.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        counts: Mapping[str, int],
        identities: Mapping[str, str],
    ) -> None:
        self.name = name
        self._counts = counts
        self._identities = identities
        # Whether there are any does not depend on transactions that are open.
        level = {"isolation.level": "read_uncommitted", "group.id": name}
        self._consumer = consumer_client(settings, **(CONSUMER | level))

    def partitions(self, topic: Topic) -> range:
        """Return the partitions of a topic."""
        return range(self._counts.get(topic.name, 0))

    def offsets(self, topic: Topic) -> dict[int, tuple[int, Claim]]:
        """Return the committed offsets in a topic as it is, with their claims."""
        own, _, _ = self._identities[topic.name].partition(".")
        return {
            p: (offset, claim)
            for p, (offset, claim) in self._committed(topic).items()
            if claim.of.partition(".")[0] in ("", own)
        }

    def first_of_others(self, admin: AdminClient, topic: Topic) -> dict[int, int]:
        """Return the first offsets where those of a former topic are committed."""
        others = self._committed(topic).keys() - self.offsets(topic)
        return first_offsets(admin, topic.name, sorted(others))

    def is_of_another_table(self, claim: Claim) -> bool:
        """Return whether an offset of updates belongs to former `patients`."""
        own = self._identities[PATIENT_UPDATES.name]
        return bool(claim.of) and claim.of != own

    def _committed(self, topic: Topic) -> dict[int, tuple[int, Claim]]:
        wanted = [TopicPartition(topic.name, p) for p in self.partitions(topic)]
        deadline = time.monotonic() + CALL_SECONDS
        while True:
            try:
                with translated("committed"):
                    answers = self._consumer.committed(wanted, timeout=CALL_SECONDS)
            except RetriableError:
                # A coordinator that has just moved fails until it has loaded.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return {
                    answer.partition: (answer.offset, Claim.read(answer.metadata))
                    for answer in answers
                    if answer.offset >= 0
                }

    def set(
        self,
        topic: Topic,
        offsets: Mapping[int, int],
        again: Mapping[int, int] | None = None,
    ) -> None:
        """Commit offsets; refused by the broker once the group has members.

        Args:
            topic: An input.
            offsets: By partition.
            again: Below which offsets records were processed before.
        """
        if not offsets:
            return
        identity = self._identities[topic.name]
        positions = [
            TopicPartition(
                topic.name,
                p,
                offset,
                str(Claim(again=(again or {}).get(p, 0), of=identity)),
            )
            for p, offset in offsets.items()
        ]
        try:
            with translated(f"commit to {self.name}, which has members already"):
                self._consumer.commit(offsets=positions, asynchronous=False)
        except RetriableError as error:
            raise _HasMembersError(str(error)) from None
        log.warning(
            "%s: the group's offsets are set to %s",
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
    # Events of a transaction that is still open would be missed, and their records
    # published twice if it is committed after all.
    wait_until_stable(settings, admin, PHI_AUDIT, high, beat)
    ranges = {p: (first[p], high[p]) for p in partitions}
    trail = AuditTrail(settings, group.name, beat)
    events: dict[int, AuditedRecords] = defaultdict(AuditedRecords)
    for event in trail.events(topic.name, ranges):
        events[event.partition].add(event)
    return last_processed(admin, trail, topic.name, events)


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
    known = [time_ms for time_ms in times if time_ms is not None]
    # A day of margin: clocks differ.
    return max(0, min([kept, *known]) - DAY_MS)


def wait_until_stable(
    settings: Settings,
    admin: AdminClient,
    topic: Topic,
    high: Mapping[int, int],
    beat: Callable[[], None] = lambda: None,
) -> None:
    """Wait for the end of transactions that hide records which are committed.

    Args:
        settings: Their time limit.
        admin: A client of the cluster.
        topic: Of the records.
        high: The high watermark of each partition.
        beat: Called now and then.

    Raises:
        RetriableError: One stays open.
    """
    deadline = time.monotonic() + settings.transaction_seconds + CALL_SECONDS
    while True:
        stable = end_offsets(admin, topic.name, high)
        if all(stable[p] >= end for p, end in high.items()):
            return
        if time.monotonic() > deadline:
            raise RetriableError(f"{topic.name}: a transaction stays open")
        beat()
        time.sleep(0.2)


def _require_rows(
    settings: Settings, admin: AdminClient, group: _Group, beat: Callable[[], None]
) -> None:
    """Have all updates read again if offsets or the table's changelog are gone.

    Raises:
        ConfigError: Retention has deleted some of the updates.
    """
    topic = PATIENT_UPDATES
    group.set(topic, group.first_of_others(admin, topic))
    partitions = group.partitions(topic)
    first = first_offsets(admin, topic.name, partitions)
    committed = group.offsets(topic)
    rows = high_watermarks(admin, PATIENTS.name, group.partitions(PATIENTS))
    if not committed:
        if any(rows.values()):
            again = _after_erasures(settings, admin, group, first, beat)
            group.set(topic, {p: first[p] for p in again}, again)
        return
    is_other = any(
        group.is_of_another_table(claim) for _offset, claim in committed.values()
    )
    if any(rows.values()) and not is_other:
        return
    lost = [p for p, (offset, _claim) in committed.items() if offset > first[p]]
    if not lost:
        return
    # Where the first updates are gone, reading again would leave patients out.
    if any(first.values()):
        raise ConfigError(
            f"{PATIENTS.name} was made anew, though updates of partitions {lost} were "
            "processed: notes would be joined with nothing; restore its records and "
            f"reset the group's offsets of {topic.name} to the current ones, or send "
            "all patients again and reset them to the first (runbook, Lost offsets)"
        )
    log.warning(
        "%s was made anew, though updates were processed: all are read again; repeat "
        "the erasures of the last days (runbook, Lost offsets)",
        PATIENTS.name,
    )
    again = {p: max(offset, claim.again) for p, (offset, claim) in committed.items()}
    group.set(topic, {p: first[p] for p in committed}, again)


def _after_erasures(
    settings: Settings,
    admin: AdminClient,
    group: _Group,
    first: Mapping[int, int],
    beat: Callable[[], None],
) -> dict[int, int]:
    """Return the offset after the last null value of each partition that has one.

    Where offsets are gone it is not known what was processed, but null values are
    processed at once: `phistream erase` waits for that.
    """
    topic = PATIENT_UPDATES.name
    ends = end_offsets(admin, topic, first)
    ranges = {p: (first[p], ends[p]) for p in first}
    after: dict[int, int] = {}
    for message in committed_records(settings, topic, ranges, f"{group.name}-offsets"):
        beat()
        if message is not None and message.value() is None:
            after[message.partition() or 0] = (message.offset() or 0) + 1
    if after:
        log.warning(
            "%s: the group has no offsets: all updates are read again; repeat the "
            "erasures of the last days (runbook, Lost offsets)",
            topic,
        )
    return after
