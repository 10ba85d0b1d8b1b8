"""The main loop: poll, process, stage, commit.  Read this module first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from .checkpoint import Checkpoint
from .errors import (
    CorruptState,
    FatalError,
    Fenced,
    InvalidRecord,
    StreamError,
    UnknownOutcome,
)
from .observer import Observer
from .records import Output, Record

log = logging.getLogger(__name__)

PORTION = 64
"""Records processed at once: enough for vectorised detection."""

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

    def rewind(self) -> None:
        """Go back to the committed offsets."""
        ...

    def group_metadata(self) -> object:
        """Return what the producer needs to commit offsets for the group."""
        ...


class Processor(Protocol):
    """A pure function of a batch, with the state that it reads."""

    def ready(self) -> Iterable[int]:
        """Return the partitions whose state has caught up since the last call."""
        ...

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return one outcome a record: its outputs, or why there can be none."""
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

    def drop_state(self) -> Iterable[int]:
        """Delete local state that can't be trusted; return who waits for it again."""
        ...


class Runner:
    """Move records from a consumer through a processor into checkpoints.

    Args:
        consumer: Its records come in order within a partition.
        processor: Makes outputs of records.
        checkpoint: On a producer whose transactions are initialised.
        most: Records a transaction at most; halved after a failure, then doubled back.
        seconds: How long a batch waits to fill.
        patience: Failed transactions in a row before the process gives up.
        pause: Called with the number of failures in a row before the next try.
        observer: Is told what happens; changes nothing.
    """

    def __init__(
        self,
        consumer: Consumer,
        processor: Processor,
        checkpoint: Checkpoint,
        *,
        most: int,
        seconds: float,
        patience: int = 10,
        pause: Callable[[int], None] = lambda _failures: None,
        observer: Observer | None = None,
    ) -> None:
        self._consumer = consumer
        self._processor = processor
        self._checkpoint = checkpoint
        self._most = self._limit = most
        self._seconds = seconds
        self._patience = patience
        self._pause = pause
        self._observer = observer or Observer()
        self._failures = 0
        self._to_undo: StreamError | None = None

    def run_once(self) -> int:
        """Handle at most one batch; return how many records were committed."""
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
        self._consumer.resume(self._processor.ready())
        records = self._consumer.poll(self._limit, self._seconds)
        if not records:
            return 0
        self._observer.begun(records)
        # In portions: the client sends one while the next is processed.
        for at in range(0, len(records), PORTION):
            portion = records[at : at + PORTION]
            outputs = list(self._outputs(portion))
            self._checkpoint.add(portion, outputs)
            self._observer.staged(outputs)
        self._checkpoint.commit(self._consumer.group_metadata())
        self._processor.committed()
        self._observer.committed()
        log.debug("committed %d records up to %s", len(records), records[-1])
        self._failures = 0
        self._limit = min(self._most, self._limit * 2)
        return len(records)

    def _outputs(self, records: Sequence[Record]) -> Iterator[Output]:
        outcomes = self._processor.process(records)
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, InvalidRecord):
                yield from self._processor.dead_letter(record, outcome)
            else:
                yield from outcome

    def _note(self, error: StreamError) -> None:
        """Remember that the batch is to be undone before the next one is polled."""
        self._failures += 1
        log.warning("batch undone (%s): %s", type(error).__name__, error)
        if self._failures > self._patience:
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
        if isinstance(error, CorruptState):
            self._consumer.pause(self._processor.drop_state())
        # The committed offset is the witness of a transaction of unknown outcome.
        self._consumer.rewind()
        self._to_undo = None
