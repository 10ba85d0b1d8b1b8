"""Moves a deployment from before `patient.updates` to the topics and state of today.

Before, intake wrote merged records to `patients`, and every worker merged what it read.
Now scrub alone writes there, and takes the last value of a key as it is.  So what a
last value lacks of earlier ones is written once, while no worker runs.

Every step may be repeated: a run that was killed leaves whole transactions, and the
next one writes what is still lacking.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from confluent_kafka import Message, TopicPartition

from ..cluster.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    record_of,
    translated,
)
from ..cluster.offsets import (
    END_OF_PARTITION,
    GroupOffsets,
    end_offsets,
    high_watermarks,
)
from ..cluster.partitioner import partition_of
from ..cluster.producer import KafkaProducer
from ..cluster.topic_admin import partition_counts
from ..cluster.topics import (
    ALL_TOPICS,
    HL7_RAW,
    NOTES,
    PATIENT_UPDATES,
    PATIENTS,
    Stage,
)
from ..engine.errors import (
    ConfigError,
    Fenced,
    RetriableError,
    StreamError,
    UnknownOutcome,
)
from ..engine.records import Output, Record
from ..engine.settings import Settings
from ..tables.rocksdb import drop_store
from .folded import FoldedPatients

READ_AT_ONCE = 2000
SILENT_SECONDS = 60.0
AGAIN = "run phistream topics migrate again"

Progress = Callable[[int], None]
"""Called with the number of records read or written so far."""


def require_stopped(settings: Settings) -> None:
    """Check that no worker runs, not even one that was killed a moment ago.

    Raises:
        ConfigError: A group has members.
        RetriableError: The cluster did not answer.
    """
    stages = {f"{settings.group}-{stage}": stage for stage in Stage}
    admin = admin_client(settings)
    with translated("describe groups"):
        answers = admin.describe_consumer_groups(
            [*stages], request_timeout=CALL_SECONDS
        )
        members = {name: len(each.result().members) for name, each in answers.items()}
    running = [
        f"{name} has {count} members; stop phistream run {stages[name]} on every host"
        for name, count in members.items()
        if count
    ]
    if running:
        raise ConfigError(
            f"{', and '.join(running)} (SIGTERM), wait until their sessions have ended "
            f"({settings.session_seconds:.0f} s), and {AGAIN}"
        )


def missing_topics(settings: Settings) -> list[str]:
    """Return the names of the topics that are to be created.

    Raises:
        ConfigError: There is nothing to migrate, or `notes`, `patients` and
            `patient.updates` have different numbers of partitions.
    """
    counts = partition_counts(admin_client(settings))
    absent = [each.name for each in (NOTES, PATIENTS) if each.name not in counts]
    if absent:
        raise ConfigError(
            f"topics missing, or hidden from this user: {', '.join(absent)}; a new "
            "deployment needs no migration: run phistream topics create"
        )
    advice = {
        PATIENTS.name: "section wrong_partition of deploy/runbook.md says what to do",
        PATIENT_UPDATES.name: f"delete it if nothing was published there, and {AGAIN}",
    }
    for name, action in advice.items():
        if counts.get(name, counts[NOTES.name]) != counts[NOTES.name]:
            raise ConfigError(
                f"{name} has {counts[name]} partitions and notes has "
                f"{counts[NOTES.name]}: both need the same count; {action}"
            )
    return [each.name for each in ALL_TOPICS if each.name not in counts]


class PatientsMigration:
    """Writes what the last values of `patients` lack; a context manager.

    Args:
        settings: Address of the cluster, and the state folder.
        is_dry_run: Only read, even while workers write.

    Raises:
        StateLocked: Another migration runs with this state folder.
    """

    def __init__(self, settings: Settings, *, is_dry_run: bool = False) -> None:
        self._settings = settings
        self._admin = admin_client(settings)
        self._ends: Mapping[int, int] = {}
        self._misplaced: list[str] = []
        self.folded = FoldedPatients(_folder(settings) / "migrate")
        # Its start aborts the transaction of a run that was killed.
        self._producer = None if is_dry_run else self._new_producer()

    def __enter__(self) -> PatientsMigration:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.folded.close()

    def read(self, progress: Progress) -> int:
        """Fold all committed records; return their number.

        Raises:
            RetriableError: The topic was not read in time.
        """
        partitions = range(partition_counts(self._admin)[PATIENTS.name])
        if self._producer is None:
            self._ends = end_offsets(self._admin, PATIENTS.name, partitions)
        else:
            self._ends = self._stable_ends(partitions)
        count = 0
        for records in self._records():
            self.folded.add([each for each in records if self._is_in_place(each)])
            count += len(records)
            progress(count)
        self.folded.link()
        return count

    def write(self, progress: Progress) -> int:
        """Write whole records where the last value lacks something; return how many.

        Raises:
            ConfigError: A worker was started, or a foreign producer writes.
            RetriableError: The cluster did not answer; run again.
        """
        if end_offsets(self._admin, PATIENTS.name, self._ends) != self._ends:
            raise ConfigError(
                "patients: was written to while it was read; stop who writes there, "
                f"and {AGAIN}"
            )
        count = 0
        try:
            for batch in self._batches():
                require_stopped(self._settings)
                self._commit(batch)
                count += len(batch)
                progress(count)
        except (RetriableError, UnknownOutcome, Fenced) as error:
            raise RetriableError(
                f"patients: {error}; what was committed is whole: {AGAIN}"
            ) from None
        return count

    def left(self) -> Iterator[str]:
        """Yield the positions of records that stay as they are, and why."""
        for position in self.folded.refused():
            yield f"{position}: breaks its schema, or can't be merged"
        for position in self._misplaced:
            yield f"{position}: its key belongs to another partition"

    def _is_in_place(self, record: Record) -> bool:
        is_so = partition_of(record.key or b"", len(self._ends)) == (
            record.partition.index
        )
        if not is_so:
            self._misplaced.append(str(record))
        return is_so

    def _new_producer(self) -> KafkaProducer:
        return KafkaProducer(self._settings, f"{self._settings.group}-migrate")

    def _stable_ends(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """Return the ends, once no transaction is open before them."""
        deadline = time.monotonic() + self._settings.transaction_seconds + CALL_SECONDS
        while True:
            ends = end_offsets(self._admin, PATIENTS.name, partitions)
            if ends == high_watermarks(self._admin, PATIENTS.name, partitions):
                return ends
            if time.monotonic() > deadline:
                raise RetriableError(
                    "patients: a transaction stays open; find it with "
                    f"kafka-transactions.sh find-hanging, abort it, and {AGAIN}"
                )
            time.sleep(0.2)

    def _records(self) -> Iterator[list[Record]]:
        consumer = consumer_client(
            self._settings,
            **CONSUMER,
            **{
                "group.id": f"{self._settings.group}-migrate",
                "enable.partition.eof": True,
            },
        )
        left = {p for p, end in self._ends.items() if end}
        consumer.assign([TopicPartition(PATIENTS.name, p, 0) for p in sorted(left)])
        try:
            silent_since = time.monotonic()
            while left:
                with translated("read patients"):
                    messages = consumer.consume(READ_AT_ONCE, timeout=0.5)
                if messages:
                    silent_since = time.monotonic()
                elif time.monotonic() - silent_since > SILENT_SECONDS:
                    raise RetriableError(f"patients: not read in time; {AGAIN}")
                left -= {m.partition() or 0 for m in messages if _is_end(m)}
                yield [record_of(m) for m in messages if m.error() is None]
        finally:
            consumer.close()

    def _batches(self) -> Iterator[list[Output]]:
        """Yield whole records by transactions, each bounded in number and bytes."""
        schema = PATIENTS.schema
        headers = {"schema": f"{schema.kind}/{schema.version}".encode()}
        batch: list[Output] = []
        size = 0
        for key, value in self.folded.lacking():
            batch.append(Output(PATIENTS.name, key, value, headers))
            size += len(value)
            is_full = len(batch) >= self._settings.batch_records
            if is_full or size >= self._settings.batch_bytes:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _commit(self, batch: Sequence[Output]) -> None:
        if self._producer is None:
            raise StreamError("a dry run writes nothing")
        self._producer.begin()
        for each in batch:
            self._producer.produce(each)
        self._producer.commit()


def tables_of_intake(settings: Settings) -> list[Path]:
    """Return the folders below `state_dir` that intake no longer needs."""
    return [
        each
        for each in sorted(_folder(settings).glob("intake-*"))
        if each.is_dir()
        and all(part.name.startswith("patients-") for part in each.iterdir())
    ]


def remove_tables(folders: Sequence[Path]) -> None:
    """Delete the folders, each table under its lock.

    Raises:
        StateLocked: A process has a table open; nothing of it is deleted.
    """
    for folder in folders:
        for table in folder.iterdir():
            drop_store(table)
        shutil.rmtree(folder)


def waiting(settings: Settings) -> Mapping[str, int]:
    """Return the number of offsets, markers included, that wait on each input."""
    admin = admin_client(settings)
    counts = partition_counts(admin)
    found = {}
    for stage, topic in ((Stage.INTAKE, HL7_RAW), (Stage.SCRUB, NOTES)):
        partitions = range(counts.get(topic.name, 0))
        group = GroupOffsets(settings, f"{settings.group}-{stage}", topic.name)
        committed = group.read(partitions)
        group.close()
        ends = end_offsets(admin, topic.name, partitions)
        found[topic.name] = sum(end - committed[p] for p, end in ends.items())
    return found


def _folder(settings: Settings) -> Path:
    return Path(settings.state_dir).expanduser() / settings.group


def _is_end(message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() == END_OF_PARTITION:
        return True
    raise RetriableError(f"read patients: {error.name()}; {AGAIN}")
