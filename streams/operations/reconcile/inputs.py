"""Counts of one input partition by offset, in arrays that hold millions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streams.kafka.topics import DEAD_LETTERS, PATIENT_UPDATES

from .marks import OWING, EventDigests, Mark, MarkedEvent

Counts = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]
_ALL = 2**64 - 1
_MOST = 2**31 - 1


class Inputs:
    """Counts by record of a partition: what audit events promise, and what there is.

    Of digests the first 64 bits are kept, of several their sum: forging a sum takes the
    audit key.

    Args:
        first: The first offset.
        end: The offset after the last.
        with_updates: Whether patient updates are counted as well.
    """

    def __init__(self, first: int, end: int, *, with_updates: bool) -> None:
        size = max(0, end - first)
        self._with_updates = with_updates
        self.first = first
        self.last_processed = -1
        self.is_input = np.zeros(size, dtype=bool)
        self.at_ms = np.zeros(size, dtype=np.int64)
        self.audits: Counts = np.zeros(size, dtype=np.int32)
        self.promised: Counts = np.zeros(size, dtype=np.int32)
        self.outputs: Counts = np.zeros(size, dtype=np.int32)
        self.dead: Counts = np.zeros(size, dtype=np.int32)
        self.promised_updates: Counts = np.zeros(size, dtype=np.int32)
        self.updates: Counts = np.zeros(size, dtype=np.int32)
        self.promised_dead: Counts = np.zeros(size, dtype=np.int32)
        self._owing = np.zeros(size, dtype=np.uint8)
        self.is_held = np.zeros(size, dtype=bool)
        self.is_discarded = np.zeros(size, dtype=bool)
        self.is_repeated = np.zeros(size, dtype=bool)
        self.is_erased = np.zeros(size, dtype=bool)
        self.has_digests = np.zeros(size, dtype=bool)
        self.input = np.zeros(size, dtype=np.uint64)
        self.promised_digests = np.zeros(size, dtype=np.uint64)
        self.digests = np.zeros(size, dtype=np.uint64)
        self._key_ids: list[str] = []
        self._keys: dict[str, int] = {}
        self._key = np.zeros(size, dtype=np.int32)
        # By offset, what only some records have.
        self.policies: dict[int, bytes] = {}
        self.first_offsets: dict[int, int] = {}
        self.held_digests: dict[int, dict[str, bytes]] = {}

    @property
    def size(self) -> int:
        """Number of offsets."""
        return len(self.audits)

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """The offset of each row."""
        return np.arange(self.size, dtype=np.int64) + self.first

    def row(self, offset: int) -> int | None:
        """Return the row of an offset; None if retention has deleted it."""
        row = offset - self.first
        return row if 0 <= row < self.size else None

    def add_progress(self, mark: Mark) -> None:
        """Note which input was processed last, as sealed records say."""
        if mark.seal is not None:
            self.last_processed = max(self.last_processed, mark.source.offset)

    def add_audit(self, row: int, event: MarkedEvent, mark: Mark) -> None:
        """Count an audit event; that of a discarded note comes after that of holding.

        Args:
            row: Of the input.
            event: The audit event.
            mark: Of the audit event.
        """
        if mark.policy:
            self.policies[self.first + row] = mark.policy
        is_first = not self.audits[row]
        if event.outcome == "discarded" and not self.is_discarded[row]:
            self.is_discarded[row] = True
            is_first = False
        else:
            self.is_held[row] |= event.outcome == "held"
            self.is_repeated[row] |= event.outcome == "repeated"
            self.audits[row] += 1
            self.promised[row] = min(int(self.promised[row]) + event.outputs, _MOST)
            self.at_ms[row] = mark.at_ms
        if event.digests is not None and is_first:
            self._promise(row, event.digests)
        for topic in event.topics:
            self._owing[row] |= 1 << OWING.index(topic)

    def add_output(self, row: int, topic: str, mark: Mark) -> None:
        """Count an output."""
        if topic == PATIENT_UPDATES.name:
            self.updates[row] += 1
        else:
            self.outputs[row] += 1
            self.dead[row] += topic == DEAD_LETTERS.name
        if mark.seal is not None and not mark.is_release:
            total = int(self.digests[row]) + _number(mark.seal.own)
            self.digests[row] = total & _ALL

    def key_id(self, row: int) -> str | None:
        """Return under which audit key an input's digest was made, if it has one."""
        return self._key_ids[self._key[row]] if self.has_digests[row] else None

    def has_input(self, row: int, digest: bytes) -> bool:
        """Return whether a digest is that of the input, if its audit event says it."""
        return not self.has_digests[row] or int(self.input[row]) == _number(digest)

    @property
    def is_altered(self) -> Flags:
        """True for an input that has as many outputs as promised, but others."""
        altered: Flags = self.digests != self.promised_digests
        altered &= (self.outputs == self.promised) & (self.audits == 1)
        altered &= self.updates == self.promised_updates
        altered &= self.has_digests & ~self.is_held & (self.excused == 0)
        return altered

    @property
    def excused(self) -> Counts:
        """The number of outputs that may be missing: dead letters that were erased.

        No seal shows who has said so.  So it excuses dead letters alone, and no more
        than the sealed audit event promises.
        """
        excused: Counts = np.where(self.is_erased, self.promised_dead, np.int32(0))
        return excused

    def forget_erased(self) -> None:
        """Take dead letters off that were erased: compaction has not deleted all."""
        still_there = np.minimum(self.dead, self.excused)
        self.outputs -= still_there
        self.dead -= still_there

    def owes(self, topic: str) -> Flags:
        """Return whether inputs have outputs on a topic, as their events say."""
        bit = np.uint8(1 << OWING.index(topic))
        owes: Flags = (self._owing & bit) != 0
        return owes

    def times(self) -> Times:
        """Return when each input was processed at the earliest.

        Without an audit event that is when it was written, but not before the inputs
        ahead of it were processed.
        """
        audited = np.where(self.audits > 0, self.at_ms, np.int64(-1))
        if not self.size:
            return audited
        ahead: Times = np.maximum.accumulate(audited)
        unaudited: Times = np.maximum(ahead, self.at_ms)
        return np.where(self.audits > 0, self.at_ms, unaudited)

    def _promise(self, row: int, digests: EventDigests) -> None:
        self.has_digests[row] = True
        if digests.key_id not in self._keys:
            self._keys[digests.key_id] = len(self._key_ids)
            self._key_ids.append(digests.key_id)
        self._key[row] = self._keys[digests.key_id]
        self.input[row] = _number(bytes.fromhex(digests.input))
        outputs = dict(digests.outputs)
        self.promised_dead[row] = len(outputs.get(DEAD_LETTERS.name, ()))
        updates = outputs.pop(PATIENT_UPDATES.name, [])
        if self._with_updates:
            self.promised_updates[row] = len(updates)
            outputs[PATIENT_UPDATES.name] = updates
        owed = (each for some in outputs.values() for each in some)
        total = sum(_number(bytes.fromhex(each)) for each in owed)
        self.promised_digests[row] = total & _ALL


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:8])
