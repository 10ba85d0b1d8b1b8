"""The walk over the topics: each input is matched with its audit event and outputs.

An audit event promises outputs: notes, parts of messages, patient updates, scrubbed
notes, rebuilt messages, dead letters.  A patient update has one only if it became a
dead letter.  The order of each key is checked too.

A note that was held and released is on `notes` twice: the second record is the output
of the first, and an input of its own.  Order is judged by the first, among notes with
the same policy for unknown patients: those of different policies do not wait for each
other.
"""

from __future__ import annotations

import struct
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from streams.engine.reasons import ReasonCode
from streams.engine.records import Record
from streams.kafka.bounded import committed_records
from streams.kafka.client import admin_client, record_of
from streams.kafka.offsets import end_offsets, first_offsets, high_watermarks
from streams.kafka.topic_admin import partition_counts, topic_settings
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    LETTERS_REPLAYED,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
    Stage,
)
from streams.model.held import read_key
from streams.model.outputs import INTO
from streams.model.outputs import REPLAYED as HAS_BEEN_LETTER
from streams.model.seals import Seal, audit_key, read_audit_key
from streams.operations.settings import Settings

from .inputs import Flags, Inputs
from .marks import (
    ERASED,
    INPUTS,
    OWING,
    REPLAYED,
    Mark,
    MarkedEvent,
    Marks,
    Untrusted,
    act_of_a_person,
    source_of_replay,
)
from .progress import GroupProgress, Offsets, group_of
from .verdict import MAX_EXAMPLES, Conclusion, Fault, TopicVerdict

SCRUBBED = (NOTES_SCRUBBED.name, HL7_SCRUBBED.name)
ERASABLE = (*SCRUBBED, PHI_AUDIT.name)
"""Topics on which `phistream erase --published` writes null values."""
OUTPUTS = (
    PHI_AUDIT.name, NOTES.name, PATIENT_UPDATES.name, *SCRUBBED, DEAD_LETTERS.name,
)  # fmt: skip
MARGIN_SECONDS = 5.0


class _RecordId(NamedTuple):
    """A record of a topic."""

    topic: str
    partition: int
    offset: int


class _Release(NamedTuple):
    """A released note whose seal is of another key than the event of its input."""

    where: _RecordId
    input: _RecordId
    key_id: str
    digest: bytes


class Auditor:
    """Reads the topics once, up to their current last stable offsets.

    Args:
        settings: Connection settings.
        keys: The audit keys; by default that of the pseudonym key, if one is set.
            Without any, seals are not checked.
        progress: Called with the number of records read so far.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        keys: Sequence[bytes] | None = None,
        progress: Callable[[int], None] = lambda _n: None,
    ) -> None:
        self._settings = settings
        self._marks = Marks(_own_keys(settings) if keys is None else keys)
        self._progress = progress
        self._admin: AdminClient = admin_client(settings)
        self._counts: Mapping[str, int] = partition_counts(self._admin)
        self._inputs: dict[tuple[str, int], Inputs] = {}
        self._order: dict[tuple[str, str, int, bytes, bytes], int] = {}
        self._verdicts = {topic: TopicVerdict(topic) for topic in (*INPUTS, *OUTPUTS)}
        self._waiting: set[tuple[int, int]] = set()
        self._releases: list[_Release] = []
        self._said_replayed: dict[bytes, list[_RecordId]] = defaultdict(list)
        self._replays: dict[bytes, str] = {}
        self._read = 0
        self._unjudged = 0
        self._acts = 0
        self._null_values = 0

    def verdicts(self) -> list[TopicVerdict]:
        """Return the verdict on each input topic, and on each other one with faults."""
        # Committed offsets come first: the outputs of all inputs below them are already
        # visible.  Outputs of later inputs are ignored.
        progress = GroupProgress(self._settings, self._admin, self._counts)
        self._wait_for_transactions()
        for topic in INPUTS:
            for partition, (first, end) in self._ranges(topic).items():
                self._inputs[topic, partition] = Inputs(
                    first, end, with_updates=self._marks.are_checked
                )
        # The audit events say which digests inputs and outputs have, and which notes
        # keep an order.
        for message in self._messages(PHI_AUDIT.name):
            if self._is_output(message):
                self._add_output(message)
        self._waiting = set(self._held_notes())
        self._read_all()
        due, findings = progress.judge(self._inputs)
        for each in findings:
            self._fault(each.fault, each.topic, each.partition, each.offset, each.says)
        self._judge_releases()
        self._judge_replays()
        self._judge(due)
        found = [self._verdicts[topic] for topic in INPUTS]
        others = [each for each in self._verdicts.values() if each not in found]
        return found + [each for each in others if each.faults]

    def conclusion(
        self, verdicts: Sequence[TopicVerdict], *, is_drained: bool = False
    ) -> Conclusion:
        """Return what the verdicts come to."""
        unread = [topic for topic in self._verdicts if topic not in self._counts]
        return Conclusion(verdicts, unread, self._marks.are_checked, is_drained)

    @property
    def not_checked(self) -> list[str]:
        """Sentences on what the verdicts do not cover."""
        return list(self._limits())

    def _limits(self) -> Iterator[str]:
        if not self._marks.are_checked:
            yield (
                "seals: no key was given, so records that were forged, changed or "
                "replaced are not found, nor missing updates of intake; name the key "
                "with --key-file"
            )
        if self._unjudged:
            yield (
                f"{self._unjudged} audit events without a seal of a given key are of "
                "inputs that retention has deleted"
            )
        yield from self._of_the_office()
        for topic, verdict in self._verdicts.items():
            if topic not in self._counts:
                yield f"{topic}: the topic is missing, or hidden from this user"
            if verdict.expired:
                yield (
                    f"{topic}: retention has deleted what {verdict.expired} records "
                    "gave"
                )
            if verdict.uncommitted:
                yield (
                    f"{topic}: {verdict.uncommitted} records are in partitions without "
                    f"a committed offset of {group_of(self._settings, topic)}: never "
                    "processed"
                )

    def _of_the_office(self) -> Iterator[str]:
        if self._said_replayed:
            count = sum(map(len, self._said_replayed.values()))
            yield f"{count} records of notes are said to be replayed"
        if self._null_values:
            yield f"{self._null_values} null values erase published records of patients"
        if self._acts:
            yield (
                f"{self._acts} audit events say who replayed or saw dead letters, or "
                "erased a patient"
            )

    def _ranges(self, topic: str) -> dict[int, tuple[int, int]]:
        """Return the first and the last stable offset of each partition."""
        partitions = range(self._counts.get(topic, 0))
        firsts = first_offsets(self._admin, topic, partitions)
        ends = end_offsets(self._admin, topic, partitions)
        return {p: (firsts[p], ends[p]) for p in partitions}

    def _wait_for_transactions(self) -> None:
        """Wait until the transactions that are open now have ended.

        What outlasts their time limit is reported: its outputs, and all behind them,
        are hidden.
        """
        deadline = time.monotonic() + self._settings.transaction_seconds
        deadline += MARGIN_SECONDS
        for topic in OUTPUTS:
            partitions = range(self._counts.get(topic, 0))
            wanted = high_watermarks(self._admin, topic, partitions)
            while hidden := {
                p: (stable, wanted[p])
                for p, stable in end_offsets(self._admin, topic, partitions).items()
                if stable < wanted[p]
            }:
                if time.monotonic() > deadline:
                    for partition, (stable, end) in hidden.items():
                        self._fault(
                            Fault.OPEN_TRANSACTION,
                            topic,
                            partition,
                            stable,
                            f"hides up to {end - stable} offsets",
                        )
                    break
                time.sleep(0.1)

    def _messages(self, topic: str) -> Iterator[Message]:
        """Yield the committed records of a topic, each partition in order."""
        ranges, group = self._ranges(topic), f"{self._settings.group}-reconcile"
        for message in committed_records(self._settings, topic, ranges, group):
            if message is None:
                self._progress(self._read)
            else:
                self._read += 1
                yield message

    def _read_all(self) -> None:
        """Count the inputs, and all outputs but audit events."""
        for topic in (*INPUTS, *SCRUBBED, DEAD_LETTERS.name):
            for message in self._messages(topic):
                if topic in INPUTS:
                    self._add_input(message)
                if self._is_output(message):
                    self._add_output(message)

    def _held_notes(self) -> Iterator[tuple[int, int]]:
        """Yield partition and offset of the notes that have a row in notes.held."""
        waiting: dict[tuple[int, bytes], bool] = {}
        for message in self._messages(NOTES_HELD.name):
            record = record_of(message)
            row = (record.partition.index, record.key or b"")
            waiting[row] = record.value is not None
        for (partition, key), is_there in waiting.items():
            with suppress(struct.error):
                if is_there:
                    yield partition, read_key(key)[1]

    def _is_output(self, message: Message) -> bool:
        """Return whether a record is to be judged as an output.

        Anyone who is a sender may write to hl7.raw, and feeders to patient.updates:
        only its seal shows that a stage wrote an update.
        """
        topic = message.topic()
        if topic == PATIENT_UPDATES.name:
            return self._marks.has_own_seal(message)
        # What was a dead letter is an input of its own, whatever it said at first.
        if topic == NOTES.name:
            record = record_of(message)
            if HAS_BEEN_LETTER in record.headers:
                self._add_replay(record)
                return False
        # What erases a dead letter; the letter itself is missed without its event.
        if topic == DEAD_LETTERS.name and message.value() is None:
            return False
        if topic in ERASABLE and message.value() is None:
            self._add_null_value(message)
            return False
        # An output of `phistream rescrub`, whose audit event is in a topic of its own:
        # reconcile --version judges it.
        if topic == DEAD_LETTERS.name and INTO in record_of(message).headers:
            return False
        return topic != HL7_RAW.name

    def _add_input(self, message: Message) -> None:
        record = record_of(message)
        topic, partition = record.partition
        inputs = self._inputs[topic, partition]
        row = inputs.row(record.offset)
        if row is None:
            return
        inputs.is_input[row] = True
        if not inputs.audits[row]:
            inputs.at_ms[row] = record.timestamp_ms
        key_id = inputs.key_id(row)
        digest = None if key_id is None else self._marks.of_input(record, key_id)
        if digest is not None and not inputs.has_input(row, digest):
            self._fault(
                Fault.ALTERED,
                topic,
                partition,
                record.offset,
                "its audit event is of another record",
            )
        if inputs.is_held[row] and self._marks.are_of_several_keys:
            # Another key may be in force when it is released.
            inputs.held_digests[record.offset] = self._marks.all_of_input(record)

    def _add_output(self, message: Message) -> None:
        topic, place = message.topic() or "", message.partition() or 0
        where = _RecordId(topic, place, message.offset() or 0)
        try:
            mark = self._marks.read(message)
            inputs = self._inputs_of(mark)
        except Untrusted as error:
            if topic != PHI_AUDIT.name or not self._add_act(message):
                self._fault(error.fault, *where, error.says)
            return
        if mark.event is not None:
            self._add_event(mark, mark.event, inputs, where)
        elif self._is_believed(mark, where):
            self._add_record(mark, inputs, where, message)

    def _add_null_value(self, message: Message) -> None:
        """Report a null value unless an erasure wrote it; it replaces no output."""
        where = _RecordId(
            message.topic() or "", message.partition() or 0, message.offset() or 0
        )
        try:
            seal = self._marks.of_erasure(message)
        except Untrusted as error:
            self._fault(error.fault, *where, error.says)
            return
        if self._marks.knows(seal):
            self._null_values += 1
        else:
            self._unknown_key(seal, where)

    def _unknown_key(self, seal: Seal, where: _RecordId) -> None:
        says = f"name the file of audit key {seal.key_id} with --key-file"
        self._fault(Fault.UNKNOWN_KEY, *where, says)

    def _add_event(
        self, mark: Mark, event: MarkedEvent, inputs: Inputs, where: _RecordId
    ) -> None:
        offset = mark.source.offset
        row = inputs.row(offset)
        if event.outcome == ERASED:
            # A person's: no stage has sealed it, and no offset was committed with it.
            self._acts += 1
            if row is not None:
                inputs.is_erased[row] = True
        elif offset < inputs.first and not mark.is_sealed:
            self._unjudged += self._marks.are_checked
        elif self._is_believed(mark, where):
            inputs.add_progress(mark)
            if row is not None:
                inputs.add_audit(row, event, mark)

    def _add_record(
        self, mark: Mark, inputs: Inputs, where: _RecordId, message: Message
    ) -> None:
        inputs.add_progress(mark)
        row = inputs.row(mark.source.offset)
        if row is None:
            return
        self._check_input(mark, inputs, row, where)
        if where.topic == NOTES.name and mark.is_release:
            first_offsets = self._inputs[where[:2]].first_offsets
            first_offsets[where.offset] = mark.source.offset
        inputs.add_output(row, where.topic, mark)
        self._check_order(where.topic, mark, message)

    def _check_input(
        self, mark: Mark, inputs: Inputs, row: int, where: _RecordId
    ) -> None:
        """Check that an output is of the input that the audit event is of."""
        seal, key_id = mark.seal, inputs.key_id(row)
        if seal is None or key_id is None:
            return
        if mark.is_release and seal.key_id != key_id:
            source = mark.source
            place = _RecordId(source.topic, source.partition, source.offset)
            self._releases.append(_Release(where, place, seal.key_id, seal.input))
        elif seal.key_id != key_id or not inputs.has_input(row, seal.input):
            self._fault(Fault.ALTERED, *where, "it is of another input record")

    def _judge_releases(self) -> None:
        """Check notes that were released under another key, now that all are read."""
        for where, place, key_id, digest in self._releases:
            known = self._inputs[place[:2]].held_digests.get(place.offset, {})
            if known and known.get(key_id) != digest:
                self._fault(Fault.ALTERED, *where, "it is of another input record")

    def _add_act(self, message: Message) -> bool:
        """Return whether an audit event tells what a person did, and note it."""
        event = act_of_a_person(message)
        if event is None:
            return False
        self._acts += 1
        is_replay = event.outcome == REPLAYED
        # Of intake's letters none comes from notes.
        is_replay &= event.stage == Stage.SCRUB
        if is_replay and event.source.topic == DEAD_LETTERS.name:
            letter = _letter(event.source.partition, event.source.offset)
            self._replays[letter] = event.code
        return True

    def _add_replay(self, record: Record) -> None:
        place = _RecordId(*record.partition, record.offset)
        # What is later may be confirmed by what is later than the marks.
        if self._inputs[record.partition].row(record.offset) is not None:
            self._said_replayed[record.headers[HAS_BEEN_LETTER]].append(place)

    def _judge_replays(self) -> None:
        """Report records that no replay of the privacy office has returned."""
        if not self._said_replayed:
            return
        marks: dict[bytes, set[tuple[str, int]]] = defaultdict(set)
        for message in self._messages(LETTERS_REPLAYED.name):
            key, source = message.key(), source_of_replay(message)
            if isinstance(key, bytes) and source is not None:
                marks[key].add((source.topic, source.partition))
        for letter, places in self._said_replayed.items():
            for number, place in enumerate(places):
                if not self._is_replay(letter, marks.get(letter), place):
                    says = "no mark and no audit event says that it was replayed"
                    self._fault(Fault.NOT_REPLAYED, *place, says)
                elif number:
                    says = "another record says that it is the same dead letter"
                    self._fault(Fault.NOT_REPLAYED, *place, says)

    def _is_replay(
        self,
        letter: bytes,
        sources: Collection[tuple[str, int]] | None,
        place: _RecordId,
    ) -> bool:
        """Return whether a letter was replayed to where a record lies.

        Args:
            letter: The dead letter that the record says it was.
            sources: Topic and partition of the letter's original, as its marks say;
                None without a mark, since those of old letters are deleted.
            place: Of the record.
        """
        code = self._replays.get(letter)
        if sources is None:
            return code is not None
        if code == ReasonCode.WRONG_PARTITION:
            # It was returned to the partition of its key.
            return place.topic in {topic for topic, _partition in sources}
        return (place.topic, place.partition) in sources

    def _inputs_of(self, mark: Mark) -> Inputs:
        inputs = self._inputs.get((mark.source.topic, mark.source.partition))
        if inputs is None:
            raise Untrusted(Fault.MALFORMED, "names a partition that does not exist")
        return inputs

    def _is_believed(self, mark: Mark, place: _RecordId) -> bool:
        """Return whether an output counts; report it if it does not."""
        if not self._marks.are_checked or mark.is_sealed:
            return True
        if mark.seal is not None:
            self._unknown_key(mark.seal, place)
            return False
        self._fault(Fault.UNSEALED, *place, "it has no seal")
        return False

    def _is_held(self, topic: str, partition: int, inputs: Inputs) -> Flags:
        """Return whether a note waits, by its audit event and its row in notes.held."""
        held: Flags = inputs.is_held & ~inputs.is_discarded & (inputs.outputs == 0)
        if topic == NOTES.name and held.any():
            waiting = [offset for place, offset in self._waiting if place == partition]
            held &= np.isin(inputs.offsets, waiting)
        return held

    def _check_order(self, topic: str, mark: Mark, message: Message) -> None:
        key, source = message.key(), mark.source
        if not isinstance(key, bytes):
            return  # Kafka guarantees no order without a key
        origin, partition, offset = source.topic, source.partition, source.offset
        inputs = self._inputs[origin, partition]
        policy = inputs.policies.get(offset, b"")
        if topic in SCRUBBED:
            offset = inputs.first_offsets.get(offset, offset)
        place = (topic, origin, partition, key, policy)
        if offset < self._order.get(place, -1):
            self._verdicts[origin].out_of_order += 1
            self._example(origin, partition, offset, "out of order")
        self._order[place] = max(offset, self._order.get(place, -1))

    def _judge(self, due: Offsets) -> None:
        cutoffs = self._cutoffs()
        self._judge_audit(due, cutoffs)
        missing: set[tuple[str, int, int]] = set()
        for (topic, partition), inputs in self._inputs.items():
            until, verdict = due[topic, partition], self._verdicts[topic]
            inputs.forget_erased()
            is_due = inputs.is_input & (inputs.offsets < (until or 0))
            is_held = self._is_held(topic, partition, inputs)
            short = _short(topic, inputs) & ~is_held
            over = inputs.is_input & _over(topic, inputs)
            held = is_due & is_held
            lost = is_due & short & _lost(topic, inputs, cutoffs)
            expired = is_due & short & ~lost
            counted = is_due & ~expired
            _count(verdict, inputs, counted, _without_note(topic, inputs) & ~short)
            verdict.held += int(held.sum())
            verdict.expired += int(expired.sum())
            waiting = int((inputs.is_input & ~is_due).sum())
            if until is None:
                verdict.uncommitted += waiting
            else:
                verdict.pending += waiting
            verdict.missing += int(lost.sum())
            verdict.doubled += int(over.sum())
            missing |= {(topic, partition, int(n)) for n in inputs.offsets[lost]}
            for offset in inputs.offsets[over]:
                self._example(topic, partition, int(offset), "doubled")
            for offset in inputs.offsets[is_due & inputs.is_altered]:
                says = "its outputs are not those of its audit event"
                self._fault(Fault.ALTERED, topic, partition, int(offset), says)
            self._judge_ghosts(topic, partition, inputs)
        self._explain(missing)

    def _judge_ghosts(self, topic: str, partition: int, inputs: Inputs) -> None:
        """Report what names a record that is not there, below the topic's end."""
        claimed = (inputs.audits > 0) | (inputs.outputs > 0) | (inputs.updates > 0)
        ghosts = inputs.offsets[~inputs.is_input & claimed]
        if not len(ghosts):
            return
        # Retention may have deleted them since.
        first = first_offsets(self._admin, topic, [partition])[partition]
        is_compacted = "compact" in self._topic_settings()[topic]["cleanup.policy"]
        says = (
            "the topic is compacted, so inputs are deleted: set cleanup.policy=delete"
            if is_compacted
            else "no committed record is there; its transaction may have been aborted"
        )
        for offset in ghosts[ghosts >= first]:
            self._fault(Fault.NO_INPUT, topic, partition, int(offset), says)

    def _topic_settings(self) -> Mapping[str, Mapping[str, str]]:
        return topic_settings(
            self._admin, [t for t in self._verdicts if t in self._counts]
        )

    def _cutoffs(self) -> dict[str, float]:
        """Return, by topic, before when retention has deleted records.

        Minus infinity if all are still there.
        """
        settings, now = self._topic_settings(), time.time() * 1000
        cutoffs = dict.fromkeys(OUTPUTS, -np.inf)
        for topic in OUTPUTS:
            kept = int(settings.get(topic, {}).get("retention.ms", -1))
            if kept >= 0 and any(
                first > 0 for first, _end in self._ranges(topic).values()
            ):
                cutoffs[topic] = now - kept
        return cutoffs

    def _judge_audit(self, due: Offsets, cutoffs: Mapping[str, float]) -> None:
        """Report audit events that were deleted before their retention has ended.

        Kafka's retention has left none only if none is younger: no input is that was
        processed, or may have been.
        """
        last = -1
        for place, inputs in self._inputs.items():
            until = due[place]
            end = inputs.first + inputs.size if until is None else until
            may_be = inputs.is_input & (inputs.offsets < end)
            last = max(last, int(inputs.at_ms.max(initial=-1, where=may_be)))
        if last < max(0, cutoffs[PHI_AUDIT.name]):
            return
        for partition, (first, end) in self._ranges(PHI_AUDIT.name).items():
            if first == end > 0:
                says = f"all {end} offsets were deleted before their retention ended"
                self._fault(Fault.AUDIT_GONE, PHI_AUDIT.name, partition, first, says)

    def _explain(self, missing: Collection[tuple[str, int, int]]) -> None:
        """Add examples of missing outputs, with what became of their transactions."""
        hidden = self._uncommitted_copies(missing) if missing else {}
        for place in sorted(missing):
            copy = hidden.get(place)
            self._example(*place, "missing", f": {copy}" if copy else "")

    def _uncommitted_copies(
        self, missing: Collection[tuple[str, int, int]]
    ) -> dict[tuple[str, int, int], str]:
        """Return where outputs of missing inputs lie that no transaction committed."""
        found: dict[tuple[str, int, int], str] = {}
        group = f"{self._settings.group}-reconcile"
        for topic in (NOTES.name, *SCRUBBED, DEAD_LETTERS.name):
            stable = self._ranges(topic)
            ends = high_watermarks(self._admin, topic, list(stable))
            ranges = {p: (first, ends[p]) for p, (first, _end) in stable.items()}
            for message in committed_records(
                self._settings, topic, ranges, group, "read_uncommitted"
            ):
                if message is None:
                    continue
                try:
                    source = self._marks.read(message).source
                except Untrusted:
                    continue
                place = (source.topic, source.partition, source.offset)
                inputs = self._inputs.get(place[:2])
                row = inputs.row(source.offset) if inputs else None
                if place not in missing or inputs is None or row is None:
                    continue
                if inputs.outputs[row]:
                    continue  # not each of its copies is uncommitted
                partition, offset = message.partition() or 0, message.offset() or 0
                is_open = offset >= stable[partition][1]
                state = "is open" if is_open else "was aborted"
                found[place] = (
                    f"the transaction of {topic}[{partition}]@{offset} {state}"
                )
        return found

    def _fault(
        self, fault: Fault, topic: str, partition: int, offset: int, says: str
    ) -> None:
        self._verdicts[topic].add(fault, f"{topic}[{partition}]@{offset}", says)

    def _example(
        self, topic: str, partition: int, offset: int, what: str, why: str = ""
    ) -> None:
        examples = self._verdicts[topic].examples
        if sum(f" {what}" in each for each in examples) < MAX_EXAMPLES:
            examples.append(f"{topic}[{partition}]@{offset} {what}{why}")


def _own_keys(settings: Settings) -> list[bytes]:
    """Return the audit keys that the settings name; the file may hold one as it is."""
    if settings.pseudonym_keys:
        return [audit_key(each.value) for each in settings.key_ring()]
    file = settings.pseudonym_key_file
    return [] if file is None else [read_audit_key(file, "pseudonym_key_file")]


def _letter(partition: int, offset: int) -> bytes:
    """Return the position of a dead letter as headers and marks have it."""
    return f"{DEAD_LETTERS.name}/{partition}/{offset}".encode()


def _promised(
    topic: str, inputs: Inputs
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    # A note has exactly one outcome, whatever its audit event promises.
    is_note = topic == NOTES.name
    promised = np.ones_like(inputs.outputs) if is_note else inputs.promised
    promised = np.where(inputs.is_discarded, np.int32(0), promised)
    promised -= inputs.excused
    return np.maximum(promised, np.int32(0), out=promised)


def _short(topic: str, inputs: Inputs) -> Flags:
    """Return whether an input lacks its audit event, or outputs."""
    return (
        _without_event(topic, inputs)
        | _with_few_outputs(topic, inputs)
        | _with_few_updates(inputs)
    )


def _lost(topic: str, inputs: Inputs, cutoffs: Mapping[str, float]) -> Flags:
    """Return whether retention can't have deleted what an input lacks."""
    at_ms, has_event = inputs.times(), inputs.audits > 0
    is_kept = np.ones_like(has_event)
    for each in OWING:
        is_kept &= ~(inputs.owes(each) & (at_ms < cutoffs[each]))
    lost: Flags = _without_event(topic, inputs) & (at_ms >= cutoffs[PHI_AUDIT.name])
    lost |= _with_few_outputs(topic, inputs) & has_event & is_kept
    lost |= _with_few_updates(inputs) & (at_ms >= cutoffs[PATIENT_UPDATES.name])
    return lost


def _without_event(topic: str, inputs: Inputs) -> Flags:
    """Updates have one only if they became dead letters."""
    without: Flags = inputs.audits == 0
    return without & (topic != PATIENT_UPDATES.name)


def _with_few_outputs(topic: str, inputs: Inputs) -> Flags:
    few: Flags = inputs.outputs < _promised(topic, inputs)
    return few


def _with_few_updates(inputs: Inputs) -> Flags:
    few: Flags = inputs.has_digests & (inputs.updates < inputs.promised_updates)
    return few


def _over(topic: str, inputs: Inputs) -> Flags:
    over: Flags = inputs.outputs > _promised(topic, inputs)
    if topic == HL7_RAW.name:
        over &= inputs.audits > 0  # it lacks its event, which says how many there are
    over |= inputs.audits > 1
    over |= inputs.has_digests & (inputs.updates > inputs.promised_updates)
    return over


def _without_note(topic: str, inputs: Inputs) -> Flags:
    without: Flags = (_promised(topic, inputs) == 0) & (inputs.outputs == 0)
    return without


def _count(verdict: TopicVerdict, inputs: Inputs, due: Flags, without: Flags) -> None:
    verdict.inputs += int(inputs.is_input.sum())
    verdict.scrubbed += int((due & (inputs.outputs > inputs.dead)).sum())
    verdict.dead_letters += int((due & (inputs.dead > 0)).sum())
    verdict.no_note += int((due & without & ~inputs.is_repeated).sum())
    verdict.repeated += int((due & without & inputs.is_repeated).sum())
