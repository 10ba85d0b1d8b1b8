"""Snapshots from Kafka itself."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import MemberDescription

from streams.engine.errors import ConfigError
from streams.kafka.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    translated,
)
from streams.kafka.lag import WINDOW, LagMonitor, PartitionLag
from streams.kafka.offsets import GroupOffsets, end_offsets
from streams.kafka.topic_admin import TO_HAVE_THEM, partition_counts
from streams.kafka.topics import PHI_AUDIT
from streams.operations.held_notes import HeldReader, WaitingNote
from streams.operations.lag_poller import ArrivalRate, stage_groups
from streams.operations.settings import Settings

from .audit_counts import AuditReader
from .snapshot import GroupView, Held, Member, Quarantine, Snapshot, printable


class KafkaSource:
    """Reads lag, groups and audit events of one cluster repeatedly.

    Args:
        settings: Connection settings and the groups' prefix.
        clock: Seconds since 1970.

    Raises:
        ConfigError: A topic is missing.
        RetriableError: The cluster did not answer.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._groups = stage_groups(settings)
        self._admin = admin_client(settings)
        self._audit = self._audit_reader()
        self._held = HeldReader(settings)
        self._monitor = LagMonitor(settings, self._groups, clock)
        self._began = clock()
        self._arrivals = ArrivalRate()
        self._offsets = [
            (group, topic, GroupOffsets(settings, group, topic))
            for group, topic in self._groups
        ]

    def read(self) -> Snapshot:
        """Return a snapshot.

        Raises:
            RetriableError: The cluster did not answer.
        """
        counts = self._audit.read()
        lags = tuple(self._monitor.read())
        now = self._clock()
        self._arrivals.add(now, lags)
        rates, rate_seconds = counts.rates(now)
        refused, refused_seconds = counts.refused(now)
        return Snapshot(
            at=now,
            source=self._settings.bootstrap,
            rates=rates,
            rate_seconds=rate_seconds,
            arriving=self._arrivals.rate(),
            lags=lags,
            is_judged=now - self._began > WINDOW,
            groups=tuple(self._group(name) for name in dict(self._groups)),
            quarantine=tuple(self._quarantine(lags)),
            held=_held(self._held.read()),
            repeated=counts.repeated(now),
            refused=refused,
            refused_seconds=refused_seconds,
            latency=counts.latency(now),
        )

    def close(self) -> None:
        """Close the connections."""
        self._audit.close()
        self._held.close()
        self._monitor.close()
        for _group, _topic, offsets in self._offsets:
            offsets.close()

    def _audit_reader(self) -> AuditReader:
        counts = partition_counts(self._admin)
        if PHI_AUDIT.name not in counts:
            raise ConfigError(f"{PHI_AUDIT.name}: missing, or hidden; {TO_HAVE_THEM}")
        partitions = range(counts[PHI_AUDIT.name])
        ends = end_offsets(self._admin, PHI_AUDIT.name, partitions)
        group = f"{self._settings.group}-status"
        properties = {**CONSUMER, "group.id": group, "enable.partition.eof": True}
        consumer = consumer_client(self._settings, **properties)
        return AuditReader(consumer, ends, self._clock)

    def _quarantine(self, lags: Iterable[PartitionLag]) -> Iterator[Quarantine]:
        known = [(lag.group, lag.topic, lag.partition) for lag in lags]
        for group, topic, offsets in self._offsets:
            partitions = sorted(p for *place, p in known if place == [group, topic])
            for partition, claim in offsets.claims(partitions).items():
                if claim.is_quarantine:
                    record = None if claim.record < 0 else claim.record
                    yield Quarantine(
                        group, topic, partition, claim.suspects, record, claim.deaths
                    )

    def _group(self, name: str) -> GroupView:
        with translated("describe groups"):
            [future] = self._admin.describe_consumer_groups([name]).values()
            described = future.result(CALL_SECONDS)
        members = sorted(map(_member, described.members), key=lambda each: each.name)
        state = ConsumerGroupState(described.state).name.lower()
        return GroupView(name, state, tuple(members))


def _held(notes: Sequence[WaitingNote]) -> Held:
    since = min((each.since_ms / 1000 for each in notes), default=None)
    return Held(len(notes), since)


def _member(described: MemberDescription) -> Member:
    assigned: defaultdict[str, list[int]] = defaultdict(list)
    for place in described.assignment.topic_partitions:
        assigned[printable(place.topic)].append(place.partition)
    return Member(
        printable(described.group_instance_id or described.client_id),
        printable(described.host.lstrip("/")),
        {topic: tuple(sorted(assigned[topic])) for topic in sorted(assigned)},
    )
