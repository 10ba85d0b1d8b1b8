"""What the audit events of the last hour tell: rates, dead letters, latency.

They are counted by watch's own rules (`streams.operations.watch.facts`).  Offsets would
count markers and aborted copies; and whoever may read phi.audit need not read
dead.letters, which hold the originals.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import Consumer, Message, TopicPartition

from streams.cluster.client import CALL_SECONDS, record_of
from streams.cluster.client_errors import translated
from streams.cluster.offsets import END_OF_PARTITION
from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENTS,
    PHI_AUDIT,
)
from streams.engine.errors import RetriableError
from streams.engine.records import Record

from ..watch.facts import facts_of
from ..watch.figures import below
from ..watch.sketch import quantiles
from .snapshot import Latency, Rates, Refused

MINUTE, HOUR = 60.0, 3600.0
MOST = 2000
"""Events of a partition that the first look goes back, so that it is soon done."""

COUNTED: Mapping[tuple[str, str], tuple[str, str]] = {
    (HL7_RAW.name, "intake"): ("audit/intake", ""),
    ("intake", NOTES.name): ("routed/notes", ""),
    ("intake", PATIENTS.name): ("routed/patients", ""),
    ("intake", DEAD_LETTERS.name): ("refused/intake/", ""),
    (NOTES.name, "scrub"): ("audit/scrub", ""),
    ("scrub", NOTES_SCRUBBED.name): ("audit/scrub", "refused/scrub/"),
    ("scrub", DEAD_LETTERS.name): ("refused/scrub/", ""),
}
"""What moves along each arrow: counts of a name, less those of another."""


class Ledger:
    """Counts by second, for an hour.

    Args:
        since: Nothing before that is counted, seconds since 1970.
    """

    def __init__(self, since: float) -> None:
        self.since = since
        self._seconds: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, record: Record, now: float) -> None:
        """Count an audit event; one dated ahead of now counts as of now."""
        at = min(record.timestamp_ms / 1000, now)
        if at < max(self.since, now - HOUR):
            return
        counts = facts_of(
            PHI_AUDIT.name, record.value, record.headers, record.timestamp_ms
        )
        self._seconds[int(at)].update(counts)
        if len(self._seconds) > 2 * HOUR:
            self._forget(now)

    def rates(self, now: float) -> tuple[Rates, float]:
        """Return records a second along each arrow, and over how long."""
        span = max(1.0, min(MINUTE, now - self.since))
        total = self._total(now - span)
        return {
            edge: max(0, _sum(total, name) - _sum(total, less)) / span
            for edge, (name, less) in COUNTED.items()
        }, span

    def refused(self, now: float) -> tuple[tuple[Refused, ...], float]:
        """Return the dead letters of the last hour by reason, and over how long."""
        span = min(HOUR, now - self.since)
        rows = below(self._total(now - span), "refused")
        reasons = ((name.partition("/"), count) for name, count in rows.items())
        return tuple(Refused(p[0], p[2], count) for p, count in reasons), span

    def latency(self, now: float) -> Latency | None:
        """Return how long notes of the last minute took from hl7.raw on."""
        found = below(self._total(now - MINUTE), "latency/scrub")
        if not found:
            return None
        sketch = {int(bucket): count for bucket, count in found.items()}
        return Latency(*quantiles(sketch, (0.5, 0.9, 0.99)))

    def _forget(self, now: float) -> None:
        gone = [second for second in self._seconds if second < now - HOUR]
        for second in gone:
            del self._seconds[second]

    def _total(self, first: float) -> Counter[str]:
        total: Counter[str] = Counter()
        for second, counts in self._seconds.items():
            if second >= first:
                total.update(counts)
        return total


class AuditTail:
    """Follows phi.audit as a plain reader, from up to an hour back.

    Args:
        consumer: Of stable records, with end-of-partition events; closed here.
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
        self.ledger = Ledger(clock() - HOUR)
        with translated("read phi.audit"):
            consumer.assign([*self._starts(ends)])

    def read(self) -> Ledger:
        """Take in what has come; the first time all that is there."""
        deadline = time.monotonic() + CALL_SECONDS
        while time.monotonic() < deadline:
            with translated("read phi.audit"):
                messages = self._consumer.consume(1000, timeout=0.05)
            self._take(messages)
            if not messages and not self._behind:
                return self.ledger
        if self._behind:
            raise RetriableError("read phi.audit: no answer in time")
        return self.ledger

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _starts(self, ends: Mapping[int, int]) -> Iterable[TopicPartition]:
        hour_ago = int((self._clock() - HOUR) * 1000)
        wanted = [TopicPartition(PHI_AUDIT.name, p, hour_ago) for p in ends]
        for each in self._consumer.offsets_for_times(wanted, timeout=CALL_SECONDS):
            end = ends[each.partition]
            first = each.offset if each.offset >= 0 else end
            if first < end - MOST:
                # Not all of the hour: what is counted begins where this part does.
                self._cut.add(each.partition)
                first = end - MOST
            yield TopicPartition(PHI_AUDIT.name, each.partition, first)

    def _take(self, messages: Iterable[Message]) -> None:
        now = self._clock()
        for message in messages:
            error, partition = message.error(), message.partition() or 0
            if error is None:
                record = record_of(message)
                if partition in self._cut:
                    self._cut.discard(partition)
                    begins = record.timestamp_ms / 1000
                    self.ledger.since = max(self.ledger.since, begins)
                self.ledger.add(record, now)
            elif error.code() == END_OF_PARTITION:
                self._behind.discard(partition)
            elif not error.retriable():
                raise RetriableError(f"read phi.audit: {error.name()}")


def _sum(counts: Mapping[str, int], name: str) -> int:
    if not name.endswith("/"):
        return counts.get(name, 0)
    return sum(count for each, count in counts.items() if each.startswith(name))
