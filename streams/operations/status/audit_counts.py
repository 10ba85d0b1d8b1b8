"""Rates, dead letters and latency from the audit events of the last hour.

The events are counted by the same rules and windows as in watch.  Offsets would not do:
they include transaction markers and aborted copies.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import Consumer, Message, TopicPartition

from streams.engine.errors import RetriableError
from streams.engine.records import Record
from streams.kafka.client import CALL_SECONDS, record_of, translated
from streams.kafka.offsets import END_OF_PARTITION
from streams.kafka.topics import PHI_AUDIT
from streams.operations.counts.counters import counts_of
from streams.operations.counts.figures import (
    Edge,
    by_stage_and_code,
    count,
    latency_quantiles,
)
from streams.operations.counts.windows import (
    HOUR,
    MINUTE,
    Bucket,
    RecordCounts,
    Window,
    roll_up,
    window_counts,
)

from .snapshot import EDGES, DeadLetterCount, Latency, Repeated

MAX_EVENTS = 2000
"""Events of a partition that the first reading goes back, so that it is soon done."""


class AuditCounts:
    """Counts by window, in memory.

    Args:
        since: Earlier events are not counted; seconds since 1970.
    """

    def __init__(self, since: float) -> None:
        self.since = since
        self._buckets: dict[str, Bucket] = {}

    def add(self, partition: int, events: Iterable[Record], now: float) -> None:
        """Count audit events of one partition; one dated ahead counts as of now."""
        records = [
            RecordCounts(
                each.offset,
                each.timestamp_ms / 1000,
                counts_of(PHI_AUDIT.name, each.value, each.headers, each.timestamp_ms),
            )
            for each in events
            if each.timestamp_ms / 1000 >= self.since
        ]
        self._buckets |= roll_up(self._buckets.get, partition, records, now)

    def rates(self, now: float) -> tuple[Mapping[Edge, float], float]:
        """Return records a second along each edge, and the time they are over."""
        total, seconds = self._total(MINUTE, now)
        return {e: count(total, name) / seconds for e, name in EDGES.items()}, seconds

    def refused(self, now: float) -> tuple[tuple[DeadLetterCount, ...], float]:
        """Return the dead letters by stage and code, and the time they are over."""
        total, seconds = self._total(HOUR, now)
        return tuple(
            DeadLetterCount(**row) for row in by_stage_and_code(total, "refused")
        ), seconds

    def repeated(self, now: float) -> Repeated:
        """Return the repeated messages over the time of `refused`."""
        total, _seconds = self._total(HOUR, now)
        return Repeated(total["repeated/messages"], total["repeated/conflicts"])

    def latency(self, now: float) -> Latency | None:
        """Return the latency of the notes of the last minute."""
        found = latency_quantiles(self._total(MINUTE, now)[0], "scrub")
        return None if None in found else Latency(*found)

    def _total(self, window: Window, now: float) -> tuple[Counter[str], float]:
        total = window_counts(self._buckets.items(), now)[window.name].total(self.since)
        return total, max(1.0, now - max(window.first_start(now), self.since))


class AuditReader:
    """Reads phi.audit as a plain consumer, from up to an hour ago.

    Args:
        consumer: Of committed records, with end-of-partition events; closed here.
        ends: The last stable offset of each partition.
        clock: Seconds since 1970.

    Raises:
        RetriableError: The cluster did not answer.
    """

    def __init__(
        self, consumer: Consumer, ends: Mapping[int, int], clock: Callable[[], float]
    ) -> None:
        self._consumer = consumer
        self._clock = clock
        self._behind = {p for p, end in ends.items() if end}
        self._cut: set[int] = set()
        self._counts = AuditCounts(clock() - HOUR.seconds)
        with translated("read phi.audit"):
            consumer.assign([*self._starts(ends)])

    def read(self) -> AuditCounts:
        """Count new events; the first time, everything up to the end."""
        deadline = time.monotonic() + CALL_SECONDS
        while time.monotonic() < deadline:
            with translated("read phi.audit"):
                messages = self._consumer.consume(1000, timeout=0.05)
            self._take(messages)
            if not messages and not self._behind:
                return self._counts
        if self._behind:
            raise RetriableError("read phi.audit: no answer in time")
        return self._counts

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _starts(self, ends: Mapping[int, int]) -> Iterable[TopicPartition]:
        hour_ago = int((self._clock() - HOUR.seconds) * 1000)
        times = [TopicPartition(PHI_AUDIT.name, p, hour_ago) for p in ends]
        for each in self._consumer.offsets_for_times(times, timeout=CALL_SECONDS):
            end = ends[each.partition]
            first = each.offset if each.offset >= 0 else end
            if first < end - MAX_EVENTS:
                # Less than an hour: counting begins with the first event read.
                self._cut.add(each.partition)
                first = end - MAX_EVENTS
            yield TopicPartition(PHI_AUDIT.name, each.partition, first)

    def _take(self, messages: Sequence[Message]) -> None:
        events: defaultdict[int, list[Record]] = defaultdict(list)
        for message in messages:
            error, partition = message.error(), message.partition() or 0
            if error is None:
                events[partition].append(record_of(message))
            elif error.code() == END_OF_PARTITION:
                self._behind.discard(partition)
            elif not error.retriable():
                raise RetriableError(f"read phi.audit: {error.name()}")
        for partition in self._cut & events.keys():
            first = events[partition][0].timestamp_ms / 1000
            self._counts.since = max(self._counts.since, first)
        self._cut -= events.keys()
        for partition, records in events.items():
            self._counts.add(partition, records, self._clock())
