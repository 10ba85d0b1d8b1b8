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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from streams.cluster.bounded import committed_records
from streams.cluster.client import admin_client, record_of
from streams.cluster.offsets import end_offsets, first_offsets, high_watermarks
from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
    partition_counts,
    topic_settings,
)
from streams.engine.settings import Settings
from streams.events.held import read_key
from streams.events.outputs import REPLAYED
from streams.events.seals import audit_key, read_audit_key

from .inputs import Flags, Inputs
from .marks import ERASED, INPUTS, SOURCES, Mark, Marks, Refused, tells_of_a_person
from .progress import Offsets, Progress, group_of
from .verdict import MAX_EXAMPLES, Fault, Verdict

SCRUBBED = (NOTES_SCRUBBED.name, HL7_SCRUBBED.name)
OUTPUTS = (
    PHI_AUDIT.name, NOTES.name, PATIENT_UPDATES.name, *SCRUBBED, DEAD_LETTERS.name,
)  # fmt: skip
OUTPUTS_OF: Mapping[str, tuple[str, ...]] = {
    origin: tuple(topic for topic, origins in SOURCES.items() if origin in origins)
    for origin in INPUTS
}
MARGIN_SECONDS = 5.0


class Auditor:
    """Reads the topics once, up to their current last stable offsets.

    Args:
        settings: Connection settings.
        keys: The audit keys; by default that of the pseudonym key, if one is set.
            Without any, seals are not checked.
        accept_unsealed: Whether records without a seal are believed, e.g. of versions
            that wrote none.
        progress: Called with the number of records read so far.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        keys: Sequence[bytes] | None = None,
        accept_unsealed: bool = False,
        progress: Callable[[int], None] = lambda _n: None,
    ) -> None:
        self._settings = settings
        self._marks = Marks(_own_keys(settings) if keys is None else keys)
        self._accept_unsealed = accept_unsealed
        self._progress = progress
        self._admin: AdminClient = admin_client(settings)
        self._counts: Mapping[str, int] = partition_counts(self._admin)
        self._inputs: dict[tuple[str, int], Inputs] = {}
        self._order: dict[tuple[str, str, int, bytes, bytes], int] = {}
        self._verdicts = {topic: Verdict(topic) for topic in (*INPUTS, *OUTPUTS)}
        self._waiting: set[tuple[int, int]] = set()
        self._read = 0
        self._unsealed = 0
        self._replayed = 0
        self._acts = 0

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each input topic, and on each other one with faults."""
        # Committed offsets come first: the outputs of all inputs below them are already
        # visible.  Outputs of later inputs are ignored.
        progress = Progress(self._settings, self._admin, self._counts)
        self._wait_for_transactions()
        for topic in INPUTS:
            for partition, (first, end) in self._ranges(topic).items():
                self._inputs[topic, partition] = Inputs(
                    first, end, with_updates=self._marks.are_checked
                )
        # The audit events say which digests inputs and outputs have, and which notes
        # keep an order.
        for message in self._messages(PHI_AUDIT.name):
            self._add_output(message)
        due, findings = progress.judge(self._inputs)
        for each in findings:
            self._fault(each.fault, each.topic, each.partition, each.offset, each.says)
        self._waiting = set(self._held_notes())
        self._read_all()
        self._judge(due)
        found = [self._verdicts[topic] for topic in INPUTS]
        others = [each for each in self._verdicts.values() if each not in found]
        return found + [each for each in others if each.faults]

    @property
    def not_checked(self) -> list[str]:
        """What the verdicts do not say."""
        return list(self._limits())

    def _limits(self) -> Iterator[str]:
        if not self._marks.are_checked:
            yield (
                "seals: no key was given, so records that were forged, changed or "
                "replaced are not found, nor missing updates of intake; name the key "
                "with --key-file"
            )
        if self._unsealed and self._accept_unsealed:
            yield f"{self._unsealed} records without a seal are believed"
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
        if self._replayed:
            yield f"{self._replayed} records of notes are said to be replayed"
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
        if topic == NOTES.name and REPLAYED in dict(message.headers() or ()):
            self._replayed += 1
            return False
        # What erases a dead letter; the letter itself is missed without its event.
        if topic == DEAD_LETTERS.name and message.value() is None:
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

    def _add_output(self, message: Message) -> None:
        topic, place = message.topic() or "", message.partition() or 0
        offset = message.offset() or 0
        try:
            mark = self._marks.read(message)
            inputs = self._inputs_of(mark)
        except Refused as error:
            if topic == PHI_AUDIT.name and tells_of_a_person(message):
                self._acts += 1
            else:
                self._fault(error.fault, topic, place, offset, error.says)
            return
        source = mark.source
        self._judge_seal(mark, topic, place, offset)
        if mark.event is not None:
            inputs.last_audited = max(inputs.last_audited, source.offset)
        row = inputs.row(source.offset)
        if row is None:
            return
        if mark.event is not None:
            inputs.add_audit(row, mark.event, mark)
            return
        if mark.seal is not None and not inputs.has_input(row, mark.seal.input):
            self._fault(
                Fault.ALTERED, topic, place, offset, "it is of another input record"
            )
        if topic == NOTES.name and mark.is_release:
            self._inputs[topic, place].first_offsets[offset] = source.offset
        inputs.add_output(row, topic, mark)
        self._check_order(topic, mark, message)

    def _inputs_of(self, mark: Mark) -> Inputs:
        inputs = self._inputs.get((mark.source.topic, mark.source.partition))
        if inputs is None:
            raise Refused(Fault.MALFORMED, "names a partition that does not exist")
        return inputs

    def _judge_seal(self, mark: Mark, topic: str, partition: int, offset: int) -> None:
        if mark.event is not None and mark.event.outcome == ERASED:
            self._acts += 1  # a person's: no stage has sealed it
        elif mark.seal is None and self._marks.are_checked:
            self._unsealed += 1
            if not self._accept_unsealed:
                says = "it has no seal"
                self._fault(Fault.UNSEALED, topic, partition, offset, says)
        elif mark.seal is not None and not mark.is_known_key:
            says = f"name the file of audit key {mark.seal.key_id} with --key-file"
            self._fault(Fault.UNKNOWN_KEY, topic, partition, offset, says)

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
        missing: set[tuple[str, int, int]] = set()
        for (topic, partition), inputs in self._inputs.items():
            until, verdict = due[topic, partition], self._verdicts[topic]
            inputs.forget_erased()
            is_due = inputs.is_input & (inputs.offsets < (until or 0))
            is_held = self._is_held(topic, partition, inputs)
            short = _short(topic, inputs) & ~is_held
            over = inputs.is_input & _over(topic, inputs)
            held = is_due & is_held
            expired = is_due & short & (inputs.at_ms < cutoffs[topic])
            lost = is_due & short & ~expired
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
        """Return, by input topic, before when retention has deleted outputs.

        Minus infinity if all outputs are still there.
        """
        settings, now = self._topic_settings(), time.time() * 1000
        cutoffs = dict.fromkeys(INPUTS, -np.inf)
        for origin, topics in OUTPUTS_OF.items():
            for topic in topics:
                kept = int(settings.get(topic, {}).get("retention.ms", -1))
                if kept >= 0 and any(
                    first > 0 for first, _end in self._ranges(topic).values()
                ):
                    cutoffs[origin] = max(cutoffs[origin], now - kept)
        return cutoffs

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
                except Refused:
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


def _promised(
    topic: str, inputs: Inputs
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    # A note has exactly one outcome, whatever its audit event promises.
    is_note = topic == NOTES.name
    promised = np.ones_like(inputs.outputs) if is_note else inputs.promised
    promised = np.where(inputs.is_discarded, np.int32(0), promised)
    return np.where(inputs.is_erased, inputs.outputs, promised)


def _short(topic: str, inputs: Inputs) -> Flags:
    """Return whether an input lacks its audit event, or outputs."""
    short: Flags = inputs.outputs < _promised(topic, inputs)
    if topic != PATIENT_UPDATES.name:
        short |= inputs.audits == 0
    short |= inputs.has_digests & (inputs.updates < inputs.promised_updates)
    return short


def _over(topic: str, inputs: Inputs) -> Flags:
    over: Flags = (inputs.audits > 1) | (inputs.outputs > _promised(topic, inputs))
    over |= inputs.has_digests & (inputs.updates > inputs.promised_updates)
    return over


def _without_note(topic: str, inputs: Inputs) -> Flags:
    without: Flags = (_promised(topic, inputs) == 0) & (inputs.outputs == 0)
    return without


def _count(verdict: Verdict, inputs: Inputs, due: Flags, without: Flags) -> None:
    verdict.inputs += int(inputs.is_input.sum())
    verdict.scrubbed += int((due & (inputs.outputs > inputs.dead)).sum())
    verdict.dead_letters += int((due & (inputs.dead > 0)).sum())
    verdict.no_note += int((due & without & ~inputs.is_repeated).sum())
    verdict.repeated += int((due & without & inputs.is_repeated).sum())
