"""A compacted changelog topic as a local table, partition by partition.

The owner of a partition is the only one who writes its rows.  It writes them to the
changelog in the transaction of a batch, and after the commit to the table.  It reads
the changelog only to restore the table, in two steps::

    open    read to the last stable offset          -> ready: the work can be claimed
    settle  claimed, so no one else commits any
            more: read to the high watermark        -> settled: complete, not followed

The second step waits for the outcome of the previous owner's last transaction.  A copy
is a partition that another worker owns, followed so that a takeover has little to read.
A released partition stays open for a moment: a rebalance often gives it back at once.
"""

from __future__ import annotations

import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from confluent_kafka import Message, TopicCollection, TopicPartition

from streams.engine.errors import (
    ConfigError,
    CorruptState,
    DamagedState,
    RetriableError,
    StateInUse,
    StateLocked,
    StateUnusable,
    StreamError,
)
from streams.engine.observer import TableProgress
from streams.kafka.client import (
    CALL_SECONDS,
    CONSUMER,
    admin_client,
    consumer_client,
    translated,
)
from streams.kafka.offsets import END_OF_PARTITION, end_offsets, high_watermarks
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import DAY_MS, TOMBSTONE_DAYS, Topic

from .rocksdb import LOCK, drop_store, holder
from .store import PartitionStore, StoreMemory

log = logging.getLogger(__name__)

READ_AT_ONCE = 2000
RESTORE_SECONDS = 0.5
SETTLE_SECONDS = 0.05
COPY_SECONDS = 0.02
"""Time that reading may block the loop, which must poll its group in between."""
KEPT_SECONDS = 30.0
"""How long a released partition stays open."""
LOCK_SECONDS, LOCK_LOG_SECONDS = 0.5, 5.0
"""How often a store that is locked is tried again, and how often that is logged."""
FLUSH_SECONDS = 3600.0
PURGE_SECONDS, PURGE_SHARE = 15.0, 0.05
"""How often deleted rows are removed from the files, and for which part of the time."""
UNUSED_SECONDS = 600.0
"""How long the files of a store that nobody has open are kept, if they may hold PHI."""
OLDEST_SECONDS = TOMBSTONE_DAYS * DAY_MS / 1000 / 2

RESTORE = {
    # Bounds memory; the default is 64 MB, and a full queue then sleeps for a second.
    "queued.max.messages.kbytes": 16 * 1024,
    "fetch.queue.backoff.ms": 5,
}


class _Phase(Enum):
    """The phase of an open partition: what a worker has to do with it."""

    RESTORING = auto()
    READY = auto()
    SETTLING = auto()
    SETTLED = auto()
    RELEASED = auto()
    COPY = auto()

    @property
    def is_owned(self) -> bool:
        return self not in {_Phase.RELEASED, _Phase.COPY}


@dataclass(slots=True)
class _OpenPartition:
    """An open partition.

    Args:
        store: Its rows.
        phase: What this worker has to do with it.
        since: When it was opened or released, in monotonic seconds.
        target: The offset at which the phase ends, if it ends by reading.
        seconds: Duration of the restore, once it has ended.
        purge_at: When deleted rows are next removed from its files.
    """

    store: PartitionStore
    phase: _Phase
    since: float
    target: int = 0
    seconds: float | None = None
    purge_at: float = 0.0


@dataclass(slots=True)
class _Wait:
    """A wait for another process to close a store, in monotonic seconds."""

    since: float
    try_at: float
    log_at: float


class ChangelogTable:
    """The rows of a changelog topic: those of owned partitions, and copies of others.

    Args:
        settings: Address of the cluster, and the state folder.
        topic: The changelog, compacted.
        owner: Name of the subfolder, one for each worker slot, e.g. ``scrub-0``.
        partitions: The number of partitions of the topic.
        damaged: Called for each store that is dropped because its files are damaged.
        deleted: Called with the key of each row that is read as deleted, and when that
            was, in milliseconds since 1970.
        clock: Monotonic seconds.

    Raises:
        ConfigError: The topic has another number of partitions.
        RetriableError: The cluster does not answer.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: Topic,
        owner: str,
        partitions: int,
        *,
        damaged: Callable[[], None] = lambda: None,
        deleted: Callable[[bytes, int], None] = lambda _key, _at_ms: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topic = topic.name
        self._damaged = damaged
        self._deleted = deleted
        self._lock_seconds = settings.state_lock_seconds
        self._locked: dict[int, _Wait] = {}
        self._folder = Path(settings.state_dir) / settings.group / owner
        self._clock = clock
        self._memory = StoreMemory()
        self._admin = admin_client(settings)
        self._identity = self._checked_id(partitions)
        self._parts: dict[int, _OpenPartition] = {}
        self._to_open: set[int] = set()
        self._to_settle: set[int] = set()
        self._to_reread: set[int] = set()
        self._followed: set[int] = set()
        self._wanted_copies: frozenset[int] = frozenset()
        self._newly_ready: list[int] = []
        self._newly_settled: list[int] = []
        self._flush_at = clock() + FLUSH_SECONDS
        self._purges = topic.phi
        self._unused: dict[Path, float] = {}
        self._look_at = clock()
        self._copy_at = clock()
        self._consumer = consumer_client(
            settings,
            **CONSUMER,
            **RESTORE,
            **{
                "group.id": f"{settings.group}-{owner}-{self._topic}",
                "enable.partition.eof": True,
            },
        )

    def open(self, partitions: Iterable[int]) -> None:
        """Have partitions taken over, by this and the next calls of `ready`."""
        self._to_open.update(p for p in partitions if not self._owns(p))

    def ready(self) -> list[int]:
        """Continue reading; return the partitions that have newly caught up.

        A store that another process has open is waited for, while the others go on.

        Raises:
            RetriableError: The cluster does not answer; the next call tries again.
            StateInUse: Another process has had a store open for too long.
        """
        self._tend()
        now = self._clock()
        wanted = {
            p
            for p in self._to_open
            if p not in self._locked or self._locked[p].try_at <= now
        }
        if wanted:
            self._to_open -= wanted - self._take_over(sorted(wanted))
        self._read_while(_Phase.RESTORING, RESTORE_SECONDS)
        done, self._newly_ready = self._newly_ready, []
        return done

    def settle(self, partitions: Iterable[int]) -> None:
        """Have all read that a previous owner has written, by calls of `settled`.

        Call it when the claims of these partitions were just committed: from then on
        no previous owner can commit.
        """
        self._to_settle.update(p for p in partitions if self._owns(p))

    def settled(self) -> list[int]:
        """Continue reading; return the partitions that are newly complete.

        Their changelog is not followed any more: this worker is its only writer.

        Raises:
            RetriableError: The cluster does not answer; the next call tries again.
        """
        if self._to_settle:
            self._begin_to_settle(self._to_settle)
            self._to_settle.clear()
        self._read_while(_Phase.SETTLING, SETTLE_SECONDS)
        done, self._newly_settled = self._newly_settled, []
        return done

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return the value of a key of an owned partition, or None."""
        return self._owned(partition).store.get(key)

    def scan(
        self, partition: int, prefix: bytes, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of an owned partition by prefix, in the order of bytes.

        Args:
            partition: An owned one.
            prefix: Of the keys.
            start: Smaller keys are left out.
        """
        return self._owned(partition).store.scan(prefix, start)

    def write(
        self, partition: int, rows: Mapping[bytes, bytes | None], next_offset: int
    ) -> None:
        """Write rows that a committed transaction has written to the changelog.

        Args:
            partition: A settled one.
            rows: Values by key, None for a deleted one.
            next_offset: One more than the offset of the last of them.
        """
        part = self._owned(partition)
        if part.phase is not _Phase.SETTLED:
            raise ValueError(f"{self._topic}[{partition}]: written before it settled")
        part.store.write(rows.items(), next_offset, is_current=True)

    def reread(self) -> None:
        """Read what a transaction of unknown outcome may have written.

        Call it when the transaction has ended, i.e. its producer was replaced.

        Raises:
            RetriableError: The changelog was not read in time; nothing can be written
                until another call succeeds.
        """
        # Kept until a call succeeds: what is lacking must not be read from the table.
        reported = {*self._in(_Phase.SETTLED)} - {*self._newly_settled}
        self._to_reread.update(reported)
        self._begin_to_settle({*self._in(_Phase.SETTLED)} | self._to_reread)
        if not self._read_while(_Phase.SETTLING, CALL_SECONDS, self._to_reread):
            raise RetriableError(f"{self._topic}: not read in time; trying again")
        # The loop has these already: they have settled once more, but not newly.
        known, self._to_reread = self._to_reread, set()
        self._newly_settled = [p for p in self._newly_settled if p not in known]

    def release(self, partitions: Iterable[int]) -> None:
        """Give partitions up; their files are kept for a while."""
        wanted = list(partitions)
        for noted in (self._to_open, self._to_settle, self._to_reread):
            noted.difference_update(wanted)
        for partition in wanted:
            self._locked.pop(partition, None)
        gone = [p for p in wanted if self._owns(p)]
        self._unfollow(gone)
        self._withdraw(gone)
        for partition in gone:
            part = self._parts[partition]
            _note_current(part)
            part.phase, part.since = _Phase.RELEASED, self._clock()

    def copy(self, partitions: Iterable[int]) -> None:
        """Keep copies of these partitions while others own them, and no other copies.

        `follow` opens and reads them.
        """
        self._wanted_copies = frozenset(partitions)
        self._close(set(self._in(_Phase.COPY)) - self._wanted_copies)

    def follow(self) -> None:
        """Read a little of the copies, if no owned partition waits for its table."""
        if self._in(_Phase.RESTORING) or self._in(_Phase.SETTLING):
            return
        self._open_a_copy()
        copies = self._in(_Phase.COPY)
        if not copies:
            return
        self._follow(copies)
        deadline = self._clock() + COPY_SECONDS
        try:
            while self._read(0.0) and self._clock() < deadline:
                pass
            self._purge(copies)
        except CorruptState as error:
            damaged = [p for p in copies if self._parts[p].store.is_damaged]
            if not damaged:
                raise
            log.warning("%s: copies %s: %s", self._topic, damaged, error)
            self._delete(damaged)

    @property
    def is_damaged(self) -> bool:
        """True if a store of an owned partition is known to be damaged."""
        return any(
            p.phase.is_owned and p.store.is_damaged for p in self._parts.values()
        )

    def drop(self) -> list[int]:
        """Delete the damaged stores, or all if none is known to be.

        Returns:
            All owned partitions: the write that found the damage may also be missing
            from the others.  They wait until `ready` names them, and are settled again.
        """
        owned = [p for p, part in self._parts.items() if part.phase.is_owned]
        damaged = [p for p in owned if self._parts[p].store.is_damaged]
        self.release(owned)
        self.open(owned)
        self._delete(damaged or owned)
        return owned

    def progress(self) -> list[TableProgress]:
        """Return the progress of each owned partition."""
        return [
            self._progress(p) for p, part in self._parts.items() if part.phase.is_owned
        ]

    def copies(self) -> list[TableProgress]:
        """Return the progress of each copy."""
        return [self._progress(p) for p in self._in(_Phase.COPY)]

    def close(self) -> None:
        """Close all partitions; their files are kept."""
        self._close(list(self._parts))
        self._consumer.close()

    def _take_over(self, partitions: Collection[int]) -> set[int]:
        """Open partitions and begin to read; return those that are locked."""
        stable = end_offsets(self._admin, self._topic, partitions)
        opened = self._opened(partitions)
        for partition, store in opened.items():
            # Not to the high watermark: an open transaction of the previous owner would
            # hold the restore up.  What it may still commit is read after the claim.
            target = stable[partition]
            self._parts[partition] = _OpenPartition(
                store, _Phase.RESTORING, self._clock(), target
            )
            log.info(
                "%s[%d]: table at %d of %d",
                self._topic,
                partition,
                store.next_offset,
                target,
            )
        # Its records would only delay those of the partitions that wait.
        self._unfollow(self._in(_Phase.COPY))
        self._close({*self._in(_Phase.RELEASED)} - self._wanted_copies)
        self._advance()
        return set(partitions) - opened.keys()

    def _begin_to_settle(self, partitions: Collection[int]) -> None:
        # To the high watermark, behind which nothing can come now: this waits for the
        # outcome of the previous owner's last transaction.
        ends = high_watermarks(self._admin, self._topic, partitions)
        for partition, end in ends.items():
            part = self._parts[partition]
            part.phase, part.target = _Phase.SETTLING, end
        self._newly_settled = [p for p in self._newly_settled if p not in ends]
        self._unfollow(self._in(_Phase.COPY))
        self._advance()

    def _opened(self, wanted: Collection[int]) -> dict[int, PartitionStore]:
        """Return the stores of partitions, but for those that are locked.

        They are open already, or opened from their files.
        """
        ends = high_watermarks(self._admin, self._topic, wanted)
        new: dict[int, PartitionStore] = {}
        stores: dict[int, PartitionStore] = {}
        try:
            for partition in wanted:
                part = self._parts.get(partition)
                if part is None or part.store.next_offset > ends[partition]:
                    # The topic has lost records that the table holds.
                    self._close([partition])
                    try:
                        new[partition] = self._open(partition, ends[partition])
                    except StateLocked as error:
                        self._wait_for_lock(partition, error)
                        continue
                    self._locked.pop(partition, None)
                    stores[partition] = new[partition]
                else:
                    stores[partition] = part.store
        except StreamError:
            for store in new.values():
                store.close()
            raise
        return stores

    def _wait_for_lock(self, partition: int, error: StateLocked) -> None:
        """Note that a store is locked.

        Raises:
            StateInUse: It has been for too long.
        """
        now = self._clock()
        wait = self._locked.setdefault(partition, _Wait(now, now, now))
        waited = now - wait.since
        if waited >= self._lock_seconds:
            raise StateInUse(
                f"{error} for {waited:.0f} s; nothing was deleted: end that process, "
                "or give each service a state_dir, group or first_slot of its own"
            )
        wait.try_at = now + LOCK_SECONDS
        if now >= wait.log_at:
            wait.log_at = now + LOCK_LOG_SECONDS
            log.warning(
                "%s; waiting, %.0f of %.0f s", error, waited, self._lock_seconds
            )

    def _open(self, partition: int, end: int | None = None) -> PartitionStore:
        folder = self._path(partition)
        try:
            store = self._store(folder)
            if end is None or store.next_offset <= end:
                return store
            store.close()
            log.warning("%s[%d]: table is ahead of its topic", self._topic, partition)
        except CorruptState as error:
            log.warning("%s[%d]: %s; restored", self._topic, partition, error)
            if isinstance(error, DamagedState):
                self._damaged()
        drop_store(folder)
        return self._store(folder)

    def _store(self, folder: Path) -> PartitionStore:
        return PartitionStore(
            folder, self._identity, oldest=OLDEST_SECONDS, memory=self._memory
        )

    def _open_a_copy(self) -> None:
        """Open one of the missing copies: that takes some time."""
        missing = [p for p in self._wanted_copies if not self._has(p)]
        if not missing or self._clock() < self._copy_at:
            return
        partition = min(missing)
        try:
            part = self._parts.get(partition)
            # Whether it is ahead of the topic is checked when it is taken over.
            store = part.store if part else self._open(partition)
        except RetriableError as error:
            log.warning("%s[%d]: no copy: %s", self._topic, partition, error)
            self._copy_at = self._clock() + KEPT_SECONDS
        else:
            self._parts[partition] = _OpenPartition(store, _Phase.COPY, self._clock())

    def _read_while(
        self, phase: _Phase, seconds: float, among: Collection[int] | None = None
    ) -> bool:
        """Read until no partition is in the phase; return whether that was in time.

        Args:
            phase: It ends by reading.
            seconds: The limit.
            among: The partitions to wait for, if not all.
        """
        deadline = self._clock() + seconds
        while any(among is None or p in among for p in self._in(phase)):
            if self._clock() > deadline:
                return False
            self._follow([*self._in(_Phase.RESTORING), *self._in(_Phase.SETTLING)])
            self._read(0.02)
            self._advance()
        return True

    def _read(self, seconds: float) -> bool:
        """Read records that have arrived; wait for the first; return whether any."""
        try:
            with translated(f"read {self._topic}"):
                first = self._consumer.poll(seconds)
                if first is None:
                    return False
                # Without a timeout: consume() would wait all of it for more records.
                messages = [first, *self._consumer.consume(READ_AT_ONCE, timeout=0)]
            self._apply(messages)
        except StreamError:
            # Some of the records are not in the stores: they are read again.
            self._unfollow(list(self._followed))
            raise
        return True

    def _apply(self, messages: Iterable[Message]) -> None:
        changes: dict[int, list[Message]] = defaultdict(list)
        ends: dict[int, int] = {}
        for message in messages:
            error, partition = message.error(), message.partition() or 0
            if error is None:
                changes[partition].append(message)
            elif error.code() == END_OF_PARTITION:
                ends[partition] = message.offset() or 0
            else:
                log.warning("%s: %s", self._topic, error.name())
        # Neither parsed nor checked: only the owner of a partition writes there.
        for partition in self._followed & changes.keys():
            rows = changes[partition]
            for row in rows:
                if row.value() is None:
                    self._deleted(row.key() or b"", row.timestamp()[1])
            self._parts[partition].store.write(
                ((row.key() or b"", row.value()) for row in rows),
                (rows[-1].offset() or 0) + 1,
                is_current=False,
            )
        for partition in self._followed & ends.keys():
            self._parts[partition].store.reach(ends[partition], is_current=True)

    def _advance(self) -> None:
        """End the phases whose target is reached."""
        done = [p for p, part in self._parts.items() if _is_reached(part)]
        for partition in done:
            part = self._parts[partition]
            if part.seconds is None:
                part.seconds = self._clock() - part.since
            if part.phase is _Phase.RESTORING:
                part.phase = _Phase.READY
                self._newly_ready.append(partition)
            else:
                part.phase = _Phase.SETTLED
                # From here on `write` alone changes it, after each commit.
                self._unfollow([partition])
                self._newly_settled.append(partition)

    def _tend(self) -> None:
        """Close what was released long ago; purge and flush now and then."""
        now = self._clock()
        self._close(
            p
            for p in self._in(_Phase.RELEASED)
            if now - self._parts[p].since > KEPT_SECONDS
        )
        self._purge(self._in(_Phase.SETTLED))
        self._drop_unused()
        if now < self._flush_at:
            return
        # Otherwise a quiet table that is killed would be too old after some days.
        self._flush_at = now + FLUSH_SECONDS
        for part in self._parts.values():
            if part.phase.is_owned:
                _note_current(part)
                part.store.flush(wait=False)

    def _purge(self, partitions: Collection[int]) -> None:
        """Remove deleted rows from files, if they may hold PHI and it is time."""
        if not self._purges:
            return
        now = self._clock()
        for part in (self._parts[partition] for partition in partitions):
            if now >= part.purge_at:
                part.store.purge()
                pause = part.store.merge_seconds / PURGE_SHARE
                part.purge_at = now + max(PURGE_SECONDS, pause)

    def _drop_unused(self) -> None:
        """Delete stores of this topic, of any slot, that nobody has had open for long.

        Only owners and copies learn what is deleted: an erased patient would stay in
        the files of a former owner, or of a slot that there is no more.
        """
        now = self._clock()
        if not self._purges or now < self._look_at:
            return
        self._look_at = now + UNUSED_SECONDS / 10
        wanted = {*self._parts, *self._to_open, *self._wanted_copies}
        ours = {self._path(partition) for partition in wanted}
        abandoned = {
            folder
            for folder in self._folder.parent.glob(f"*/{self._topic}-*")
            if _is_partition(folder, self._topic)
            and folder not in ours
            and holder(folder) is None
            and _holds_files(folder)
        }
        self._unused = {folder: self._unused.get(folder, now) for folder in abandoned}
        for folder, since in self._unused.items():
            if now - since >= UNUSED_SECONDS:
                try:
                    drop_store(folder)
                except (StateLocked, StateUnusable) as error:
                    log.warning("%s; not deleted", error)
                else:
                    log.info(
                        "%s/%s: not used: deleted", folder.parent.name, folder.name
                    )

    def _follow(self, partitions: Iterable[int]) -> None:
        new = [p for p in partitions if p not in self._followed]
        if not new:
            return
        with translated("assign"):
            self._consumer.incremental_assign(
                [
                    TopicPartition(self._topic, p, self._parts[p].store.next_offset)
                    for p in new
                ]
            )
        self._followed.update(new)

    def _unfollow(self, partitions: Iterable[int]) -> None:
        gone = [p for p in partitions if p in self._followed]
        if not gone:
            return
        with translated("unassign"):
            self._consumer.incremental_unassign(
                [TopicPartition(self._topic, p) for p in gone]
            )
        self._followed.difference_update(gone)

    def _close(self, partitions: Iterable[int]) -> None:
        gone = [p for p in partitions if p in self._parts]
        self._unfollow(gone)
        self._withdraw(gone)
        for partition in gone:
            part = self._parts.pop(partition)
            _note_current(part)
            try:
                part.store.close()
            except StreamError as error:
                # What was not flushed is read again by the next owner of the files.
                log.warning("%s[%d]: not flushed: %s", self._topic, partition, error)

    def _delete(self, partitions: Collection[int]) -> None:
        damaged = {p for p in partitions if self._parts[p].store.is_damaged}
        self._close(partitions)
        for partition in partitions:
            try:
                drop_store(self._path(partition))
            except StateLocked as error:
                # Opened in this moment: it is waited for as any other.
                log.warning("%s; not deleted", error)
            else:
                if partition in damaged:
                    self._damaged()

    def _withdraw(self, partitions: Collection[int]) -> None:
        """Do not report these partitions any more."""
        self._newly_ready = [p for p in self._newly_ready if p not in partitions]
        self._newly_settled = [p for p in self._newly_settled if p not in partitions]

    def _progress(self, partition: int) -> TableProgress:
        part = self._parts[partition]
        reached = part.store.next_offset
        return TableProgress(
            partition,
            reached,
            max(0, part.target - reached),
            self._clock() - part.since if part.seconds is None else part.seconds,
            part.store.rows,
        )

    def _owned(self, partition: int) -> _OpenPartition:
        part = self._parts.get(partition)
        if part is None or not part.phase.is_owned:
            raise ValueError(f"{self._topic}[{partition}]: not owned by this worker")
        return part

    def _owns(self, partition: int) -> bool:
        part = self._parts.get(partition)
        return part is not None and part.phase.is_owned

    def _has(self, partition: int) -> bool:
        part = self._parts.get(partition)
        return part is not None and part.phase is not _Phase.RELEASED

    def _in(self, phase: _Phase) -> list[int]:
        return [p for p, part in self._parts.items() if part.phase is phase]

    def _path(self, partition: int) -> Path:
        return self._folder / f"{self._topic}-{partition}"

    def _checked_id(self, partitions: int) -> str:
        with translated(f"describe {self._topic}"):
            described = self._admin.describe_topics(TopicCollection([self._topic]))
            topic = described[self._topic].result(CALL_SECONDS)
        if len(topic.partitions) != partitions:
            raise ConfigError(
                f"{self._topic} has {len(topic.partitions)} partitions, and its input "
                f"{partitions}: both need the same count"
            )
        return str(topic.topic_id)


def _is_partition(folder: Path, topic: str) -> bool:
    return folder.name.removeprefix(f"{topic}-").isdigit() and folder.is_dir()


def _holds_files(folder: Path) -> bool:
    try:
        return any(file.name != LOCK for file in folder.iterdir())
    except OSError as error:
        log.warning("%s: %s", folder.name, os.strerror(error.errno or 0))
        return False


def _is_reached(part: _OpenPartition) -> bool:
    is_reading = part.phase in {_Phase.RESTORING, _Phase.SETTLING}
    return is_reading and part.store.next_offset >= part.target


def _note_current(part: _OpenPartition) -> None:
    """Note that a settled table lacks nothing now: its owner alone changes it."""
    if part.phase is _Phase.SETTLED:
        part.store.reach(0, is_current=True)
