"""A checkpoint is one Kafka transaction: outputs and input offsets, or neither."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from .errors import FatalError
from .records import CommittedOffset, Output, Partition, Record


class TransactionalProducer(Protocol):
    """The part of a Kafka producer that a checkpoint needs."""

    def renew(self) -> None:
        """Replace the producer by a new one under the same transactional id."""

    def begin(self) -> None:
        """Open a transaction."""

    def produce(self, output: Output) -> None:
        """Add a record to the open transaction."""

    def send_offsets(
        self, offsets: Mapping[Partition, CommittedOffset], group: object
    ) -> None:
        """Add the consumer's progress to the open transaction."""

    def commit(self) -> Mapping[Partition, int]:
        """Make the transaction visible.

        Returns:
            The offset after the last record of each changelog's partition.
        """

    def abort(self) -> None:
        """Discard the open transaction."""


class Checkpoint:
    """Stage the outputs and offsets of a batch, then commit or abort them together."""

    def __init__(self, producer: TransactionalProducer) -> None:
        self._producer = producer
        self._offsets: dict[Partition, CommittedOffset] = {}
        self._is_open = False

    def add(
        self,
        records: Sequence[Record],
        outputs: Iterable[Output],
        fences: Mapping[Partition, CommittedOffset] | None = None,
    ) -> None:
        """Stage the outputs of a batch, and the offsets of its records.

        Args:
            records: Processed now.
            outputs: Of these records.
            fences: Offsets already committed, for outputs that belong to no record:
                committing them again proves that this worker still owns the partition.
        """
        # Not earlier: the broker aborts a transaction that stays open longer than
        # transaction.timeout.ms, as it would on an idle topic.
        if not self._is_open:
            self._producer.begin()
            self._is_open = True
        for output in outputs:
            self._producer.produce(output)
        # A fence must not set back what a record of this batch has moved on.
        for partition, committed in (fences or {}).items():
            self._offsets.setdefault(partition, committed)
        for record in records:
            self._offsets[record.partition] = record.to_commit

    def commit(
        self, group: object, metadata: Callable[[Partition], str]
    ) -> Mapping[Partition, int]:
        """Commit what was staged, if anything.

        Args:
            group: The consumer group's current metadata.
            metadata: Returns the metadata to commit with a partition's offset.

        Returns:
            The offset after the last record of each changelog's partition.
        """
        if not self._is_open:
            return {}
        return self._commit(
            {
                partition: replace(committed, metadata=metadata(partition))
                for partition, committed in self._offsets.items()
            },
            group,
        )

    def mark(self, offsets: Mapping[Partition, CommittedOffset], group: object) -> None:
        """Commit offsets with their metadata in a transaction of their own.

        A plain commit could overtake an open transaction of a worker that is being
        replaced, and that transaction's outputs would be doubled.
        """
        if self._is_open:
            raise FatalError(
                "a claim was committed within a batch, which is a bug: report it"
            )
        self._producer.begin()
        self._is_open = True
        self._commit(offsets, group)

    def abort(self) -> None:
        """Discard what was staged, if anything."""
        if self._is_open:
            self._producer.abort()
        self._forget()

    def renew(self) -> None:
        """Replace the producer; the new one fences any transaction of the old one."""
        # First: what was staged is void, even if no new producer can be had yet.
        self._forget()
        self._producer.renew()

    def _commit(
        self, offsets: Mapping[Partition, CommittedOffset], group: object
    ) -> Mapping[Partition, int]:
        # With the group's generation: the coordinator refuses the offsets of a worker
        # that has lost its partitions, and the outputs are never visible.
        self._producer.send_offsets(offsets, group)
        # If this fails the transaction stays open, or its outcome is unknown: `abort`
        # or `renew` must follow.
        written = self._producer.commit()
        self._forget()
        return written

    def _forget(self) -> None:
        self._offsets = {}
        self._is_open = False
