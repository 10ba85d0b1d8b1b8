"""Find the records that have been processed, by the audit events that name them.

Each record that was processed has an audit event, written in the transaction that
committed its offset.  So `phi.audit` tells where a group has got to if its offsets are
gone (`lost_offsets`), and whether they are true if they are there (`Processed`).

An event counts only for the record that it was written for: a topic that was made anew
has other records at the same offsets.  Its seal is checked; with a former key, of which
the seal can't be checked, only the time of the record is compared.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from streams.engine.claim import Claim
from streams.engine.custody import ProcessedOffset
from streams.engine.errors import RetriableError
from streams.engine.records import CommittedOffset, Partition, Record
from streams.kafka.bounded import committed_records
from streams.kafka.client import record_of
from streams.kafka.offsets import end_offsets, first_offsets, high_watermarks
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import PHI_AUDIT
from streams.model.outputs import OUTCOME, RECEIVED, SOURCE, received_header
from streams.model.seals import SEAL, Seal, Seals, audit_key
from streams.operations.settings import Settings

log = logging.getLogger(__name__)

SOURCE_FORM = re.compile(
    rb"(?P<topic>[\w.-]+)/(?P<partition>[0-9]{1,9})/(?P<offset>[0-9]{1,18})"
)
NOT_OF_PROCESSING = frozenset({b"replayed", b"revealed", b"erased", b"discarded"})
"""Outcomes of audit events that tell of a record later than its processing."""
TAIL = 2000
"""Last audit events of each partition that are compared with committed offsets."""
EVENTS_A_SECOND = 15_000
"""That are read, with their records, on a busy host."""
BLOCK = 2000
"""Records of a partition that are compared with audit events at once."""
STABLE_SECONDS = 1.0
"""How long other workers' transactions are waited for at once."""
SILENT_SECONDS = 5.0
"""How long partitions wait for a broker that does not answer, before others go on."""


@dataclass(frozen=True, slots=True)
class AuditedRecord:
    """The record that an audit event names: where it is, and a digest of it."""

    partition: int
    offset: int
    mark: int


@dataclass(slots=True)
class AuditedRecords:
    """The events of the records of one partition, which may be many millions."""

    _offsets: array[int] = field(default_factory=lambda: array("q"))
    _marks: array[int] = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, event: AuditedRecord) -> None:
        """Add one; they come in no order."""
        self._offsets.append(event.offset)
        self._marks.append(event.mark)

    def after_last(self, first: int, end: int) -> int:
        """Return the offset after the last one of a range; ``first`` without any."""
        offsets = np.asarray(self._offsets)
        offsets = offsets[(offsets >= first) & (offsets < end)]
        return int(offsets.max()) + 1 if offsets.size else first

    def marks(self, start: int, end: int) -> Mapping[int, set[int]]:
        """Return the marks of a range by offset."""
        offsets = np.asarray(self._offsets)
        marks: dict[int, set[int]] = defaultdict(set)
        for row in np.flatnonzero((offsets >= start) & (offsets < end)).tolist():
            marks[self._offsets[row]].add(self._marks[row])
        return marks


class AuditTrail:
    """Reads audit events of processed records, and the records that they name.

    Args:
        settings: Of the service.
        group: Whose committed offsets are in question; it names the reader.
        beat: Called now and then.
        silent_seconds: How long a broker may not answer.
    """

    def __init__(
        self,
        settings: Settings,
        group: str,
        beat: Callable[[], None],
        silent_seconds: float = 30.0,
    ) -> None:
        self._settings = settings
        self._reader = f"{group}-offsets"
        self._beat = beat
        self._silent_seconds = silent_seconds
        self._seals = Seals(audit_key(settings.pseudonym_key()))

    def events(
        self, topic: str, ranges: Mapping[int, tuple[int, int]]
    ) -> Iterator[AuditedRecord]:
        """Yield the events of a topic's records in ranges of `phi.audit`."""
        for message in self._read(PHI_AUDIT.name, ranges):
            event = self._event(message, topic.encode())
            if event is not None:
                yield event

    def records(
        self, topic: str, ranges: Mapping[int, tuple[int, int]]
    ) -> Iterator[tuple[Record, set[int]]]:
        """Yield the records in ranges of a topic, with the marks of their events."""
        for message in self._read(topic, ranges):
            record = record_of(message)
            received = received_header(record)
            digests = self._seals.of_input(record), b""
            yield record, {_mark(digest, received) for digest in digests}

    def _read(
        self, topic: str, ranges: Mapping[int, tuple[int, int]]
    ) -> Iterator[Message]:
        messages = committed_records(
            self._settings,
            topic,
            ranges,
            self._reader,
            silent_seconds=self._silent_seconds,
        )
        for message in messages:
            self._beat()
            if message is not None:
                yield message

    def _event(self, message: Message, topic: bytes) -> AuditedRecord | None:
        """Return what an audit event says; None if it tells of no processing.

        Others than workers write events of erasures and replays, which have no seal.
        """
        record = record_of(message)
        headers = record.headers
        source = SOURCE_FORM.fullmatch(headers.get(SOURCE, b""))
        if source is None or source["topic"] != topic:
            return None
        seal = Seal.read(headers.get(SEAL, b""))
        if seal is None or headers.get(OUTCOME) in NOT_OF_PROCESSING:
            return None
        # Under a former key the seal can't be checked: the record's time alone counts.
        digest = b""
        if seal.key_id == self._seals.key_id:
            digest = seal.input
            made = self._seals.of_output(
                PHI_AUDIT.name, record.key, record.value, headers.items(), digest
            )
            if made != seal:
                return None
        mark = _mark(digest, headers.get(RECEIVED, b""))
        return AuditedRecord(int(source["partition"]), int(source["offset"]), mark)


def last_processed(
    admin: AdminClient,
    trail: AuditTrail,
    topic: str,
    events: Mapping[int, AuditedRecords],
) -> dict[int, int]:
    """Return the offsets after the last records that audit events tell of.

    They are looked for from the end on.

    Args:
        admin: A client of the cluster.
        trail: Reads the records.
        topic: Of the records.
        events: By partition; of one that the topic does not have they are left out.
    """
    partitions = sorted(events)
    first = first_offsets(admin, topic, partitions)
    left = dict(end_offsets(admin, topic, partitions))
    after: dict[int, int] = {}
    while left:
        last = {p: events[p].after_last(first[p], end) for p, end in left.items()}
        ranges = {p: (max(first[p], end - BLOCK), end) for p, end in last.items()}
        wanted = {p: events[p].marks(*ranges[p]) for p in ranges}
        for record, marks in trail.records(topic, ranges):
            p = record.partition.index
            if not marks.isdisjoint(wanted[p].get(record.offset, ())):
                after[p] = record.next_offset
        # Events without their record in this block may be those of a former topic.
        left = {
            p: start
            for p, (start, end) in ranges.items()
            if p not in after and first[p] < start < end
        }
    return after


class Processed:
    """Tells how far the records behind committed offsets have been processed.

    A coordinator of Kafka 4.3.1 was seen to serve offsets of thirteen minutes before,
    and none at all, though its log was whole.  A worker that began there would publish
    once more what had been published since (decision 30).

    It is asked by the owner of the partitions, after their committed offsets were read:
    by then nobody else can commit any more, so that events of later records are those
    of transactions whose offsets are lost.

    Args:
        settings: Of the service.
        admin: A client of the cluster.
        group: Whose offsets they are.
        topic: The one of its inputs whose records have audit events.  Updates have
            none: their offsets are taken as they are.
        beat: Called now and then.
    """

    def __init__(
        self,
        settings: Settings,
        admin: AdminClient,
        group: str,
        topic: str,
        beat: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._group = group
        self._topic = topic
        self._beat = beat
        self._trail = AuditTrail(settings, group, beat, SILENT_SECONDS)
        # A third of the time in which the group expects a poll.
        self._max_events = int(settings.poll_seconds * EVENTS_A_SECOND / 3)
        self._with_gaps: dict[tuple[Partition, int], ProcessedOffset] = {}
        self._asked: dict[Partition, tuple[CommittedOffset, Mapping[int, int]]] = {}

    def __call__(
        self, committed: Mapping[Partition, CommittedOffset]
    ) -> dict[Partition, ProcessedOffset]:
        """Return the progress of each partition.

        Where a person has set the offset that is the partition's end: nothing tells how
        far its records are to be processed once more.

        Raises:
            RetriableError: The cluster does not answer, or a transaction hides events.
        """
        processed = {
            partition: self._with_gaps.get(
                (partition, offset.offset), ProcessedOffset(offset.offset)
            )
            for partition, offset in committed.items()
        }
        ours = {p: offset for p, offset in committed.items() if p.topic == self._topic}
        by_hand = [p.index for p, offset in ours.items() if _is_set_by_hand(offset)]
        ends = end_offsets(self._admin, self._topic, by_hand)
        for index, end in ends.items():
            partition = Partition(self._topic, index)
            processed[partition] = ProcessedOffset(max(end, ours[partition].offset))
        wanted = {
            partition: offset
            for partition, offset in ours.items()
            if partition.index not in ends and not processed[partition].has_gaps
        }
        if wanted:
            processed |= self._look_back(wanted, self._stable_ends(wanted))
        for partition, progress in processed.items():
            if progress.has_gaps:
                # Only a person can change it.
                self._with_gaps[partition, ours[partition].offset] = progress
                self._report(partition, ours[partition])
        return processed

    def _report(self, partition: Partition, committed: CommittedOffset) -> None:
        log.error(
            "%s: of the records from %d on, which group %s has not committed, some "
            "were processed and others were not: see Old offsets in the runbook",
            partition,
            committed.offset,
            self._group,
        )

    def _stable_ends(
        self, committed: Mapping[Partition, CommittedOffset]
    ) -> Mapping[int, int]:
        """Return the ends of `phi.audit`, once no transaction hides an event.

        When a question is asked again, the transactions of the first time are waited
        for: others begin all the time.

        Raises:
            RetriableError: One is still open.
        """
        partitions = range(partition_counts(self._admin).get(PHI_AUDIT.name, 0))
        high = high_watermarks(self._admin, PHI_AUDIT.name, partitions)
        for partition, offset in committed.items():
            if partition not in self._asked or self._asked[partition][0] != offset:
                self._asked[partition] = offset, high
        through = [self._asked[partition][1] for partition in committed]
        if not partitions or any(p not in high for known in through for p in known):
            raise RetriableError(f"{PHI_AUDIT.name}: its partitions are not known")
        deadline = time.monotonic() + STABLE_SECONDS
        while True:
            ends = end_offsets(self._admin, PHI_AUDIT.name, partitions)
            if all(ends[p] >= end for known in through for p, end in known.items()):
                for partition in committed:
                    del self._asked[partition]
                return ends
            if time.monotonic() > deadline:
                raise RetriableError(
                    f"{PHI_AUDIT.name}: a transaction is open; if that lasts, find it "
                    "with kafka-transactions.sh find-hanging, and abort it"
                )
            self._beat()
            time.sleep(0.1)

    def _look_back(
        self, wanted: Mapping[Partition, CommittedOffset], ends: Mapping[int, int]
    ) -> dict[Partition, ProcessedOffset]:
        """Return the progress of partitions that have processed records."""
        committed = {partition.index: offset for partition, offset in wanted.items()}
        first = first_offsets(self._admin, PHI_AUDIT.name, ends)
        processed: dict[int, ProcessedOffset] = {}
        # The last events are enough where nothing is amiss, which is nearly always;
        # otherwise as many are read as there is time for.
        for tail in (TAIL, max(TAIL, self._max_events // len(ends))):
            ranges = {p: (max(first[p], end - tail), end) for p, end in ends.items()}
            events = self._ahead(committed, ranges)
            absent = {p for p, offset in committed.items() if offset.is_absent}
            processed = self._compared(
                committed, {p: events[p] for p in events if p not in absent}
            )
            last = last_processed(
                self._admin,
                self._trail,
                self._topic,
                {p: events[p] for p in events if p in absent},
            )
            processed |= {p: ProcessedOffset(offset) for p, offset in last.items()}
            is_all = all(start == first[p] for p, (start, _end) in ranges.items())
            is_clear = not any(progress.has_gaps for progress in processed.values())
            if is_all or (is_clear and absent <= processed.keys()):
                break
        return {
            Partition(self._topic, index): progress
            for index, progress in processed.items()
        }

    def _ahead(
        self,
        committed: Mapping[int, CommittedOffset],
        ranges: Mapping[int, tuple[int, int]],
    ) -> dict[int, AuditedRecords]:
        """Return the events of records behind what is committed."""
        ahead: dict[int, AuditedRecords] = defaultdict(AuditedRecords)
        for event in self._trail.events(self._topic, ranges):
            start = committed.get(event.partition)
            if start is not None and event.offset >= start.offset:
                ahead[event.partition].add(event)
        return ahead

    def _compared(
        self,
        committed: Mapping[int, CommittedOffset],
        events: Mapping[int, AuditedRecords],
    ) -> dict[int, ProcessedOffset]:
        """Compare all records from the committed offsets on with events."""
        ends = end_offsets(self._admin, self._topic, events)
        processed: dict[int, ProcessedOffset] = {}
        ranges: dict[int, tuple[int, int]] = {}
        for p, records in events.items():
            start = committed[p].offset
            end = records.after_last(start, ends[p])
            # Markers and undone records have offsets, too, but not that many.
            if end - start > 4 * len(records) + BLOCK:
                processed[p] = ProcessedOffset(end, has_gaps=True)
            else:
                ranges[p] = start, end
        wanted = {p: events[p].marks(*ranges[p]) for p in ranges}
        lacking: set[int] = set()
        for record, marks in self._trail.records(self._topic, ranges):
            p = record.partition.index
            if marks.isdisjoint(wanted[p].get(record.offset, ())):
                lacking.add(p)
            else:
                # One without an event before one with: some were left out.
                processed[p] = ProcessedOffset(
                    record.next_offset, has_gaps=p in lacking
                )
        return processed


def _is_set_by_hand(committed: CommittedOffset) -> bool:
    return not (committed.is_absent or Claim.read(committed.metadata).of)


def _mark(digest: bytes, received: bytes) -> int:
    mark = hashlib.blake2b(digest + b"/" + received, digest_size=8).digest()
    return int.from_bytes(mark, "big")
