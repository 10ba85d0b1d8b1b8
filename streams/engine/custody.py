"""The claims of this worker's partitions: read, and written in transactions only.

The rules are those of `claim`.  Because claims are written in transactions, the group's
generation fences a worker that has lost a partition without noticing.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

from .checkpoint import Checkpoint
from .claim import Claim, Life
from .errors import RetriableError, StreamError, UnknownOutcome
from .records import CommittedOffset, Partition, Record

log = logging.getLogger(__name__)

CLAIM_SECONDS = 1.0
WAIT_SECONDS = 2.0
"""How long a partition waits if its committed offset is not available yet."""
GAPS_SECONDS = 30.0
"""How long it waits if only some of the records behind that offset were processed."""


class ConsumerGroup(Protocol):
    """The part of a consumer that custody needs."""

    def committed(
        self, partitions: Sequence[Partition], seconds: float
    ) -> Mapping[Partition, CommittedOffset]:
        """Return the committed offsets of the group."""

    def group_metadata(self) -> object:
        """Return what the producer needs to commit offsets for the group."""

    def go_on(self, offsets: Mapping[Partition, CommittedOffset]) -> None:
        """Begin partitions that are held back at other offsets, once they flow."""


@dataclass(frozen=True, slots=True)
class ProcessedOffset:
    """The progress of processing from a committed offset on.

    Args:
        offset: That after the last processed record; the committed one without any.
        has_gaps: Whether others before it have not been processed.
    """

    offset: int
    has_gaps: bool = False


Processed = Callable[
    [Mapping[Partition, CommittedOffset]], Mapping[Partition, ProcessedOffset]
]


class Custody:
    """The claims of the assigned partitions.

    A partition's number stands for that partition of all topics: they are assigned, and
    flow, together.

    Args:
        topics: The topics that the worker reads.
        checkpoint: Commits the claims.
        batch: Maximum number of records in a batch.
        identities: Ids of the topics by name; see `Claim.of`.
        processed: Tells how far records were processed, whatever the group says; None
            if nothing tells.
        life: This process.
        accused: Called when the process begins or ceases to be accused.
        died: Called with a partition whose previous owner died without releasing it.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        topics: Sequence[str],
        checkpoint: Checkpoint,
        *,
        batch: int,
        identities: Mapping[str, str] = MappingProxyType({}),
        processed: Processed | None = None,
        life: Life | None = None,
        accused: Callable[[bool], None] = lambda _is_accused: None,
        died: Callable[[int], None] = lambda _partition: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topics = tuple(topics)
        self._checkpoint = checkpoint
        self._batch = batch
        self._identities = identities
        self._processed = processed
        self._life = life or Life()
        self._accused = accused
        self._is_accused = False
        self._suspicious: set[Partition] = set()
        # By the group, for partitions that are to be claimed anew.
        self._undone: dict[Partition, CommittedOffset] = {}
        self._doubted: set[Partition] = set()
        self._not_settled: set[int] = set()
        self._died = died
        self._group: ConsumerGroup | None = None
        self._claims: dict[Partition, Claim] = {}
        self._offsets: dict[Partition, CommittedOffset] = {}
        # Also of partitions that others have now, which may have gone on since.
        self._own_commits: dict[Partition, int] = {}
        self._unclaimed: set[int] = set()
        self._ready: set[int] = set()
        self._needs_renewal = False
        self._clock = clock
        self._not_before: dict[Partition, float] = {}
        self._awaited: set[str] = set()

    def follow(self, group: ConsumerGroup) -> None:
        """Set the consumer that owns the partitions."""
        self._group = group

    def assigned(self, partitions: Sequence[int]) -> None:
        """Add partitions, which are claimed when their state is ready."""
        self._unclaimed.update(partitions)
        for partition in self._of(partitions):
            self._not_before.pop(partition, None)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Remove partitions, released or lost."""
        for partition in self._of(partitions):
            self._claims.pop(partition, None)
            self._offsets.pop(partition, None)
            self._undone.pop(partition, None)
            self._doubted.discard(partition)
        self._unclaimed.difference_update(partitions)
        self._not_settled.difference_update(partitions)
        self._ready.difference_update(partitions)

    def release(self, partitions: Sequence[int] | None = None) -> None:
        """Commit that the owner of the partitions, or of all, has left in order.

        If that fails, the next owner processes some records one by one.
        """
        ours = [*self._claims, *self._undone]
        if partitions is not None:
            ours = self._of(partitions)
        released = {p: self._claims[p].released() for p in ours if p in self._claims}
        for partition in self._undone.keys() & set(ours):
            undone = self._undone[partition]
            claim = Claim.read(undone.metadata)
            if claim.is_held and claim.by == self._life.name:
                # The group may have forgotten commits of this process: it must not
                # leave an offset behind that lies before them.
                latest = _brought_up_to(undone, self._own_commits.get(partition, 0))
                kept = replace(
                    Claim.read(latest.metadata), of=claim.of, again=claim.again
                )
                self._offsets[partition] = latest
                released[partition] = kept.read_up_to(latest.offset).released()
        try:
            self._mark(released)
        except StreamError as error:
            log.warning("partitions not released: %s", error)
            # The transaction may be open still; no other can begin on this producer.
            self._needs_renewal = True
        for partition in released:
            self._claims.pop(partition, None)

    def abandon(self) -> None:
        """Leave all claims held: the record in hand may end the next owner as well."""
        self._claims.clear()

    def open(self, ready: Iterable[int]) -> list[int]:
        """Claim partitions whose state is ready; return those to be resumed now."""
        newly = set(ready)
        self._ready |= newly
        self._not_settled -= newly
        if self._needs_renewal:
            self._checkpoint.renew()
            self._needs_renewal = False
        now = self._clock()
        self._claim(
            [
                partition
                for partition in self._of(sorted(self._ready & self._unclaimed))
                if partition not in self._claims
                and now >= self._not_before.get(partition, now)
            ]
        )
        free = [
            index
            for index in sorted(self._ready)
            if all(partition in self._claims for partition in self._of([index]))
        ]
        self._ready.difference_update(free)
        return free

    def hold(self, partitions: Iterable[int]) -> None:
        """Wait until the state of the partitions is ready again."""
        waiting = set(partitions)
        self._ready -= waiting
        self._not_settled |= waiting

    def doubt(self) -> list[int]:
        """Have partitions claimed anew: the outcome of a transaction is unknown.

        It may also have been committed in part, which audit events tell.

        Returns:
            The partitions.
        """
        if self._processed is None:
            return []
        self._doubted |= self._claims.keys()
        return sorted({partition.index for partition in self._doubted})

    def resume(self, committed: Mapping[Partition, CommittedOffset]) -> list[int]:
        """Adopt the committed claims after a batch was undone.

        Returns:
            The partitions that have to wait until they are claimed anew.
        """
        undone: dict[Partition, CommittedOffset] = {}
        for partition, offset in committed.items():
            claim = Claim.read(offset.metadata)
            if partition not in self._claims:
                continue
            is_old = offset.offset < self._own_commits.get(partition, 0)
            if claim.is_held and not is_old and partition not in self._doubted:
                self._claims[partition] = claim
                self._offsets[partition] = offset
            else:
                # The offset may be old, or set from outside by a reset of the group.
                del self._claims[partition]
                undone[partition] = offset
        self._doubted.clear()
        self._undone |= undone
        waiting = {partition.index for partition in undone}
        self._unclaimed |= waiting
        self._ready |= waiting - self._not_settled
        return sorted(waiting)

    @property
    def claimed(self) -> frozenset[int]:
        """The partitions that are claimed in all topics."""
        return frozenset(p.index for p in self._claims if self.owns(p))

    def owns(self, partition: Partition) -> bool:
        """Return whether the partition is claimed, in all topics."""
        return all(p in self._claims for p in self._of([partition.index]))

    def is_quarantine(self, partition: Partition) -> bool:
        """Return whether the partition's records must be processed one by one."""
        return self._claims[partition].is_quarantine

    def is_poison(self, record: Record) -> bool:
        """Return whether the record has ended too many workers."""
        return self._claims[record.partition].is_poison(record.offset)

    def deaths(self, record: Record) -> int:
        """Return how many owners died with a suspect of the partition in hand."""
        return self._claims[record.partition].deaths

    @property
    def quarantined(self) -> int:
        """Number of partitions in quarantine."""
        return len(
            {p.index for p, claim in self._claims.items() if claim.is_quarantine}
        )

    def suspect(self, records: Sequence[Record]) -> None:
        """Have these records processed one by one; none of them is committed."""
        counts = Counter(record.partition for record in records)
        for partition, count in counts.items():
            self._claims[partition] = self._claims[partition].suspecting(count)

    def accuse(self) -> None:
        """Blame the batch for a lost partition or a death before the next commit.

        Processing took so long that the group or the broker may take the process for
        dead.  A partition that it loses before its next commit and has again is not
        excused, nor is its end before that commit.
        """
        self._suspicious.update(self._claims)
        self._is_accused = True
        self._accused(True)

    def take(self, record: Record | None) -> None:
        """Commit that this record is in hand, and no other; with None, no record."""
        changed: dict[Partition, Claim] = {}
        for partition, claim in self._claims.items():
            if record is not None and partition == record.partition:
                # `pass_on` may have put it in hand already, which saves a transaction.
                if not (claim.is_in_hand and claim.record == record.offset):
                    changed[partition] = claim.taking(record.offset)
            elif claim.is_in_hand:
                changed[partition] = claim.put_down()
        self._mark(changed)

    def pass_on(self, record: Record, following: Record | None) -> None:
        """Count a suspect as done; its commit also puts the next one in hand."""
        claim = self._claims[record.partition].passed()
        if following is not None and claim.is_quarantine:
            claim = claim.taking(following.offset)
        self._claims[record.partition] = claim

    def metadata(self, partition: Partition) -> str:
        """Return the metadata to commit with the offset of a partition."""
        return str(self._claims[partition])

    def committed(self, records: Iterable[Record]) -> None:
        """Record that the offsets of these records are committed."""
        if self._is_accused:
            self._is_accused = False
            self._accused(False)
        # The group took the commit: what is claimed was never lost.
        self._suspicious.difference_update(self._claims)
        for record in records:
            partition = record.partition
            self._offsets[partition] = record.to_commit
            self._own_commits[partition] = record.next_offset
            if claim := self._claims.get(partition):
                self._claims[partition] = claim.read_up_to(record.next_offset)

    def check(self, records: Iterable[Record]) -> None:
        """Check that none of the records of claimed partitions is committed already.

        The client reads a topic that ends before the committed offset from its first
        record again: what it delivers then was published before.

        Raises:
            RetriableError: The position in a partition lies before what is committed.
            UnknownOutcome: A release has failed since partitions were claimed.
        """
        if self._needs_renewal:
            raise UnknownOutcome("a release failed")
        for record in records:
            committed = self._offsets.get(record.partition)
            if committed is not None and record.offset < committed.offset:
                raise RetriableError(
                    f"{record}: was delivered although the group has committed offset "
                    f"{committed.offset}: it is read on from there; if this lasts, "
                    "records before that offset are lost: see Lost offsets in the "
                    "runbook"
                )

    def marked(self, record: Record) -> Record:
        """Return a record of a claimed partition, with whether it is read again."""
        is_repeated = record.offset < self._claims[record.partition].again
        return replace(record, is_repeated=True) if is_repeated else record

    def fences(self, partition: int) -> Mapping[Partition, CommittedOffset]:
        """Return the committed offsets of a claimed partition.

        Committing them again, with outputs that belong to no record, proves that the
        partition is still this worker's.

        Raises:
            RetriableError: It is not claimed (any more).
        """
        ours = self._of([partition])
        if not all(p in self._claims for p in ours):
            raise RetriableError(f"partition {partition}: not claimed")
        return {p: self._offsets[p] for p in ours}

    def _of(self, numbers: Iterable[int]) -> list[Partition]:
        return [Partition(topic, n) for n in numbers for topic in self._topics]

    def _claim(self, partitions: Sequence[Partition]) -> None:
        if not partitions:
            return
        committed = self._committed(partitions)
        latest = self._up_to_date(committed)
        claims, deaths = {}, []
        for partition, offset in latest.items():
            # This process gave up those that were undone; it did not lose them.
            is_accused = partition in self._suspicious - self._undone.keys()
            excused = frozenset[str]() if is_accused else self._life.excused
            former = Claim.read(offset.metadata)
            claim = former.taken_over(self._batch, excused)
            if former.is_suspicious(excused):
                deaths.append(partition)
            topics = self._identities.get(partition.topic, "")
            claims[partition] = replace(claim, of=topics, by=self._life.name)
            self._offsets[partition] = offset
        # From this commit on no previous owner can commit: the tables may settle.
        self._mark(claims)
        if self._group is not None:
            self._group.go_on(
                {
                    partition: offset
                    for partition, offset in latest.items()
                    if offset.offset > committed[partition].offset
                }
            )
        # Its records are suspects now, unless they were before.
        self._suspicious.difference_update(claims)
        for partition in claims:
            self._undone.pop(partition, None)
        self._unclaimed = {
            index
            for index in self._unclaimed
            if not all(partition in self._claims for partition in self._of([index]))
        }
        for partition in deaths:
            self._report_death(partition, latest[partition].offset)

    def _committed(
        self, partitions: Sequence[Partition]
    ) -> Mapping[Partition, CommittedOffset]:
        """Return the committed offsets, without partitions that do not answer."""
        if self._group is None:
            return {}
        try:
            committed = self._group.committed(partitions, CLAIM_SECONDS)
        except RetriableError as error:
            self._report_wait("committed offsets", error)
        else:
            self._awaited.discard("committed offsets")
            return committed
        # A transaction of a dead owner may still be open on one of them, until the
        # broker ends it.  The other partitions need not wait for that.
        answered: dict[Partition, CommittedOffset] = {}
        for partition in partitions:
            with suppress(RetriableError):
                answered |= self._group.committed([partition], CLAIM_SECONDS)
        self._wait(set(partitions) - answered.keys(), WAIT_SECONDS)
        return answered

    def _wait(self, partitions: Iterable[Partition], seconds: float) -> None:
        until = self._clock() + seconds
        self._not_before |= dict.fromkeys(partitions, until)

    def _report_wait(self, what: str, error: RetriableError) -> None:
        """Log once what partitions wait for."""
        if what not in self._awaited:
            log.warning("partitions wait for their %s: %s", what, error)
        self._awaited.add(what)

    def _up_to_date(
        self, committed: Mapping[Partition, CommittedOffset]
    ) -> Mapping[Partition, CommittedOffset]:
        """Return the committed offsets, later ones in place of old ones.

        A coordinator that has lost a part of its state serves offsets of before, or
        none.  While records are read again nothing tells how far.
        """
        claims = {p: Claim.read(offset.metadata) for p, offset in committed.items()}
        doubtful = {
            partition: offset
            for partition, offset in committed.items()
            if offset.offset >= claims[partition].again
        }
        if not doubtful:
            return committed
        processed = {
            partition: ProcessedOffset(offset.offset)
            for partition, offset in doubtful.items()
        }
        try:
            if self._processed is not None:
                processed |= self._processed(doubtful)
        except RetriableError as error:
            self._report_wait("audit events", error)
            self._wait(doubtful, WAIT_SECONDS)
            return {p: committed[p] for p in committed if p not in doubtful}
        self._awaited.discard("audit events")
        latest = dict(committed)
        for partition, offset in doubtful.items():
            progress = processed[partition]
            if not claims[partition].of and not offset.is_absent:
                # It stays where the person wants it, ahead or back.
                latest[partition] = _set_by_a_person(offset, progress.offset)
            elif progress.has_gaps:
                # Neither end is safe: one publishes twice, the other leaves out.
                del latest[partition]
                self._wait([partition], GAPS_SECONDS)
            else:
                own = self._own_commits.get(partition, 0)
                latest[partition] = _brought_up_to(offset, max(progress.offset, own))
            if partition in latest and latest[partition].offset > offset.offset:
                _report_old(partition, offset, latest[partition].offset)
        return latest

    def _report_death(self, partition: Partition, offset: int) -> None:
        claim = self._claims[partition]
        log.warning(
            "%s: the last owner died at offset %d; the next %d records are "
            "processed one at a time",
            partition,
            offset,
            claim.suspects,
        )
        if partition.topic == self._topics[-1]:
            self._died(partition.index)

    def _mark(self, claims: Mapping[Partition, Claim]) -> None:
        if not claims or self._group is None:
            return
        self._checkpoint.mark(
            {
                p: replace(self._offsets[p], metadata=str(claim))
                for p, claim in claims.items()
            },
            self._group.group_metadata(),
        )
        self._claims.update(claims)
        self._own_commits |= {p: self._offsets[p].offset for p in claims}


def _report_old(partition: Partition, committed: CommittedOffset, offset: int) -> None:
    subject = f"the group's committed offset {committed.offset}"
    if committed.is_absent:
        subject = "the group has no committed offset, and its first record"
    log.warning(
        "%s: %s lies before %d, up to which records were processed: it goes on there "
        "(runbook, Old offsets)",
        partition,
        subject,
        offset,
    )


def _brought_up_to(committed: CommittedOffset, offset: int) -> CommittedOffset:
    """Return a later committed offset; its claim was for records before."""
    if offset <= committed.offset:
        return committed
    return CommittedOffset(offset, str(Claim()))


def _set_by_a_person(committed: CommittedOffset, processed: int) -> CommittedOffset:
    """Return an offset without a claim, with how far its records are read again.

    A person can set offsets only while the group has no members.
    """
    if processed <= committed.offset:
        return committed
    return replace(committed, metadata=str(Claim(again=processed)))
