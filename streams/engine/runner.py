"""The main loop: poll, process, stage, commit.  Read this module first.

A record that stops its worker must not stop its partition.  One that takes too much CPU
time is interrupted (`deadline`), its batch is taken apart, and it alone becomes a dead
letter.  What takes the whole process down is found by those that come after it
(`claim`): they process suspects one at a time, and leave one that has killed twice in
hand unprocessed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .checkpoint import Checkpoint
from .custody import Custody
from .deadline import Limited, Overrun, without_limit
from .errors import (
    CorruptState,
    FatalError,
    Fenced,
    InvalidRecord,
    StreamError,
    UnknownOutcome,
)
from .observer import Observer
from .reasons import ReasonCode
from .records import CommittedOffset, Output, Record

log = logging.getLogger(__name__)

PORTION = 64
"""Records processed at once: enough for vectorised detection."""

POISON_REASON = (
    "the record ended the worker that processed it, again and again; it is not "
    "processed any more: look at the logs of the workers, then at the original"
)
DEADLINE_REASON = (
    "processing the record alone took more CPU time than note_seconds and "
    "note_seconds_per_mb allow"
)

Outcome = Sequence[Output] | InvalidRecord


class Consumer(Protocol):
    """The part of a Kafka consumer that the loop needs."""

    def poll(self, most: int, seconds: float) -> Sequence[Record]:
        """Return up to ``most`` records, fewer when ``seconds`` are over."""
        ...

    def resume(self, partitions: Iterable[int]) -> None:
        """Let the records of partitions flow."""
        ...

    def pause(self, partitions: Iterable[int]) -> None:
        """Hold the records of partitions back."""
        ...

    def rewind(self) -> Mapping[int, CommittedOffset]:
        """Go back to the committed offsets, and return them."""
        ...

    def group_metadata(self) -> object:
        """Return what the producer needs to commit offsets for the group."""
        ...


class Processor(Protocol):
    """A pure function of a batch, with the state that it reads."""

    def ready(self) -> Iterable[int]:
        """Return the partitions whose state has caught up since the last call."""
        ...

    def prepare(self, records: Sequence[Record]) -> None:
        """Bring the state up to date that processing these records will read."""
        ...

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return one outcome a record: its outputs, or why there can be none.

        It may be interrupted at any point; `aborted` and `rebuild` follow then.
        """
        ...

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return what is written for a record that can't be processed."""
        ...

    def committed(self) -> None:
        """Learn that the outputs of the last batch are visible."""
        ...

    def aborted(self) -> None:
        """Learn that the last batch counts as never seen."""
        ...

    def rebuild(self) -> None:
        """Make anew all that `process` changes in place: it was interrupted."""
        ...

    def drop_state(self) -> Iterable[int]:
        """Delete local state that can't be trusted; return who waits for it again."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is done at once, and how long it may take.

    Args:
        most: Records a transaction at most; halved after a failure, then doubled back.
        seconds: How long a batch waits to fill.
        portion_bytes: Of keys and values that are processed at once; a larger record
            is processed alone.
        note_seconds: CPU time that a portion, or a record alone, may take.
        note_seconds_per_mb: More of it for each megabyte.
        portion_seconds: The most that both come to.
        batch_seconds: After so long a batch commits what it has, and goes back for
            the rest; suspects have a third of it, so that other partitions go on.
        patience: Failed transactions in a row before the process gives up.
    """

    most: int
    seconds: float
    portion_bytes: int = 256 * 1024
    note_seconds: float = 5.0
    note_seconds_per_mb: float = 15.0
    portion_seconds: float = 30.0
    batch_seconds: float = 15.0
    patience: int = 10

    def of(self, records: Sequence[Record]) -> float:
        """Return the CPU time that processing them may take."""
        size = sum(record.size for record in records) / 1e6
        allowed = self.note_seconds + self.note_seconds_per_mb * size
        return min(allowed, self.portion_seconds)


class Runner:
    """Move records from a consumer through a processor into checkpoints.

    Args:
        consumer: Its records come in order within a partition.
        processor: Makes outputs of records.
        checkpoint: On a producer whose transactions are initialised.
        custody: The claims of this worker's partitions.
        limits: How much is done at once.
        limited: Calls with a limit of CPU time; raises `Overrun`.
        pause: Called with the number of failures in a row before the next try.
        beat: Called at each step, to show that the loop is alive.
        clock: Seconds that never jump.
        observer: Is told what happens; changes nothing.
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
        pause: Callable[[int], None] = lambda _failures: None,
        beat: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer | None = None,
    ) -> None:
        self._consumer = consumer
        self._processor = processor
        self._checkpoint = checkpoint
        self._custody = custody
        self._limits = limits
        self._limit = limits.most
        self._limited = limited
        self._pause = pause
        self._beat = beat
        self._clock = clock
        self._observer = observer or Observer()
        self._failures = 0
        self._to_undo: StreamError | None = None

    def run_once(self) -> int:
        """Handle at most one batch; return how many records were committed."""
        self._beat()
        try:
            if self._to_undo is not None:
                self._undo(self._to_undo)
            return self._batch()
        except FatalError:
            raise
        except StreamError as error:
            self._note(error)
            return 0

    def _batch(self) -> int:
        # Nothing is in hand while tables are read: they have claims of their own.
        self._custody.take(None)
        self._consumer.resume(self._custody.open(self._processor.ready()))
        records = self._consumer.poll(self._limit, self._limits.seconds)
        if not records:
            return 0
        self._processor.prepare(records)
        self._beat()
        ours = [r for r in records if self._custody.owns(r.partition)]
        alone = [r for r in ours if self._custody.is_quarantine(r.partition)]
        suspects = {record.partition for record in alone}
        rest = [r for r in ours if r.partition not in suspects]
        done = self._together(rest) if rest else 0
        done += self._one_by_one(alone) if alone else 0
        if done < len(records):
            self._consumer.rewind()
        return done

    def _together(self, records: Sequence[Record]) -> int:
        """Process records in portions and commit them in one transaction."""
        self._observer.begun(records)
        begun, done = self._clock(), 0
        # In portions: the client sends one while the next is processed.
        for portion in _portions(records, self._limits.portion_bytes):
            allowed = self._limits.of(portion)
            if done and self._clock() - begun + allowed > self._limits.batch_seconds:
                break
            try:
                outcomes = self._processed(portion)
            except Overrun:
                self._take_apart(records[: done + len(portion)], portion)
                return 0
            self._stage(portion, outcomes)
            done += len(portion)
            self._beat()
        self._commit(records[:done])
        self._failures = 0
        self._limit = min(self._limits.most, self._limit * 2)
        return done

    def _one_by_one(self, records: Sequence[Record]) -> int:
        """Process suspects, each in a transaction of its own, and in hand before."""
        begun, done = self._clock(), 0
        # What has killed in hand waits until the suspects of other partitions are done.
        records = sorted(
            records, key=lambda each: (self._custody.deaths(each), each.partition)
        )
        for at, record in enumerate(records):
            self._observer.begun([record])
            following = next(iter(records[at + 1 : at + 2]), None)
            if following is not None and following.partition != record.partition:
                following = None
            is_late = self._clock() - begun > self._limits.batch_seconds / 3
            outcome = self._alone(record)
            self._stage([record], [outcome])
            self._custody.pass_on(record, None if is_late else following)
            self._commit([record])
            self._failures = 0
            done += 1
            self._beat()
            if is_late:
                break
        return done

    def _alone(self, record: Record) -> Outcome:
        if self._custody.is_poison(record):
            log.error("%s: ended its worker again and again: a dead letter", record)
            return InvalidRecord(ReasonCode.POISON, POISON_REASON)
        self._custody.take(record)
        try:
            [outcome] = self._processed([record])
        except Overrun:
            log.exception("%s: processing it took too long: a dead letter", record)
            self._rebuild([record])
            return InvalidRecord(ReasonCode.DEADLINE, DEADLINE_REASON)
        return outcome

    def _processed(self, records: Sequence[Record]) -> Sequence[Outcome]:
        return self._limited(
            lambda: self._processor.process(records), self._limits.of(records)
        )

    def _stage(self, records: Sequence[Record], outcomes: Sequence[Outcome]) -> None:
        outputs = list(self._outputs(records, outcomes))
        self._checkpoint.add(records, outputs)
        self._observer.staged(outputs)

    def _outputs(
        self, records: Sequence[Record], outcomes: Sequence[Outcome]
    ) -> Iterator[Output]:
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, InvalidRecord):
                yield from self._processor.dead_letter(record, outcome)
            else:
                yield from outcome

    def _commit(self, records: Sequence[Record]) -> None:
        self._checkpoint.commit(self._consumer.group_metadata(), self._custody.metadata)
        self._custody.committed(records)
        self._processor.committed()
        self._observer.committed()
        log.debug("committed %d records up to %s", len(records), records[-1])

    def _take_apart(self, records: Sequence[Record], portion: Sequence[Record]) -> None:
        """Undo a batch whose last portion took too long; its records come one by one.

        Args:
            records: Of the batch, up to the end of the portion.
            portion: In which one record or more take too long.
        """
        log.warning(
            "a portion of %d records up to %s took more than %.1f s of CPU time: they "
            "come again one at a time",
            len(portion),
            portion[-1],
            self._limits.of(portion),
        )
        self._checkpoint.abort()
        self._rebuild(portion)
        suspects = {record.partition for record in portion}
        self._custody.suspect([r for r in records if r.partition in suspects])

    def _rebuild(self, records: Sequence[Record]) -> None:
        """Leave nothing in use that an interrupted call may have been changing."""
        self._observer.overran(records)
        self._processor.aborted()
        self._beat()
        self._processor.rebuild()
        self._beat()

    def _note(self, error: StreamError) -> None:
        """Remember that the batch is to be undone before the next one is polled."""
        self._failures += 1
        log.warning("batch undone (%s): %s", type(error).__name__, error)
        if self._failures > self._limits.patience:
            raise FatalError(
                f"{self._failures} batches failed in a row, the last: {error}"
            ) from None
        # An undo that failed itself leaves the outcome of the transaction unknown.
        self._to_undo = (
            error if self._to_undo is None else UnknownOutcome("undo failed")
        )
        self._observer.undone(self._to_undo)
        # Smaller batches: the next is quicker, should time have been the trouble.
        self._limit = max(1, self._limit // 2)
        self._pause(self._failures)

    def _undo(self, error: StreamError) -> None:
        """Discard the batch, and go back to what the group has committed."""
        self._processor.aborted()
        if isinstance(error, Fenced | UnknownOutcome):
            self._checkpoint.renew()
        else:
            self._checkpoint.abort()
        self._beat()
        if isinstance(error, CorruptState):
            waiting = list(self._processor.drop_state())
            self._custody.hold(waiting)
            self._consumer.pause(waiting)
        # The committed offset is the witness of a transaction of unknown outcome.
        self._custody.resume(self._consumer.rewind())
        self._to_undo = None


def _portions(records: Sequence[Record], most_bytes: int) -> Iterator[list[Record]]:
    """Yield the records in order, in lists that are processed at once."""
    portion: list[Record] = []
    size = 0
    for record in records:
        if portion and (len(portion) == PORTION or size + record.size > most_bytes):
            yield portion
            portion, size = [], 0
        portion.append(record)
        size += record.size
    if portion:
        yield portion
