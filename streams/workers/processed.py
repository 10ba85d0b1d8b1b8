"""Which records have been processed, by the audit events that name them.

Each record that was processed has an audit event, written in the transaction that
committed its offset.  So `phi.audit` tells where a group has got to if its offsets are
gone (`lost_offsets`), and whether they are true if they are there (`Processed`).

An event counts only with its seal, and only for the record that it was written for: a
topic that was made anew has other records at the same offsets.
"""

from __future__ import annotations

import hashlib
import logging
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from ..cluster.bounded import committed_records
from ..cluster.client import record_of
from ..cluster.offsets import end_offsets, first_offsets
from ..cluster.topics import PHI_AUDIT, partition_counts
from ..engine.records import CommittedOffset, Partition, Record
from ..engine.settings import Settings
from ..events.outputs import OUTCOME, RECEIVED, SOURCE, received_header
from ..events.seals import SEAL, Seal, Seals, audit_key

log = logging.getLogger(__name__)

SOURCE_FORM = re.compile(
    rb"(?P<topic>[\w.-]+)/(?P<partition>[0-9]{1,9})/(?P<offset>[0-9]{1,18})"
)
NOT_OF_PROCESSING = frozenset({b"replayed", b"revealed", b"erased", b"discarded"})
"""Outcomes of audit events that tell of a record later than its processing."""
TAIL = 2000
"""Last audit events of each partition that are compared with committed offsets."""
MAX_TAIL = 200_000
"""The most that are read if those do not reach back to a committed offset."""
SILENT_SECONDS = 5.0
"""How long partitions wait for a broker that does not answer, before others go on."""


@dataclass(frozen=True, slots=True)
class Event:
    """What an audit event says of its record: where it is, and a digest of it."""

    partition: int
    offset: int
    mark: int


@dataclass(slots=True)
class Events:
    """The events of the records of one partition, which may be many millions."""

    _offsets: array[int] = field(default_factory=lambda: array("q"))
    _marks: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, event: Event) -> None:
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
        found: dict[int, set[int]] = defaultdict(set)
        for at in np.flatnonzero((offsets >= start) & (offsets < end)).tolist():
            found[self._offsets[at]].add(self._marks[at])
        return found


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
    ) -> Iterator[Event]:
        """Yield the events of a topic's records in ranges of `phi.audit`."""
        for message in self._read(PHI_AUDIT.name, ranges):
            event = self._event(message, topic.encode())
            if event is not None:
                yield event

    def records(
        self, topic: str, ranges: Mapping[int, tuple[int, int]]
    ) -> Iterator[tuple[Record, set[int]]]:
        """Yield the records in ranges of a topic, with the marks of their events.

        With a former key a seal can't be checked: only the time is compared.
        """
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

    def _event(self, message: Message, topic: bytes) -> Event | None:
        """Return what an audit event says; None if it tells of no processing.

        Others than workers write events of erasures and replays, which have no seal.
        """
        record = record_of(message)
        headers = record.headers
        found = SOURCE_FORM.fullmatch(headers.get(SOURCE, b""))
        if found is None or found["topic"] != topic:
            return None
        seal = Seal.read(headers.get(SEAL, b""))
        if seal is None or headers.get(OUTCOME) in NOT_OF_PROCESSING:
            return None
        digest = b""
        if seal.key_id == self._seals.key_id:
            digest = seal.input
            made = self._seals.of_output(
                PHI_AUDIT.name, record.key, record.value, headers.items(), digest
            )
            if made != seal:
                return None
        mark = _mark(digest, headers.get(RECEIVED, b""))
        return Event(int(found["partition"]), int(found["offset"]), mark)


class Processed:
    """Tells from where on the records of partitions have not been processed.

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
            none: that they are read once more changes nothing.
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
        self._trail = AuditTrail(settings, group, beat, SILENT_SECONDS)
        self._partitions = range(partition_counts(admin).get(PHI_AUDIT.name, 0))

    def __call__(
        self, committed: Mapping[Partition, CommittedOffset]
    ) -> dict[Partition, int]:
        """Return the offset after the last processed record of each partition.

        It is the committed offset, but for one that is old or absent.  Partitions of
        which some later records were processed and others were not are left out: going
        on there would publish notes twice, or never.

        Raises:
            RetriableError: The cluster does not answer.
        """
        found = {each: at.offset for each, at in committed.items()}
        ours = {p.index: at for p, at in committed.items() if p.topic == self._topic}
        last, uneven = self._look_back(ours)
        found |= {Partition(self._topic, p): offset for p, offset in last.items()}
        for each in [Partition(self._topic, p) for p in sorted(uneven)]:
            del found[each]
            log.error(
                "%s: some records from %d on, where group %s stands, were processed, "
                "and others were not: the partition stands still; see Old offsets in "
                "the runbook",
                each,
                committed[each].offset,
                self._group,
            )
        return found

    def _look_back(
        self, committed: Mapping[int, CommittedOffset]
    ) -> tuple[dict[int, int], set[int]]:
        """Return the offsets after the last processed records, and uneven partitions.

        Only partitions are in the first that have processed records behind what is
        committed.
        """
        first = first_offsets(self._admin, PHI_AUDIT.name, self._partitions)
        ends = end_offsets(self._admin, PHI_AUDIT.name, self._partitions)
        tail = TAIL
        while True:
            ranges = {p: (max(first[p], end - tail), end) for p, end in ends.items()}
            last, uneven = self._compared(committed, self._ahead(committed, ranges))
            is_all = all(start == first[p] for p, (start, _end) in ranges.items())
            if not uneven or is_all or tail >= MAX_TAIL:
                return last, uneven
            tail *= 10

    def _ahead(
        self,
        committed: Mapping[int, CommittedOffset],
        ranges: Mapping[int, tuple[int, int]],
    ) -> dict[int, Events]:
        """Return the events of records behind what is committed."""
        found: dict[int, Events] = defaultdict(Events)
        for event in self._trail.events(self._topic, ranges):
            at = committed.get(event.partition)
            if at is not None and event.offset >= at.offset:
                found[event.partition].add(event)
        return found

    def _compared(
        self,
        committed: Mapping[int, CommittedOffset],
        events: Mapping[int, Events],
    ) -> tuple[dict[int, int], set[int]]:
        """Compare records with events; an absent offset may belong to any time."""
        ends = end_offsets(self._admin, self._topic, events)
        ranges = {
            p: (committed[p].offset, each.after_last(committed[p].offset, ends[p]))
            for p, each in events.items()
        }
        wanted = {p: events[p].marks(*ranges[p]) for p in events}
        last: dict[int, int] = {}
        lacking: set[int] = set()
        uneven: set[int] = set()
        for record, marks in self._trail.records(self._topic, ranges):
            p = record.partition.index
            if marks.isdisjoint(wanted[p].get(record.offset, ())):
                lacking.add(p)
            else:
                last[p] = record.next_offset
                if p in lacking and not committed[p].is_absent:
                    uneven.add(p)
        return last, uneven


def _mark(digest: bytes, received: bytes) -> int:
    found = hashlib.blake2b(digest + b"/" + received, digest_size=8).digest()
    return int.from_bytes(found, "big")
