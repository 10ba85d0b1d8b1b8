"""Independent audit of the topics: missing, doubled and out-of-order outputs.

Each input record is matched with its audit event and with the outputs that the event
promises (notes, scrubbed notes, dead letters); the order of each key is checked too.
A patient update has an audit event only if it became a dead letter.  No processing code
is used, only the names of topics and headers.

A note that was held and released is on `notes` twice: the second record is the output
of the first, and an input of its own.  Order is judged by the first, among notes with
the same policy for unknown patients: those of different policies do not wait for each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from ..cluster.bounded import committed_records
from ..cluster.client import admin_client
from ..cluster.offsets import GroupOffsets, end_offsets, first_offsets
from ..cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
    partition_counts,
)
from ..engine.settings import Settings
from ..events.outputs import HELD, OUTCOME, OUTPUTS, POLICY, SOURCE
from .lag import STAGES

INPUTS = (HL7_RAW, NOTES, PATIENT_UPDATES)
SCRUBBED = (NOTES_SCRUBBED, HL7_SCRUBBED)
MAX_EXAMPLES = 10


@dataclass(slots=True)
class Verdict:
    """The outcomes of the records of one input topic.

    If it is sound, the inputs are the sum of `scrubbed`, `dead_letters`, `no_note`,
    `repeated`, `held` and `pending`.

    Args:
        topic: The input topic.
        inputs: Committed records in it.
        scrubbed: Inputs with a note or scrubbed note.
        dead_letters: Inputs with a dead letter.
        no_note: Inputs that promise no output, e.g. admissions, patient updates and
            discarded notes.
        repeated: Messages that their sender had sent before.
        held: Notes that wait for the demographics of their patient.
        pending: Inputs past the group's committed offset.
        missing: Inputs without an audit event that they owe, or with fewer outputs than
            promised.
        doubled: Inputs with two audit events, or with more outputs than promised.
        out_of_order: Outputs of a key before those of an earlier input.
        examples: Positions of faults.
    """

    topic: str
    inputs: int = 0
    scrubbed: int = 0
    dead_letters: int = 0
    no_note: int = 0
    repeated: int = 0
    held: int = 0
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


class _Inputs:
    """Counts of one input partition by offset, in arrays that hold millions.

    `policies` and `first_offsets` hold, by offset, what only some notes have.
    """

    def __init__(self, first: int, end: int) -> None:
        size = max(0, end - first)
        self.first = first
        self.is_input = np.zeros(size, dtype=bool)
        self.audits: Counts = np.zeros(size, dtype=np.int32)
        self.promised: Counts = np.zeros(size, dtype=np.int32)
        self.outputs: Counts = np.zeros(size, dtype=np.int32)
        self.dead: Counts = np.zeros(size, dtype=np.int32)
        self.is_held = np.zeros(size, dtype=bool)
        self.is_discarded = np.zeros(size, dtype=bool)
        self.is_repeated = np.zeros(size, dtype=bool)
        self.policies: dict[int, bytes] = {}
        self.first_offsets: dict[int, int] = {}

    def row(self, offset: int) -> int | None:
        """Return the row of an offset; None if retention has deleted it."""
        row = offset - self.first
        return row if 0 <= row < len(self.audits) else None


class Auditor:
    """Reads the topics once, up to their current last stable offsets.

    Args:
        settings: Connection settings.
        progress: Called with the number of records read so far.
    """

    def __init__(
        self, settings: Settings, *, progress: Callable[[int], None] = lambda _n: None
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._admin: AdminClient = admin_client(settings)
        self._counts: Mapping[str, int] = partition_counts(self._admin)
        self._inputs: dict[tuple[str, int], _Inputs] = {}
        self._order: dict[tuple[str, str, int, bytes, bytes], int] = {}
        self._verdicts = {topic.name: Verdict(topic.name) for topic in INPUTS}
        self._read = 0

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each input topic."""
        # Committed offsets come first: the outputs of all inputs below them are already
        # visible.  Outputs of later inputs are ignored.
        committed = {t.name: self._committed(t.name) for t in INPUTS}
        for topic in INPUTS:
            for partition, (first, end) in self._ranges(topic.name).items():
                self._inputs[topic.name, partition] = _Inputs(first, end)
        # The audit events of notes say which of them keep an order.
        for topic in (PHI_AUDIT, *INPUTS, *SCRUBBED, DEAD_LETTERS):
            for message in self._messages(topic.name):
                self._count(topic.name, message)
        for name, partition in self._inputs:
            self._judge(name, partition, committed[name].get(partition, 0))
        return list(self._verdicts.values())

    def _ranges(self, topic: str) -> dict[int, tuple[int, int]]:
        """Return the first and the last stable offset of each partition."""
        partitions = range(self._counts.get(topic, 0))
        firsts = first_offsets(self._admin, topic, partitions)
        ends = end_offsets(self._admin, topic, partitions)
        return {p: (firsts[p], ends[p]) for p in partitions}

    def _committed(self, topic: str) -> dict[int, int]:
        group = f"{self._settings.group}-{STAGES[topic]}"
        offsets = GroupOffsets(self._settings, group, topic)
        try:
            return offsets.read(range(self._counts.get(topic, 0)))
        finally:
            offsets.close()

    def _messages(self, topic: str) -> Iterator[Message]:
        """Yield the committed records of a topic, each partition in order."""
        ranges, group = self._ranges(topic), f"{self._settings.group}-reconcile"
        for message in committed_records(self._settings, topic, ranges, group):
            if message is None:
                self._progress(self._read)
            else:
                self._read += 1
                yield message

    def _count(self, topic: str, message: Message) -> None:
        if topic in self._verdicts:
            own = self._inputs[topic, message.partition() or 0]
            row = own.row(message.offset() or 0)
            if row is not None:
                own.is_input[row] = True
        headers = dict(message.headers() or [])
        source = _source(headers.get(SOURCE))
        if source is None:
            return
        origin, partition, offset = source
        inputs = self._inputs.get((origin, partition))
        row = inputs.row(offset) if inputs else None
        if inputs is None or row is None:
            return
        if topic == PHI_AUDIT.name:
            _count_audit(inputs, row, offset, headers)
            return
        if topic == NOTES.name and HELD in headers:
            released = self._inputs[topic, message.partition() or 0]
            released.first_offsets[message.offset() or 0] = offset
        _count_output(inputs, row, topic)
        self._check_order(topic, origin, partition, offset, message)

    def _check_order(
        self, topic: str, origin: str, partition: int, offset: int, message: Message
    ) -> None:
        key = message.key()
        if not isinstance(key, bytes):
            return  # Kafka guarantees no order without a key
        inputs = self._inputs[origin, partition]
        policy = inputs.policies.get(offset, b"")
        if topic in {each.name for each in SCRUBBED}:
            offset = inputs.first_offsets.get(offset, offset)
        place = (topic, origin, partition, key, policy)
        if offset < self._order.get(place, -1):
            self._verdicts[origin].out_of_order += 1
            self._example(origin, partition, offset, "out of order")
        self._order[place] = max(offset, self._order.get(place, -1))

    def _judge(self, topic: str, partition: int, committed: int) -> None:
        inputs, verdict = self._inputs[topic, partition], self._verdicts[topic]
        offsets = np.arange(len(inputs.audits)) + inputs.first
        due = inputs.is_input & (offsets < committed)
        # A note has exactly one outcome, whatever its audit event promises.
        is_note = topic == NOTES.name
        promised = np.ones_like(inputs.outputs) if is_note else inputs.promised
        promised = np.where(inputs.is_discarded, 0, promised)
        held = due & inputs.is_held & ~inputs.is_discarded & (inputs.outputs == 0)
        short = inputs.outputs < promised
        if topic != PATIENT_UPDATES.name:
            short |= inputs.audits == 0
        short &= ~held
        over = inputs.is_input & ((inputs.audits > 1) | (inputs.outputs > promised))
        without = (promised == 0) & (inputs.outputs == 0) & ~short
        verdict.inputs += int(inputs.is_input.sum())
        verdict.scrubbed += int((due & (inputs.outputs > inputs.dead)).sum())
        verdict.dead_letters += int((due & (inputs.dead > 0)).sum())
        verdict.no_note += int((due & without & ~inputs.is_repeated).sum())
        verdict.repeated += int((due & without & inputs.is_repeated).sum())
        verdict.held += int(held.sum())
        verdict.pending += int((inputs.is_input & ~due).sum())
        verdict.missing += int((due & short).sum())
        verdict.doubled += int(over.sum())
        for offset in offsets[due & short]:
            self._example(topic, partition, int(offset), "missing")
        for offset in offsets[over]:
            self._example(topic, partition, int(offset), "doubled")

    def _example(self, topic: str, partition: int, offset: int, what: str) -> None:
        examples = self._verdicts[topic].examples
        if len(examples) < MAX_EXAMPLES:
            examples.append(f"{topic}[{partition}]@{offset} {what}")


def _count_audit(
    inputs: _Inputs, row: int, offset: int, headers: Mapping[str, object]
) -> None:
    """Count an audit event; that of a discarded note comes after the one of holding."""
    outcome, policy = headers.get(OUTCOME), headers.get(POLICY)
    if isinstance(policy, bytes):
        inputs.policies[offset] = policy
    if outcome == b"discarded" and not inputs.is_discarded[row]:
        inputs.is_discarded[row] = True
        return
    inputs.is_held[row] |= outcome == b"held"
    inputs.is_repeated[row] |= outcome == b"repeated"
    inputs.audits[row] += 1
    inputs.promised[row] += _number(headers.get(OUTPUTS))


def _count_output(inputs: _Inputs, row: int, topic: str) -> None:
    # Updates are not promised: an audit event counts notes and dead letters.
    inputs.outputs[row] += topic != PATIENT_UPDATES.name
    inputs.dead[row] += topic == DEAD_LETTERS.name


def _source(raw: object) -> tuple[str, int, int] | None:
    if not isinstance(raw, bytes):
        return None
    topic, partition, offset = raw.decode().rsplit("/", 2)
    return topic, int(partition), int(offset)


def _number(raw: object) -> int:
    return int(raw) if isinstance(raw, bytes) else 0
