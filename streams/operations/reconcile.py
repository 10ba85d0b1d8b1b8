"""The independent auditor: knows only topics, partitions, offsets and sources.

It pairs each input record with its audit event and with what the audit event says the
record gave (notes, scrubbed notes, dead letters), and it looks at the order per key.
It shares no code with the engine but the names of topics and headers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from ..cluster.client import admin_client, translated
from ..cluster.offsets import GroupOffsets, end_offsets, first_offsets
from ..cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PHI_AUDIT,
    partition_counts,
)
from ..engine.errors import RetriableError
from ..engine.settings import Settings
from ..events.outputs import OUTPUTS, SOURCE

log = logging.getLogger(__name__)

SILENT_SECONDS = 30.0
INPUTS = (HL7_RAW, NOTES)
OUTCOMES = (NOTES, NOTES_SCRUBBED, DEAD_LETTERS)


@dataclass(slots=True)
class Verdict:
    """What became of the records of one input topic.

    Where all is sound, the inputs are the sum of `scrubbed`, `dead_letters`, `no_note`
    and `pending`.

    Args:
        topic: The input topic.
        inputs: Stable records it holds (transaction markers are no records).
        scrubbed: Of them, how many gave a note or a scrubbed note.
        dead_letters: Of them, how many gave a dead letter.
        no_note: Of them, how many owe none, e.g. admissions: their audit event says so.
        pending: Past the group's committed offset, so not due yet.
        missing: Due, but without audit event, or with less than it promises.
        doubled: With two audit events, or with more than it promises.
        out_of_order: Outputs of a key that stand before an earlier input's.
    """

    topic: str
    inputs: int = 0
    scrubbed: int = 0
    dead_letters: int = 0
    no_note: int = 0
    pending: int = 0
    missing: int = 0
    doubled: int = 0
    out_of_order: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Return whether nothing is missing, doubled or out of order."""
        return self.missing == self.doubled == self.out_of_order == 0


Counts = npt.NDArray[np.int32]


class _Ledger:
    """Counts by input offset, for one partition: arrays, so that millions fit."""

    def __init__(self, first: int, end: int) -> None:
        size = max(0, end - first)
        self.first = first
        self.is_input = np.zeros(size, dtype=bool)
        self.audits: Counts = np.zeros(size, dtype=np.int32)
        self.promised: Counts = np.zeros(size, dtype=np.int32)
        self.given: Counts = np.zeros(size, dtype=np.int32)
        self.dead: Counts = np.zeros(size, dtype=np.int32)

    def row(self, offset: int) -> int | None:
        """Return the row of an offset, or None when retention has taken it."""
        row = offset - self.first
        return row if 0 <= row < len(self.audits) else None


class Auditor:
    """Reads the topics once, up to their last stable offsets of this moment.

    Args:
        settings: Where the cluster is.
        progress: Called with the number of records read so far.
    """

    def __init__(
        self, settings: Settings, *, progress: Callable[[int], None] = lambda _n: None
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._admin: AdminClient = admin_client(settings)
        self._counts: Mapping[str, int] = partition_counts(self._admin)
        self._ledgers: dict[tuple[str, int], _Ledger] = {}
        self._order: dict[tuple[str, str, int, bytes], int] = {}
        self._verdicts = {topic.name: Verdict(topic.name) for topic in INPUTS}
        self._read = 0

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each input topic."""
        # Inputs' ends are taken first: whatever they hold below the committed offset
        # had its outputs visible before; later outputs of later inputs are not asked.
        committed = {t.name: self._committed(t.name) for t in INPUTS}
        for topic in INPUTS:
            self._open(topic.name)
        for topic in (*INPUTS, NOTES_SCRUBBED, DEAD_LETTERS, PHI_AUDIT):
            for message in self._messages(topic.name):
                self._note(topic.name, message)
        for topic in INPUTS:
            for partition in range(self._counts.get(topic.name, 0)):
                due = committed[topic.name].get(partition, 0)
                self._judge(topic.name, partition, due)
        return list(self._verdicts.values())

    def _open(self, topic: str) -> None:
        partitions = range(self._counts.get(topic, 0))
        firsts = first_offsets(self._admin, topic, partitions)
        ends = end_offsets(self._admin, topic, partitions)
        for partition in partitions:
            self._ledgers[topic, partition] = _Ledger(
                firsts[partition], ends[partition]
            )

    def _committed(self, topic: str) -> dict[int, int]:
        stage = "intake" if topic == HL7_RAW.name else "scrub"
        group = f"{self._settings.group}-{stage}"
        partitions = range(self._counts.get(topic, 0))
        offsets = GroupOffsets(self._settings, group, topic)
        try:
            return offsets.read(partitions)
        finally:
            offsets.close()

    def _messages(self, topic: str) -> Iterator[Message]:
        """Yield the stable records of a topic, partition by partition in order."""
        partitions = range(self._counts.get(topic, 0))
        ends = end_offsets(self._admin, topic, partitions)
        firsts = first_offsets(self._admin, topic, partitions)
        open_ends = {p: end for p, end in ends.items() if end > firsts[p]}
        consumer = self._consumer(f"{self._settings.group}-reconcile")
        consumer.assign([TopicPartition(topic, p, firsts[p]) for p in open_ends])
        silent_since = time.monotonic()
        while open_ends:
            with translated("read"):
                messages = consumer.consume(1000, timeout=0.2)
            if messages:
                silent_since = time.monotonic()
            elif time.monotonic() - silent_since > SILENT_SECONDS:
                raise RetriableError(f"{topic}: no answer for {SILENT_SECONDS:.0f} s")
            for message in messages:
                partition, offset = message.partition() or 0, message.offset() or 0
                is_record = message.error() is None
                if is_record and offset < ends[partition]:
                    self._read += 1
                    yield message
                # At the end stand transaction markers: only the EOF event tells.
                if offset + is_record >= ends[partition]:
                    open_ends.pop(partition, None)
            self._progress(self._read)
        consumer.close()

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            self._settings.client(
                **{
                    "group.id": group,
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                }
            ),
            logger=log,
        )

    def _note(self, topic: str, message: Message) -> None:
        if topic in self._verdicts:
            ledger = self._ledgers[topic, message.partition() or 0]
            row = ledger.row(message.offset() or 0)
            if row is not None:
                ledger.is_input[row] = True
        headers = dict(message.headers() or [])
        source = _source(headers.get(SOURCE))
        if source is None:
            return
        origin, partition, offset = source
        ledger_of_origin = self._ledgers.get((origin, partition))
        row = ledger_of_origin.row(offset) if ledger_of_origin else None
        if ledger_of_origin is None or row is None:
            return
        if topic == PHI_AUDIT.name:
            ledger_of_origin.audits[row] += 1
            ledger_of_origin.promised[row] += _number(headers.get(OUTPUTS))
            return
        ledger_of_origin.given[row] += 1
        if topic == DEAD_LETTERS.name:
            ledger_of_origin.dead[row] += 1
        self._look_at_order(topic, origin, partition, offset, message)

    def _look_at_order(
        self, topic: str, origin: str, partition: int, offset: int, message: Message
    ) -> None:
        key = message.key()
        if not isinstance(key, bytes):
            return  # Kafka promises no order without a key
        place = (topic, origin, partition, key)
        if offset < self._order.get(place, -1):
            self._verdicts[origin].out_of_order += 1
            self._example(origin, partition, offset, "out of order")
        self._order[place] = max(offset, self._order.get(place, -1))

    def _judge(self, topic: str, partition: int, committed: int) -> None:
        ledger, verdict = self._ledgers[topic, partition], self._verdicts[topic]
        offsets = np.arange(len(ledger.audits)) + ledger.first
        due = ledger.is_input & (offsets < committed)
        # A note owes exactly one outcome, whatever its audit event may say.
        owed = np.ones_like(ledger.given) if topic == NOTES.name else ledger.promised
        short = (ledger.audits == 0) | (ledger.given < owed)
        over = ledger.is_input & ((ledger.audits > 1) | (ledger.given > owed))
        verdict.inputs += int(ledger.is_input.sum())
        verdict.scrubbed += int((due & (ledger.given > ledger.dead)).sum())
        verdict.dead_letters += int((due & (ledger.dead > 0)).sum())
        owes_none = (owed == 0) & (ledger.given == 0) & ~short
        verdict.no_note += int((due & owes_none).sum())
        verdict.pending += int((ledger.is_input & ~due).sum())
        verdict.missing += int((due & short).sum())
        verdict.doubled += int(over.sum())
        for offset in offsets[due & short]:
            self._example(topic, partition, int(offset), "missing")
        for offset in offsets[over]:
            self._example(topic, partition, int(offset), "doubled")

    def _example(self, topic: str, partition: int, offset: int, what: str) -> None:
        examples = self._verdicts[topic].examples
        if len(examples) < 10:
            examples.append(f"{topic}[{partition}]@{offset} {what}")


def _source(raw: object) -> tuple[str, int, int] | None:
    if not isinstance(raw, bytes):
        return None
    topic, partition, offset = raw.decode().rsplit("/", 2)
    return topic, int(partition), int(offset)


def _number(raw: object) -> int:
    return int(raw) if isinstance(raw, bytes) else 0
