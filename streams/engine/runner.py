"""The main loop: poll, process, stage, commit.  Read this module first.

A record that stops its worker must not stop its partition.  A record that takes too
much CPU time is interrupted (`deadline`); its batch is processed again one record at a
time, and it alone becomes a dead letter.  A record that ends the whole process is found
by the next owners of its partition (`claim`): they process suspects one at a time, and
one that has ended two of them is not processed any more.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Protocol

from .checkpoint import Checkpoint
from .custody import Custody
from .deadline import Limited, Overrun, without_limit
from .errors import (
    CorruptState,
    FatalError,
    Fenced,
    GivenUp,
    InvalidRecord,
    RecordRefused,
    StreamError,
    UnknownOutcome,
)
from .observer import Observer
from .reasons import ReasonCode
from .records import CommittedOffset, Output, Partition, Record

log = logging.getLogger(__name__)

MICRO_BATCH_RECORDS = 64
"""Enough for vectorised detection."""

POISON_REASON = (
    "the record repeatedly ended the worker that processed it, and is not processed "
    "any more: look at the logs of the workers, then at the original"
)
DEADLINE_REASON = (
    "processing the record alone took more CPU time than note_seconds and "
    "note_seconds_per_mb allow"
)

Outcome = Sequence[Output] | InvalidRecord


class Consumer(Protocol):
    """The part of a Kafka consumer that the loop needs."""

    def poll(self, max_records: int, seconds: float) -> Sequence[Record]:
        """Return up to ``max_records``, fewer after ``seconds``."""

    def resume(self, partitions: Iterable[int]) -> None:
        """Deliver the records of these partitions from now on."""

    def pause(self, partitions: Iterable[int]) -> None:
        """Hold back the records of these partitions."""

    def rewind(self) -> Mapping[Partition, CommittedOffset]:
        """Go back to the committed offsets, and return them."""

    def group_metadata(self) -> object:
        """Return what the producer needs to commit offsets for the group."""


class Processor(Protocol):
    """A pure function of a batch and the state that it reads."""

    def ready(self) -> Iterable[int]:
        """Return the partitions whose state has caught up since the last call."""

    def settled(self, claimed: Iterable[int]) -> Iterable[int]:
        """Return the partitions whose state holds all that was committed before.

        Args:
            claimed: Newly; from now on no previous owner can commit.
        """

    def due(self, claimed: Collection[int]) -> Mapping[int, Sequence[Output]]:
        """Return outputs that no record causes but time, by partition.

        Args:
            claimed: All partitions that are claimed.
        """

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return one outcome per record: its outputs, or why there can be none.

        A call may be interrupted at any point; `aborted` and `rebuild` follow then.
        """

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the outputs for a record that can't be processed."""

    def committed(self, written: Mapping[Partition, int]) -> None:
        """Handle the commit: the outputs of the last batch are visible.

        Args:
            written: The offset after the last record of each changelog's partition.
        """

    def aborted(self) -> None:
        """Discard everything that belongs to the last batch."""

    def reread(self) -> None:
        """Bring the state up to date: the last batch may have been committed."""

    def rebuild(self) -> None:
        """Replace everything that `process` changes in place: it was interrupted."""

    def drop_state(self) -> Iterable[int]:
        """Delete corrupt local state; return the partitions that must wait for it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of size and time.

    Args:
        max_records: Per transaction; halved after a failure, then doubled again.
        batch_seconds: Time that a batch waits for more records after its first.
        micro_batch_bytes: Keys and values processed in one call; a larger record is
            processed alone.
        note_seconds: CPU time for a micro-batch, or for a record alone.
        note_seconds_per_mb: Additional CPU time for each megabyte.
        micro_batch_seconds: Upper bound of the sum of both.
        commit_seconds: Time after which a batch commits what is done and reads the rest
            again; a third of it for suspects, so that other partitions go on.
        max_failures: Failed transactions in a row before the process gives up.
    """

    max_records: int
    batch_seconds: float
    micro_batch_bytes: int = 256 * 1024
    note_seconds: float = 5.0
    note_seconds_per_mb: float = 15.0
    micro_batch_seconds: float = 30.0
    commit_seconds: float = 15.0
    max_failures: int = 10

    def cpu_seconds(self, records: Sequence[Record]) -> float:
        """Return the CPU time that processing the records may take."""
        size = sum(record.size for record in records) / 1e6
        allowed = self.note_seconds + self.note_seconds_per_mb * size
        return min(allowed, self.micro_batch_seconds)

    def seconds_before(self, records: Sequence[Record]) -> float:
        """Return the age from which on a batch leaves these records to the next one.

        They may take half of its time.  More is kept free only where the transaction,
        which lives twice as long, would else time out: next to a short timeout a batch
        would never have a second micro-batch.
        """
        seconds = self.cpu_seconds(records)
        kept_free = min(seconds, self.commit_seconds / 2)
        return min(self.commit_seconds - kept_free, 1.9 * self.commit_seconds - seconds)


class Runner:
    """Move records from a consumer through a processor into checkpoints.

    Args:
        consumer: Delivers records in order within a partition.
        processor: Turns records into outputs.
        checkpoint: On a producer whose transactions are initialised.
        custody: The claims of this worker's partitions.
        limits: Of size and time.
        limited: Runs a call with a limit of CPU time; raises `Overrun`.
        back_off: Called with the number of failures in a row before the next try.
        beat: Called at each step, to show that the loop is alive.
        seal: Returns the outputs of one record, or of none, as they are written.
        clock: Monotonic seconds.
        observer: Callbacks; without influence on the loop.
    """

    def __init__(
        self,
        consumer: Consumer,
        processor: Processor,
        checkpoint: Checkpoint,
        custody: Custody,
        limits: Limits,
        *,
        limited: Limited = without_limit,
        back_off: Callable[[int], None] = lambda _failures: None,
        beat: Callable[[], None] = lambda: None,
        seal: Callable[[Sequence[Output]], Sequence[Output]] = lambda outputs: outputs,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer | None = None,
    ) -> None:
        self._consumer = consumer
        self._processor = processor
        self._checkpoint = checkpoint
        self._custody = custody
        self._limits = limits
        self._max_records = limits.max_records
        self._limited = limited
        self._back_off = back_off
        self._beat = beat
        self._seal = seal
        self._clock = clock
        self._observer = observer or Observer()
        self._failures = 0
        self._is_refused = False
        self._to_undo: StreamError | None = None

    def run_once(self) -> int:
        """Handle at most one batch; return the number of committed records."""
        self._beat()
        try:
            if self._to_undo is not None:
                self._undo(self._to_undo)
            return self._batch()
        except FatalError:
            raise
        except StreamError as error:
            self._record_failure(error)
            return 0

    def release(self) -> None:
        """Discard the batch in progress, and release the claims.

        They stay held if the outcome of its transaction can't be found: the offsets of
        before must not be committed once more.
        """
        try:
            if self._to_undo is None:
                self._processor.aborted()
                self._checkpoint.abort()
            else:
                self._undo(self._to_undo)
        except StreamError as error:
            log.warning("partitions not released: %s", error)
        else:
            self._custody.release()

    def _batch(self) -> int:
        # No record is in hand while tables are read: they have claims of their own.
        self._custody.take(None)
        claimed = self._custody.open(self._processor.ready())
        self._consumer.resume(self._processor.settled(claimed))
        self._write_due()
        records = self._consumer.poll(self._max_records, self._limits.batch_seconds)
        if not records:
            return 0
        self._beat()
        self._custody.check(records)
        partitions = {r.partition for r in records}
        claimed_now = {p for p in partitions if self._custody.owns(p)}
        # The records of a partition's topics keep their order, so none goes ahead.
        suspects = {p.index for p in claimed_now if self._custody.is_quarantine(p)}
        alone: list[Record] = []
        rest: list[Record] = []
        for record in records:
            if record.partition in claimed_now:
                is_suspect = record.partition.index in suspects
                marked = self._custody.marked(record)
                (alone if is_suspect else rest).append(marked)
        done = self._together(rest) if rest else 0
        done += self._one_by_one(alone) if alone else 0
        if done < len(records):
            # The consumer is past records that were left out: they come once more.
            self._consumer.rewind()
        return done

    def _write_due(self) -> None:
        """Commit what is due by time, each partition fenced by its offsets."""
        due = self._processor.due(self._custody.claimed)
        for partition, unsealed in due.items():
            outputs = self._seal(unsealed)
            self._checkpoint.add([], outputs, self._custody.fences(partition))
            self._observer.staged([], outputs)
        if due:
            self._commit([])

    def _together(self, records: Sequence[Record]) -> int:
        """Process records in micro-batches and commit them in one transaction."""
        self._observer.begun(records)
        begun, done = self._clock(), 0
        # The client sends the outputs of one micro-batch while the next is processed.
        for micro_batch in _micro_batches(records, self._limits.micro_batch_bytes):
            age = self._clock() - begun
            # Not without `done`: the first micro-batch must get through, however late.
            if done and age > self._limits.seconds_before(micro_batch):
                break
            try:
                outcomes = self._process(micro_batch)
            except Overrun:
                self._quarantine(records[: done + len(micro_batch)], micro_batch)
                return 0
            self._stage(micro_batch, outcomes)
            done += len(micro_batch)
            self._beat()
        self._commit(records[:done])
        self._failures, self._is_refused = 0, False
        self._max_records = min(self._limits.max_records, self._max_records * 2)
        return done

    def _one_by_one(self, records: Sequence[Record]) -> int:
        """Process suspects, each in hand and in a transaction of its own."""
        begun, done = self._clock(), 0
        # A record with deaths waits until the suspects of other partitions are done.
        deaths: Counter[int] = Counter()
        for record in records:
            index = record.partition.index
            deaths[index] = max(deaths[index], self._custody.deaths(record))
        records = sorted(
            records, key=lambda r: (deaths[r.partition.index], r.partition.index)
        )
        for position, record in enumerate(records, start=1):
            self._observer.begun([record])
            following = next(iter(records[position : position + 1]), None)
            if following is not None and following.partition != record.partition:
                following = None
            is_late = self._clock() - begun > self._limits.commit_seconds / 3
            outcome = self._alone(record)
            self._stage([record], [outcome])
            # One commit ends this suspect and puts the next in hand, which saves a
            # transaction a record.
            self._custody.pass_on(record, None if is_late else following)
            self._commit([record])
            self._failures, self._is_refused = 0, False
            done += 1
            self._beat()
            if is_late:
                break
        return done

    def _alone(self, record: Record) -> Outcome:
        if self._custody.is_poison(record):
            log.error("%s: repeatedly ended its worker: becomes a dead letter", record)
            return InvalidRecord(ReasonCode.POISON, POISON_REASON)
        # Committed before it is processed: if it ends the process, the next owner sees
        # which record it was.
        self._custody.take(record)
        try:
            [outcome] = self._process([record])
        except Overrun:
            log.exception("%s: took too much CPU time: becomes a dead letter", record)
            self._rebuild([record])
            return InvalidRecord(ReasonCode.DEADLINE, DEADLINE_REASON)
        return outcome

    def _process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        allowed = self._limits.cpu_seconds(records)
        begun = self._clock()
        try:
            return self._limited(lambda: self._processor.process(records), allowed)
        finally:
            if self._clock() - begun > self._limits.micro_batch_seconds:
                self._custody.accuse()

    def _stage(self, records: Sequence[Record], outcomes: Sequence[Outcome]) -> None:
        outputs = list(self._outputs(records, outcomes))
        self._checkpoint.add(records, outputs)
        self._observer.staged(records, outputs)

    def _outputs(
        self, records: Sequence[Record], outcomes: Sequence[Outcome]
    ) -> Iterator[Output]:
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, InvalidRecord):
                outcome = self._processor.dead_letter(record, outcome)
            yield from self._seal(outcome)

    def _commit(self, records: Sequence[Record]) -> None:
        written = self._checkpoint.commit(
            self._consumer.group_metadata(), self._custody.metadata
        )
        # After the commit: no table may ever hold rows of an aborted transaction.
        self._custody.committed(records)
        self._processor.committed(written)
        self._observer.committed()
        log.debug("committed %d records", len(records))

    def _quarantine(
        self, records: Sequence[Record], micro_batch: Sequence[Record]
    ) -> None:
        """Abort a batch that took too long; its records are read again one by one.

        Args:
            records: Of the batch, up to the end of the micro-batch.
            micro_batch: At least one of its records takes too long.
        """
        log.warning(
            "a micro-batch of %d records up to %s took more than %.1f s of CPU time: "
            "they are processed again one at a time",
            len(micro_batch),
            micro_batch[-1],
            self._limits.cpu_seconds(micro_batch),
        )
        # First what cannot fail: what was interrupted must not be used any more.
        self._rebuild(micro_batch)
        self._checkpoint.abort()
        suspects = {record.partition for record in micro_batch}
        self._custody.suspect([r for r in records if r.partition in suspects])

    def _rebuild(self, records: Sequence[Record]) -> None:
        """Replace everything that an interrupted call may have been changing."""
        self._observer.overran(records)
        self._processor.aborted()
        self._beat()
        self._processor.rebuild()
        self._beat()

    def _record_failure(self, error: StreamError) -> None:
        """Have the batch undone before the next one is polled."""
        self._failures += 1
        # Of a call that follows on it, the client gives another error.
        self._is_refused |= isinstance(error, RecordRefused)
        log.warning("batch undone (%s): %s", type(error).__name__, error)
        # If undoing itself failed, the outcome of the transaction is unknown.
        self._to_undo = (
            error if self._to_undo is None else UnknownOutcome("undo failed")
        )
        if self._failures > self._limits.max_failures:
            # A refused record must be found: its worker's end counts as a death.
            kind = FatalError if self._is_refused else GivenUp
            raise kind(
                f"{self._failures} batches failed in a row, the last: {error}"
            ) from None
        self._observer.undone(self._to_undo)
        # A smaller batch is quicker, in case time was the problem.
        self._max_records = max(1, self._max_records // 2)
        self._back_off(self._failures)

    def _undo(self, error: StreamError) -> None:
        """Discard the batch, and go back to the committed offsets of the group."""
        self._processor.aborted()
        is_damaged = isinstance(error, CorruptState)
        if isinstance(error, Fenced | UnknownOutcome):
            # First: behind records that have arrived nothing is learnt of the group.
            self._consumer.pause(self._custody.doubt())
            # The new producer ends the transaction of the old one, either way; only
            # then the changelog tells what became of it.
            self._checkpoint.renew()
            try:
                self._processor.reread()
            except CorruptState as damage:
                log.warning("a table can't be read on: %s", damage)
                is_damaged = True
        else:
            self._checkpoint.abort()
        self._beat()
        if is_damaged:
            # Their tables are restored from the changelog: no record of these
            # partitions may be joined before that.
            waiting = list(self._processor.drop_state())
            self._custody.hold(waiting)
            self._consumer.pause(waiting)
        # The committed offset shows the outcome of a transaction where it is unknown.
        self._consumer.pause(self._custody.resume(self._consumer.rewind()))
        self._to_undo = None


def _micro_batches(records: Sequence[Record], max_bytes: int) -> Iterator[list[Record]]:
    """Yield the records in order, in lists that are processed in one call each."""
    batch: list[Record] = []
    size = 0
    for record in records:
        is_full = len(batch) == MICRO_BATCH_RECORDS or size + record.size > max_bytes
        if batch and is_full:
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += record.size
    if batch:
        yield batch
