"""Notes that wait for the demographics of their patient.

A note of whose patient no name is known is held if the policy for its type is `wait` or
`hold`: it becomes a row of `notes.held`, in the transaction that commits its offset.
Released, it is published on `notes` once more, so that the loop treats it as any other
record; its row then only says so, and is deleted when that record is processed.

Order: a note follows those of its patient that are held under the same policy, and is
held as well while there are any.

The rows are those of the table, and those that the open transaction changes.  Memory
holds an index of them without text: it is read from the table when a partition is taken
over, and what an aborted transaction had changed is read again.
"""

from __future__ import annotations

import logging
import re
import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

import orjson

from streams.engine.errors import CorruptState
from streams.engine.observer import HeldProgress
from streams.engine.records import Output, Partition, Record
from streams.engine.settings import CoreSettings, UnknownPatient
from streams.kafka.tables.staged import Rows, StagedTable
from streams.kafka.topics import NOTES, NOTES_HELD
from streams.model.held import (
    HeldNote,
    HeldPolicy,
    Release,
    patient_of,
    prefix_of,
    read_key,
    row_key,
)
from streams.model.notes import ClinicalNote
from streams.model.outputs import (
    HELD,
    RECEIVED,
    SCHEMA,
    SOURCE,
    changelog,
    received_header,
    schema_header,
    source_header,
)
from streams.model.patients.updates import HeldCommand

from .join import Joined
from .outputs import ScrubOutputs

log = logging.getLogger(__name__)

RELEASED_AT_ONCE = 200
RELEASED_BYTES = 4 * 1024 * 1024
"""Limits of what one transaction releases by time or demographics."""
CHECKED_AT_ONCE = 1000
"""Patients whose names are looked for between two batches."""
ALL = b""
"""The prefix of all rows."""

_RELEASED = re.compile(rb"([0-9]{1,19})/(" + b"|".join(
    each.encode() for each in Release
) + rb")")  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnknownPatients:
    """The policies for notes of patients of whom no name is known.

    Args:
        policy: For all note types that are not listed.
        by_type: By note type.
        seconds: How long a note waits, with the policy `wait`.
    """

    policy: UnknownPatient = "scrub"
    by_type: Mapping[str, UnknownPatient] = field(default_factory=dict)
    seconds: float = 30.0

    @classmethod
    def of(cls, settings: CoreSettings) -> UnknownPatients:
        """Return what the settings say."""
        return cls(
            settings.unknown_patient,
            settings.unknown_patient_types,
            settings.unknown_patient_seconds,
        )

    def of_type(self, note_type: str) -> UnknownPatient:
        """Return the policy for a note type."""
        return self.by_type.get(note_type, self.policy)


@dataclass(frozen=True, slots=True)
class _Row:
    """The entry for a row in the index."""

    policy: HeldPolicy
    since_ms: int
    until_ms: int
    released: Release | None


@dataclass(slots=True, repr=False)
class _Part:
    """The rows of a partition.

    Args:
        patients: The index, by prefix and offset; offsets ascend.
        waiting: When each waiting note was held, by key; the oldest first.
        deadlines: A heap of bounds and keys; some are outdated.
        named: Patients with held notes who may have got a name.
        taken: Released notes that the open transaction processes, by key.
        stale: Prefixes whose rows have to be read again.
    """

    patients: dict[bytes, dict[int, _Row]] = field(default_factory=dict)
    waiting: dict[bytes, int] = field(default_factory=dict)
    deadlines: list[tuple[int, bytes]] = field(default_factory=list)
    named: dict[bytes, None] = field(default_factory=dict)
    taken: dict[bytes, Record] = field(default_factory=dict)
    stale: set[bytes] = field(default_factory=set)

    def row(self, key: bytes) -> _Row | None:
        prefix, offset = read_key(key)
        return self.patients.get(prefix, {}).get(offset)

    def put(self, key: bytes, row: _Row) -> None:
        prefix, offset = read_key(key)
        self.patients.setdefault(prefix, {})[offset] = row
        if row.released is None:
            self.waiting[key] = row.since_ms
            if row.until_ms:
                heappush(self.deadlines, (row.until_ms, key))
        else:
            self.waiting.pop(key, None)

    def remove(self, key: bytes) -> None:
        prefix, offset = read_key(key)
        rows = self.patients.get(prefix, {})
        rows.pop(offset, None)
        if not rows:
            self.patients.pop(prefix, None)
        self.waiting.pop(key, None)


@dataclass(slots=True)
class _Budget:
    """The limits of what may still be released in this transaction."""

    notes: int
    size: int
    patients: int

    @property
    def is_spent(self) -> bool:
        return self.notes <= 0 or self.size <= 0


class HeldNotes:
    """The held notes of the assigned partitions.

    Args:
        table: The rows of `notes.held` as of the last commit.
        policies: What is held.
        outputs: Makes audit events.
        is_named: Returns whether the table of patients holds a name, by partition and
            patient key.
        now: Returns milliseconds since 1970.
    """

    def __init__(
        self,
        table: Rows,
        policies: UnknownPatients,
        outputs: ScrubOutputs,
        is_named: Callable[[int, bytes], bool],
        now: Callable[[], int],
    ) -> None:
        self._rows = StagedTable(NOTES_HELD, table)
        self._policies = policies
        self._outputs = outputs
        self._is_named = is_named
        self._now = now
        self._parts: dict[int, _Part] = {}

    def open(self, partitions: Iterable[int]) -> None:
        """Take over partitions whose table is complete."""
        for each in partitions:
            self._parts[each] = _Part(stale={ALL})

    def close(self, partitions: Iterable[int]) -> None:
        """Give partitions up."""
        for each in partitions:
            self._parts.pop(each, None)

    def admit(self, joined: Joined) -> Joined | list[Output]:
        """Return a note that is scrubbed now, or what is written to hold it."""
        record, note_type = joined.record, joined.note.note_type
        if (found := self._released_by(record)) is not None:
            part, key, row = found
            part.taken[key] = record
            return replace(joined, policy=row.policy, released=row.released)
        policy = self._policies.of_type(note_type)
        if policy == "scrub":
            return joined
        joined = replace(joined, policy=policy)
        part = self._part(record.partition.index)
        ahead = self._ahead(part, joined)
        if not ahead and joined.document.known.patient_names:
            return joined
        return self._hold(part, joined, policy, ahead)

    def done(self, record: Record) -> list[Output]:
        """Return what deletes the row of a released note that has been processed."""
        found = self._released_by(record)
        if found is None:
            return []
        part, key, _row = found
        return [self._delete(part, key, record)]

    def updated(self, partition: int, patient: bytes) -> None:
        """Have the notes of a patient released by `due`, if a name is known now."""
        prefix = prefix_of(patient)
        part = self._part(partition)
        if prefix in part.patients:
            part.named[prefix] = None

    def obey(self, record: Record, command: HeldCommand) -> list[Output]:
        """Return what an operator's command writes; unknown offsets are gone already.

        A note is not released before an earlier one of its patient that still waits
        under the same policy.
        """
        part = self._part(record.partition.index)
        prefix = prefix_of(record.key or b"")
        outputs: list[Output] = []
        for offset in command.discard:
            row = part.patients.get(prefix, {}).get(offset)
            if row is not None and row.released is None:
                outputs += self._discard(part, record, prefix, offset)
        wanted, blocked = {*command.release}, set()
        for offset, row in [*part.patients.get(prefix, {}).items()]:
            if row.released is not None or row.policy in blocked:
                continue
            if offset in wanted:
                place = Partition(NOTES.name, record.partition.index)
                outputs += self._release(part, place, prefix, offset, Release.OPERATOR)
            else:
                blocked.add(row.policy)
        return outputs

    def due(self, claimed: Collection[int]) -> dict[int, list[Output]]:
        """Return what releases notes whose time is over or whose patient has a name.

        Args:
            claimed: The partitions that may release some.
        """
        budget = _Budget(RELEASED_AT_ONCE, RELEASED_BYTES, CHECKED_AT_ONCE)
        found = {}
        for partition in sorted(self._parts.keys() & claimed):
            part = self._part(partition)
            if not (part.named or part.deadlines):
                continue
            place = Partition(NOTES.name, partition)
            outputs = self._of_named(part, place, budget)
            outputs += self._overdue(part, place, budget)
            if outputs:
                found[partition] = outputs
        return found

    def commit(self, written: Mapping[Partition, int]) -> None:
        """Write the changed rows to the table; see `StagedTable.commit`."""
        for part in self._parts.values():
            part.taken.clear()
        self._rows.commit(written)

    def abort(self) -> None:
        """Drop the changed rows."""
        for partition, part in self._parts.items():
            part.stale.update(read_key(key)[0] for key in self._rows.changed(partition))
            part.taken.clear()
        self._rows.abort()

    def forget(self) -> None:
        """Read all rows again: they have changed, or an interrupted call changed some.

        Call it with no transaction open.
        """
        self.open([*self._parts])

    def progress(self) -> Sequence[HeldProgress]:
        """Return how many notes of each partition wait, and since when."""
        return [
            HeldProgress(
                each,
                len(part.waiting),
                next(iter(part.waiting.values()), 0),
                part.deadlines[0][0] if part.deadlines else 0,
            )
            for each, part in self._parts.items()
        ]

    def _part(self, partition: int) -> _Part:
        """Return a partition, with its stale rows read again."""
        part = self._parts[partition]
        if not part.stale:
            return part
        prefixes = {ALL} if ALL in part.stale else part.stale
        for prefix in prefixes:
            for offset in part.patients.pop(prefix, {}):
                part.waiting.pop(row_key(prefix, offset), None)
            for key, value in self._rows.committed(partition, prefix):
                try:
                    part.put(key, _index_of(HeldNote.decode(value)))
                except (ValueError, struct.error) as error:
                    # Another program wrote it; nothing of it is published.
                    log.warning(
                        "notes.held[%d]: an unreadable row is ignored (%s); delete it",
                        partition,
                        type(error).__name__,
                    )
                else:
                    part.named[read_key(key)[0]] = None
        part.waiting = dict(sorted(part.waiting.items(), key=lambda each: each[1]))
        part.stale = set()
        return part

    def _released_by(self, record: Record) -> tuple[_Part, bytes, _Row] | None:
        """Return the row that a record of `notes` was released from, if any."""
        if HELD not in record.headers:
            return None
        match = _RELEASED.fullmatch(record.headers[HELD])
        if match is None:
            return None
        part = self._part(record.partition.index)
        key = row_key(prefix_of(record.key or b""), int(match[1]))
        row = part.row(key)
        if row is None or row.released != match[2].decode():
            return None
        if part.taken.get(key, record) != record:
            return None
        return part, key, row

    def _ahead(self, part: _Part, joined: Joined) -> list[_Row]:
        """Return the notes of the patient that are held under the same policy."""
        prefix = prefix_of(joined.note.patient.key)
        return [
            row
            for offset, row in part.patients.get(prefix, {}).items()
            if row.policy == joined.policy and row_key(prefix, offset) not in part.taken
        ]

    def _hold(
        self,
        part: _Part,
        joined: Joined,
        policy: HeldPolicy,
        ahead: Sequence[_Row],
    ) -> list[Output]:
        record, note, now = joined.record, joined.note, self._now()
        prefix = prefix_of(note.patient.key)
        key = row_key(prefix, record.offset)
        is_bounded = policy == "wait"
        held = HeldNote(
            policy,
            note.note_type,
            since_ms=now,
            until_ms=now + int(self._policies.seconds * 1000) if is_bounded else 0,
            received=received_header(record).decode(),
            note=(record.value or b"").decode(),
        )
        audit = self._outputs.without_note("held", record, note, policy, now)
        if ahead and all(row.released for row in ahead):
            # They are on their way already: the note goes after them at once.
            reason = ahead[-1].released or Release.DEMOGRAPHICS
            place = Partition(NOTES.name, record.partition.index)
            again = _again(held, place, prefix, record.offset, reason)
            row = self._put(part, key, _released(held, reason), record)
            return [again, row, audit]
        part.named[prefix] = None
        return [self._put(part, key, held, record), audit]

    def _of_named(self, part: _Part, place: Partition, budget: _Budget) -> list[Output]:
        """Release the notes of patients who have got a name."""
        outputs: list[Output] = []
        for prefix in [*part.named]:
            if budget.is_spent or not budget.patients:
                break
            budget.patients -= 1
            rows = part.patients.get(prefix, {})
            waiting = [offset for offset, row in rows.items() if row.released is None]
            if waiting and self._is_named(place.index, patient_of(prefix)):
                for offset in waiting:
                    if budget.is_spent:
                        return outputs
                    reason = Release.DEMOGRAPHICS
                    found = self._release(part, place, prefix, offset, reason)
                    outputs += _counted(budget, found)
            del part.named[prefix]
        return outputs

    def _overdue(self, part: _Part, place: Partition, budget: _Budget) -> list[Output]:
        """Release the notes whose time is over, each after the earlier ones."""
        outputs: list[Output] = []
        now = self._now()
        while part.deadlines and part.deadlines[0][0] <= now:
            prefix, last = read_key(part.deadlines[0][1])
            rows = part.patients.get(prefix, {})
            due = rows.get(last)
            if due is not None and due.released is None:
                for offset, row in [*rows.items()]:
                    if offset > last or row.released or row.policy != due.policy:
                        continue
                    if budget.is_spent:
                        return outputs
                    found = self._release(part, place, prefix, offset, Release.TIME)
                    outputs += _counted(budget, found)
            heappop(part.deadlines)
        return outputs

    def _release(
        self,
        part: _Part,
        place: Partition,
        prefix: bytes,
        offset: int,
        reason: Release,
    ) -> list[Output]:
        """Return what publishes a waiting note again."""
        key = row_key(prefix, offset)
        held = self._held(place.index, key)
        again = _again(held, place, prefix, offset, reason)
        source = Record(place, offset, None, None)
        return [again, self._put(part, key, _released(held, reason), source)]

    def _discard(
        self, part: _Part, command: Record, prefix: bytes, offset: int
    ) -> list[Output]:
        """Return what deletes a waiting note."""
        key, place = row_key(prefix, offset), command.partition.index
        held = self._held(place, key)
        headers = {RECEIVED: held.received.encode()}
        source = Record(
            Partition(NOTES.name, place),
            offset,
            patient_of(prefix),
            held.note.encode(),
            headers,
        )
        note = ClinicalNote.from_json(orjson.loads(held.note))
        audit = self._outputs.without_note(
            "discarded", source, note, held.policy, self._now()
        )
        return [self._delete(part, key, command), audit]

    def _held(self, partition: int, key: bytes) -> HeldNote:
        value = self._rows.get(partition, key)
        if value is None:
            raise CorruptState("notes.held: a row of the index is not in the table")
        return HeldNote.decode(value)

    def _put(self, part: _Part, key: bytes, held: HeldNote, source: Record) -> Output:
        part.put(key, _index_of(held))
        return self._row(key, held.encode(), source)

    def _delete(self, part: _Part, key: bytes, source: Record) -> Output:
        part.remove(key)
        return self._row(key, None, source)

    def _row(self, key: bytes, value: bytes | None, source: Record) -> Output:
        self._rows.put(source.partition.index, key, value)
        return changelog(NOTES_HELD, key, value, source)


def _again(
    held: HeldNote, place: Partition, prefix: bytes, offset: int, reason: Release
) -> Output:
    """Return the record that publishes a note again."""
    source = Record(place, offset, patient_of(prefix), held.note.encode())
    headers = {
        SOURCE: source_header(source),
        SCHEMA: schema_header(NOTES),
        RECEIVED: held.received.encode(),
        HELD: b"%d/%s" % (offset, reason.encode()),
    }
    return Output(NOTES.name, source.key, source.value, headers, source=source)


def _released(held: HeldNote, reason: Release) -> HeldNote:
    return replace(held, until_ms=0, received="", note="", released=reason)


def _index_of(held: HeldNote) -> _Row:
    return _Row(held.policy, held.since_ms, held.until_ms, held.released)


def _counted(budget: _Budget, outputs: list[Output]) -> list[Output]:
    budget.notes -= 1
    budget.size -= sum(len(each.value or b"") for each in outputs)
    return outputs
