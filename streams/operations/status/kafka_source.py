"""The picture, asked of Kafka itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator

from confluent_kafka import Consumer, ConsumerGroupState
from confluent_kafka.admin import MemberDescription

from streams.cluster.client import CALL_SECONDS, CONSUMER
from streams.cluster.client_errors import translated
from streams.cluster.lag import LagMonitor, PartitionLag
from streams.cluster.lag_status import WINDOW
from streams.cluster.offsets import GroupOffsets, admin_client, end_offsets
from streams.cluster.topics import (
    HL7_RAW,
    NOTES,
    PHI_AUDIT,
    TO_HAVE_THEM,
    partition_counts,
)
from streams.engine.errors import ConfigError
from streams.engine.settings import Settings

from .audit import AuditTail
from .snapshot import GroupView, Member, Picture, Quarantine, printable

log = logging.getLogger(__name__)


class Kafka:
    """Reads lag, groups and audit events of one cluster, again and again.

    Args:
        settings: Where the cluster is, and the groups' prefix.
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
        self._watched = [
            (f"{settings.group}-intake", HL7_RAW.name),
            (f"{settings.group}-scrub", NOTES.name),
        ]
        self._admin = admin_client(settings)
        self._tail = self._audit_tail()
        self._monitor = LagMonitor(settings, self._watched, clock)
        self._began = clock()
        self._last: tuple[float, int] | None = None
        self._claims = [
            (group, topic, GroupOffsets(settings, group, topic))
            for group, topic in self._watched
        ]

    def read(self) -> Picture:
        """Return the picture of this moment.

        Raises:
            RetriableError: The cluster did not answer.
        """
        ledger = self._tail.read()
        lags = tuple(self._monitor.read())
        now = self._clock()
        rates, rate_seconds = ledger.rates(now)
        refused, refused_seconds = ledger.refused(now)
        return Picture(
            at=now,
            source=self._settings.bootstrap,
            rates=rates,
            rate_seconds=rate_seconds,
            arriving=self._arriving(now, lags),
            lags=lags,
            is_judged=now - self._began > WINDOW,
            groups=tuple(map(self._group, (name for name, _ in self._watched))),
            quarantine=tuple(self._quarantine(lags)),
            refused=refused,
            refused_seconds=refused_seconds,
            latency=ledger.latency(now),
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._tail.close()
        self._monitor.close()
        for _group, _topic, offsets in self._claims:
            offsets.close()

    def _audit_tail(self) -> AuditTail:
        counts = partition_counts(self._admin)
        if PHI_AUDIT.name not in counts:
            raise ConfigError(f"{PHI_AUDIT.name}: missing, or hidden; {TO_HAVE_THEM}")
        partitions = range(counts[PHI_AUDIT.name])
        ends = end_offsets(self._admin, PHI_AUDIT.name, partitions)
        group = f"{self._settings.group}-status"
        properties = {**CONSUMER, "group.id": group, "enable.partition.eof": True}
        consumer = Consumer(self._settings.client(**properties), logger=log)
        return AuditTail(consumer, ends, self._clock)

    def _arriving(self, now: float, lags: Iterable[PartitionLag]) -> float | None:
        """Return records a second into hl7.raw since the last look."""
        end = sum(lag.stable for lag in lags if lag.topic == HL7_RAW.name)
        last, self._last = self._last, (now, end)
        if last is None or now <= last[0]:
            return None
        return max(0, end - last[1]) / (now - last[0])

    def _quarantine(self, lags: Iterable[PartitionLag]) -> Iterator[Quarantine]:
        known = [(lag.group, lag.partition) for lag in lags]
        for group, topic, offsets in self._claims:
            partitions = sorted(p for name, p in known if name == group)
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


def _member(described: MemberDescription) -> Member:
    held = described.assignment.topic_partitions
    return Member(
        printable(described.group_instance_id or described.client_id),
        printable(described.host.lstrip("/")),
        tuple(sorted(each.partition for each in held)),
    )
