"""The `patients` topic, materialised as one table per partition."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import orjson
from confluent_kafka import (
    Consumer,
    Message,
    TopicCollection,
    TopicPartition,
)

from schemas import SchemaError

from ..cluster.client import CALL_SECONDS, CONSUMER, admin_client, translated
from ..cluster.offsets import END_OF_PARTITION, end_offsets, high_watermarks
from ..cluster.partitioner import partition_of
from ..cluster.topics import DAY_MS, PATIENTS, TOMBSTONE_DAYS
from ..engine.claim import Claim
from ..engine.deadline import Limited, Overrun, without_limit
from ..engine.errors import (
    ConfigError,
    CorruptState,
    InvalidRecord,
    RetriableError,
    StreamError,
)
from ..engine.observer import TableProgress
from ..engine.reasons import ReasonCode
from ..engine.settings import Settings
from .demographics import PatientRecord, merge_records
from .store import Table, drop_table

log = logging.getLogger(__name__)

UNREADABLE = b"!"
READ_AT_ONCE = 2000
RESTORE_SECONDS = 0.5
"""Time that a restore may block the loop, which must poll its group in between."""


class PatientsTable:
    """The record of every patient of the opened partitions.

    A new value is merged with the old one, so former names stay in the table although
    compaction removes them from the topic.

    Args:
        settings: Address of the cluster, and the state folder.
        owner: Name of the subfolder, one for each worker slot, e.g. ``scrub-0``.
        partitions: The number of partitions of the topic.
        limited: Runs calls with a limit of CPU time; raises `Overrun`.
    """

    def __init__(
        self,
        settings: Settings,
        owner: str,
        partitions: int,
        *,
        limited: Limited = without_limit,
    ) -> None:
        self._folder = Path(settings.state_dir) / settings.group / owner
        self._count = partitions
        self._limited = limited
        self._merge_seconds = settings.note_seconds
        self._admin = admin_client(settings)
        self._identity = self._topic_id()
        self._tables: dict[int, Table] = {}
        self._reached: dict[int, int] = {}
        self._targets: dict[int, int] = {}
        self._ready: list[int] = []
        self._opened_at: dict[int, float] = {}
        self._restored_in: dict[int, float] = {}
        self.incomplete: set[bytes] = set()
        self._consumer = Consumer(
            settings.client(
                **CONSUMER,
                **{
                    "group.id": f"{settings.group}-{owner}-table",
                    "enable.partition.eof": True,
                },
            ),
            logger=log,
        )

    def open(self, partitions: Iterable[int]) -> None:
        """Open partitions, each from the offset that its table has reached."""
        wanted = [p for p in partitions if p not in self._tables]
        ends = end_offsets(self._admin, PATIENTS.name, wanted)
        opened: dict[int, Table] = {}
        try:
            for partition in wanted:
                opened[partition] = self._open(partition, ends[partition])
            self._follow(opened)
        except StreamError:
            for table in opened.values():
                table.close()
            raise
        for partition, table in opened.items():
            self._tables[partition] = table
            self._reached[partition] = table.next_offset
            self._targets[partition] = ends[partition]
            self._opened_at[partition] = time.monotonic()
            log.info(
                "patients[%d]: table at %d of %d",
                partition,
                table.next_offset,
                ends[partition],
            )
        self._update_ready()

    def close(self, partitions: Iterable[int] | None = None) -> None:
        """Close partitions, or all; their files are kept."""
        gone = list(self._tables) if partitions is None else list(partitions)
        ours = [p for p in gone if p in self._tables]
        if ours:
            self._consumer.incremental_unassign(
                [TopicPartition(PATIENTS.name, p) for p in ours]
            )
        for partition in ours:
            self._tables.pop(partition).close()
            self._targets.pop(partition, None)
        self._ready = [p for p in self._ready if p not in ours]
        if partitions is None:
            self._consumer.close()

    def drop(self) -> list[int]:
        """Delete the opened tables and restore them; return their partitions."""
        partitions = list(self._tables)
        self._consumer.incremental_unassign(
            [TopicPartition(PATIENTS.name, p) for p in partitions]
        )
        for partition in partitions:
            table = self._tables.pop(partition)
            try:
                table.close()
            except CorruptState:
                log.warning("patients[%d]: damaged table did not close", partition)
            drop_table(self._path(partition))
        self.open(partitions)
        return partitions

    def ready(self) -> list[int]:
        """Continue reading; return the partitions that have newly caught up."""
        deadline = time.monotonic() + RESTORE_SECONDS
        while self._targets and time.monotonic() < deadline:
            self._read(0.05)
            self._update_ready()
        done, self._ready = self._ready, []
        return done

    def catch_up(self, partitions: Iterable[int]) -> None:
        """Read all stable records that the topic holds now.

        Raises:
            RetriableError: The topic was not read in time.
        """
        ends = end_offsets(self._admin, PATIENTS.name, partitions)
        if not self._read_to(ends, CALL_SECONDS):
            raise RetriableError("patients: not read in time; trying again")

    def wait_for_open_transactions(
        self, partitions: Iterable[int], seconds: float
    ) -> None:
        """Read the records of open transactions as well, if they end in time."""
        self._read_to(high_watermarks(self._admin, PATIENTS.name, partitions), seconds)

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return the record of a patient as JSON, or None for an unknown patient.

        Raises:
            InvalidRecord: The patient record breaks its schema or can't be merged.
        """
        value = self._tables[partition].get(key)
        if value == UNREADABLE:
            raise InvalidRecord(
                ReasonCode.PATIENT_RECORD,
                "patients: the record breaks its schema or can't be merged; write a "
                "tombstone under its key, then send the patient again",
            )
        return value

    def progress(self) -> list[TableProgress]:
        """Return the progress of each opened partition."""
        now = time.monotonic()
        return [
            TableProgress(
                partition,
                self._reached[partition],
                max(0, self._targets.get(partition, 0) - self._reached[partition]),
                self._restored_in[partition]
                if partition not in self._targets
                else now - self._opened_at[partition],
                table.rows,
            )
            for partition, table in self._tables.items()
        ]

    def _read_to(self, ends: Mapping[int, int], seconds: float) -> bool:
        """Read up to the offsets; return whether they were reached in time."""
        deadline = time.monotonic() + seconds
        while any(self._reached[p] < end for p, end in ends.items()):
            if time.monotonic() > deadline:
                return False
            self._read(0.05)
        return True

    def _read(self, seconds: float) -> None:
        """Read the records that have arrived; wait for the first one only."""
        with translated("read patients"):
            first = self._consumer.poll(seconds)
            if first is None:
                return
            # Without a timeout: consume() would wait all of it for more records.
            messages = [first, *self._consumer.consume(READ_AT_ONCE, timeout=0)]
        changes: dict[int, list[Message]] = defaultdict(list)
        for message in messages:
            partition = message.partition() or 0
            if partition not in self._tables:
                continue
            error = message.error()
            if error is None:
                changes[partition].append(message)
            elif error.code() == END_OF_PARTITION:
                self._reach(partition, message.offset() or 0)
            else:
                log.warning("patients: %s", error.name())
        for partition, group in changes.items():
            self._apply(partition, group)

    def _apply(self, partition: int, messages: Sequence[Message]) -> None:
        """Merge records into the table; suspects one by one, each in hand."""
        table, done = self._tables[partition], 0
        while table.claim.is_quarantine and done < len(messages):
            self._apply_suspect(partition, messages[done])
            done += 1
        if done < len(messages):
            self._apply_together(partition, messages[done:])

    def _apply_together(self, partition: int, messages: Sequence[Message]) -> None:
        table = self._tables[partition]
        table.write_claim(Claim(is_held=True))
        rows: dict[bytes, bytes | None] = {}
        for message in messages:
            key = self._key_of(message)
            old = rows[key] if key in rows else table.get(key)
            rows[key] = self._merged(key, old, message.value())
        after = (messages[-1].offset() or 0) + 1
        table.write(rows, after)
        self._reach(partition, after)

    def _apply_suspect(self, partition: int, message: Message) -> None:
        table, offset = self._tables[partition], message.offset() or 0
        key = self._key_of(message)
        merged: bytes | None = UNREADABLE
        if table.claim.is_poison(offset):
            log.error(
                "patients[%d]@%d: repeatedly ended its worker: refused",
                partition,
                offset,
            )
        else:
            table.write_claim(table.claim.taken_over(0).taking(offset))
            merged = self._merged(key, table.get(key), message.value())
        table.write({key: merged}, offset + 1, table.claim.passed().released())
        self._reach(partition, offset + 1)

    def _key_of(self, message: Message) -> bytes:
        key = message.key() or b""
        if partition_of(key, self._count) != message.partition():
            raise ConfigError(
                f"patients[{message.partition()}]@{message.offset()}: its key belongs "
                "to another partition; some producer does not use "
                "partitioner=murmur2_random, and the join would miss"
            )
        return key

    def _merged(
        self, key: bytes, old: bytes | None, value: bytes | None
    ) -> bytes | None:
        """Return the new row; with UNREADABLE only the patient's notes are refused."""
        if value is None:
            return None
        try:
            return self._limited(
                lambda: self._merge(key, old, value), self._merge_seconds
            )
        except MemoryError:
            # Any call may fail when memory runs out, and the row would be kept.
            raise
        except (Exception, Overrun):
            log.exception("patients: a record can't be merged")
            return UNREADABLE

    def _merge(self, key: bytes, old: bytes | None, value: bytes) -> bytes:
        try:
            newer = orjson.loads(value)
            PATIENTS.schema.check(newer)
        except (ValueError, SchemaError) as error:
            log.warning("patients: a record is refused (%s)", type(error).__name__)
            return UNREADABLE
        if old is None or old in (UNREADABLE, value):
            return value
        update = PatientRecord.from_json(newer)
        record = merge_records(PatientRecord.from_json(orjson.loads(old)), update)
        # The topic's last value may lack values of earlier ones.
        is_lacking = not _values(record) <= _values(update)
        (self.incomplete.add if is_lacking else self.incomplete.discard)(key)
        return orjson.dumps(PATIENTS.schema.versioned(record.to_json()))

    def _reach(self, partition: int, offset: int) -> None:
        self._reached[partition] = max(self._reached[partition], offset)

    def _update_ready(self) -> None:
        for partition, target in list(self._targets.items()):
            if self._reached[partition] >= target:
                del self._targets[partition]
                taken = time.monotonic() - self._opened_at[partition]
                self._restored_in[partition] = taken
                self._ready.append(partition)

    def _follow(self, tables: Mapping[int, Table]) -> None:
        with translated("assign"):
            self._consumer.incremental_assign(
                [
                    TopicPartition(PATIENTS.name, p, table.next_offset)
                    for p, table in tables.items()
                ]
            )

    def _open(self, partition: int, end: int) -> Table:
        folder = self._path(partition)
        oldest = TOMBSTONE_DAYS * DAY_MS / 1000 / 2
        try:
            table = Table(folder, self._identity, oldest=oldest)
            if table.next_offset <= end:
                if table.claim.is_held:
                    log.warning(
                        "patients[%d]: the last owner died merging it", partition
                    )
                    table.write_claim(table.claim.taken_over(READ_AT_ONCE).released())
                return table
            table.close()
            log.warning("patients[%d]: table is ahead of its topic", partition)
        except CorruptState as error:
            log.warning("patients[%d]: %s", partition, error)
        drop_table(folder)
        return Table(folder, self._identity, oldest=oldest)

    def _path(self, partition: int) -> Path:
        return self._folder / f"patients-{partition}"

    def _topic_id(self) -> str:
        with translated("describe patients"):
            described = self._admin.describe_topics(TopicCollection([PATIENTS.name]))
            return str(described[PATIENTS.name].result(CALL_SECONDS).topic_id)


def _values(record: PatientRecord) -> frozenset[tuple[str, object]]:
    """Return all values of the record, current and former."""
    return frozenset(
        (each.name, value)
        for part in (record.current, record.former)
        for each in fields(part)
        for value in getattr(part, each.name)
    )
