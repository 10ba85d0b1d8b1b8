"""Erase a patient: everything that the service holds, and what remains for how long.

What is held is found anew from the topics in each run, and erased in one transaction:
commands that discard held notes, null values on `patient.updates` for all identifiers
of the patient, null values for dead letters, and audit events.  A run that was killed
has erased all of that or nothing, and another run does the rest.

Scrub carries the commands and null values out, before the notes that it has not read
yet: those would be joined with nothing, and published with the names that only the row
held.  So nothing is written before scrub has read all that `notes` and
`patient.updates` held when the command began, and all notes of the patient that came
meanwhile.  What is published later is a later note, handled by `unknown_patient`.

What scrub forwarded between linked identifiers, or held, in the meantime is looked for
and erased again until there is nothing.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from confluent_kafka import KafkaException, Message
from confluent_kafka.admin import ConfigResource, ResourceType

from streams.engine.errors import FatalError, StreamError
from streams.engine.records import Output, Partition, Record
from streams.kafka.bounded import committed_records
from streams.kafka.client import CALL_SECONDS, admin_client, record_of, translated
from streams.kafka.offsets import GroupOffsets, first_offsets, stable_ends
from streams.kafka.partitioner import partition_of
from streams.kafka.producer import KafkaProducer
from streams.kafka.registry import schema_ids
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import (
    DAY_MS,
    DEAD_LETTERS,
    HL7_RAW,
    LETTERS_ID,
    NOTES,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    Stage,
    Topic,
)
from streams.model.audit import AuditEvent
from streams.model.outputs import (
    RECEIVED,
    erased_letter,
    key_of_original,
    letter_key,
    received_header,
)
from streams.model.patients.demographics import PatientId
from streams.operations.held_notes import WaitingNote, commands, waiting_notes
from streams.operations.settings import Settings

from .naming import RecordContent, content_of, names
from .null_values import NullValues

log = logging.getLogger(__name__)

MAX_ROUNDS = 5
"""How often rows that came back are erased again."""
NEVER_MS = 2**62
"""What Kafka means by longer times: its default is the largest number."""
_LINKED = b'"merged":[{'

Place = tuple[str, int, int]
Ranges = dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Letter:
    """A dead letter, without what it holds.

    Args:
        key: Of its record.
        partition: Of its record.
        source: Where its original was.
        received: When the message behind its original came, as a header's value.
    """

    key: bytes = field(repr=False)
    partition: int
    source: Place
    received: bytes


@dataclass(frozen=True, slots=True)
class Found:
    """The data of a patient that the service holds.

    Args:
        identifiers: Number of the patient's identifiers, those that were asked for
            included.
        rows: Of `patients`.
        held: Notes that wait for demographics.
        letters: Dead letters that name the patient.
        unjudged: Dead letters whose originals can't be read, here or at their source,
            or are neither HL7 nor JSON and may name the patient by a short identifier.
        updates: Updates of the patient that scrub has not read yet.
        unread: Number of notes of the patient that scrub has not read yet.
        raw: Records of the patient by input topic, and when the last was written.
        received: When the messages behind what is to be erased came.
    """

    identifiers: int
    rows: tuple[Place, ...]
    held: tuple[WaitingNote, ...]
    letters: tuple[_Letter, ...]
    unjudged: int
    updates: tuple[Place, ...]
    unread: int
    raw: Mapping[str, tuple[int, int]]
    received: Mapping[Place, bytes] = field(default_factory=dict, repr=False)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to erase."""
        return not (self.rows or self.held or self.letters or self.updates)

    @property
    def is_unknown(self) -> bool:
        """True if no topic of the service that was searched names the patient."""
        is_raw = any(count for count, _last in self.raw.values())
        return self.is_empty and not (self.unjudged or is_raw)


@dataclass(slots=True)
class Erased:
    """The result of an erasure.

    Args:
        counts: Rows, held notes and letters.
        left: What was found in the end.
        is_carried_out: Whether scrub has carried it out.
        refusal: Why nothing was written; empty if something was.
        late: Notes of the patient that were published while it was erased.
    """

    counts: Counter[str]
    left: Found
    is_carried_out: bool
    refusal: str = ""
    late: int = 0

    @property
    def is_done(self) -> bool:
        """True if nothing is left to be done by another run."""
        is_clean = self.left.is_empty and not self.left.unjudged
        return self.is_carried_out and is_clean and not self.late


class Erasure:
    """Finds and erases what is held of a patient.

    Args:
        settings: Connection settings, and the prefix of groups.
        patients: The patient's identifiers; linked ones are added.
        progress: Called with a step, and the number of records read in it.
        published: Makes null values under the patient's pseudonyms, to be written as
            well, for `phistream lake` and subscribers; none are without it.

    Raises:
        StreamError: The cluster does not answer.
    """

    def __init__(
        self,
        settings: Settings,
        patients: Iterable[PatientId],
        progress: Callable[[str, int], None] = lambda _step, _count: None,
        published: NullValues | None = None,
    ) -> None:
        self._settings = settings
        self._patients = {each.key: each for each in patients}
        self._progress = progress
        self._published = published
        self._admin = admin_client(settings)
        self._counts = partition_counts(self._admin)

    def find(self) -> Found:
        """Return what is held now."""
        self._add_linked()
        letters, unjudged = self._letters()
        raw = {each.name: self._of_patient(each) for each in (NOTES, PATIENT_UPDATES)}
        updates = self._unread(PATIENT_UPDATES, raw[PATIENT_UPDATES.name])
        unread = len(self._unread(NOTES, raw[NOTES.name]))
        # Last: what scrub has read by now is in them.
        rows = self._rows()
        held = [e for e in waiting_notes(self._settings) if e.patient.key in self._keys]
        received = {_place_of(each): received_header(each) for each in updates}
        received |= {each.source: each.received for each in letters}
        received |= {place: b"%013d" % max(0, at) for place, at in rows.items()}
        for each in held:
            received[NOTES.name, each.partition, each.offset] = each.received.encode()
        return Found(
            identifiers=len(self._patients),
            rows=tuple(sorted(rows)),
            held=tuple(held),
            letters=tuple(letters),
            unjudged=unjudged,
            updates=tuple(map(_place_of, updates)),
            unread=unread,
            raw={
                name: (
                    sum(each.value is not None for each in records),
                    max((each.timestamp_ms for each in records), default=0),
                )
                for name, records in raw.items()
            },
            received=received,
        )

    def erase(
        self, found: Found, *, actor: str, reason: str, seconds: float, at_ms: int
    ) -> Erased:
        """Erase the patient, as soon as scrub has read what there was before.

        Args:
            found: By `find`, of this object; returned if nothing can be written.
            actor: Who does it.
            reason: Why; both are in the audit events.
            seconds: How long to wait for scrub.
            at_ms: The time of the audit events, in milliseconds since 1970.

        Raises:
            FatalError: A transaction failed; another run does the rest.
        """
        deadline = time.monotonic() + seconds
        # Its start ends the transaction of a run that was killed, which scrub could not
        # read past, and fences it; so it does with a replay, which else would return
        # letters that are erased.
        ids = schema_ids(self._settings, [PHI_AUDIT])
        producer = KafkaProducer(self._settings, LETTERS_ID, ids)
        begun = {p: end for p, (_first, end) in self._all(NOTES).items()}
        settled = self._settled(deadline)
        if settled is None or (not settled.is_empty and not self._scrub_runs()):
            why = "has not read all notes and updates in time"
            if not self._scrub_runs():
                why = "does not run"
            return Erased(
                Counter(), settled or found, is_carried_out=False, refusal=why
            )
        found = settled
        event = AuditEvent(
            stage=Stage.SCRUB,
            outcome="erased",
            at_ms=at_ms,
            actor=actor,
            reason=reason,
        )
        counts: Counter[str] = Counter()
        # What was published may be all that there is.
        is_owed = self._published is not None
        for _round in range(MAX_ROUNDS):
            if found.is_empty and not is_owed:
                break
            is_owed = False
            self._commit(producer, found, event)
            counts.update(
                rows=len(found.rows), held=len(found.held), letters=len(found.letters)
            )
            if self._published is not None:
                written = sum(1 for _each in self._published.of(self._keys))
                counts["null values"] = max(counts["null values"], written)
            settled = self._settled(deadline)
            if settled is None:
                return Erased(counts, found, is_carried_out=False)
            found = settled
        late = [
            each
            for each in self._of_patient(NOTES)
            if each.offset >= begun[each.partition.index]
        ]
        return Erased(counts, found, is_carried_out=True, late=len(late))

    @property
    def _keys(self) -> Collection[bytes]:
        return self._patients.keys()

    def _commit(self, producer: KafkaProducer, found: Found, event: AuditEvent) -> None:
        try:
            producer.begin()
            for output in self._outputs(found, event):
                producer.produce(output)
            producer.commit()
        except StreamError as error:
            raise FatalError(
                f"{error}; run it again: it has erased all or nothing, and begins anew"
            ) from None

    def _outputs(self, found: Found, event: AuditEvent) -> Iterator[Output]:
        for message in commands(found.held, "discard"):
            yield Output(PATIENT_UPDATES.name, message.key, message.value)
        for key in self._keys:
            yield Output(PATIENT_UPDATES.name, key, None)
        if self._published is not None:
            yield from self._published.of(self._keys)
        for letter in found.letters:
            yield erased_letter(letter.key, letter.partition)
        held = [(NOTES.name, each.partition, each.offset) for each in found.held]
        letters = [each.source for each in found.letters]
        for place in (*found.rows, *found.updates, *held, *letters):
            yield event.output(_record(place, found.received.get(place, b"")))

    def _settled(self, deadline: float) -> Found | None:
        """Return what is held once scrub has read all that is there now.

        Notes of the patient that are published meanwhile are waited for as well.
        """
        while self._is_read(NOTES, deadline) and self._is_read(
            PATIENT_UPDATES, deadline
        ):
            found = self.find()
            if not found.unread:
                return found
            if time.monotonic() > deadline:
                break
        return None

    def _is_read(self, topic: Topic, deadline: float) -> bool:
        """Wait until scrub has read all that is in a topic now."""
        ends = {p: end for p, (_first, end) in self._all(topic).items()}
        partitions = sorted(ends)
        offsets = self._offsets(topic)
        try:
            while True:
                done = offsets.read(partitions)
                behind = {p: done[p] for p in partitions if done[p] < ends[p]}
                # Markers of transactions are never committed.
                if not behind or not offsets.has_records_from(behind):
                    return True
                if time.monotonic() > deadline or not self._scrub_runs():
                    return False
                self._progress("waiting for scrub", len(behind))
                time.sleep(0.5)
        finally:
            offsets.close()

    def _scrub_runs(self) -> bool:
        with translated("describe group"):
            answers = self._admin.describe_consumer_groups(
                [self._group], request_timeout=CALL_SECONDS
            )
            return bool(answers[self._group].result().members)

    def _unread(self, topic: Topic, records: Sequence[Record]) -> list[Record]:
        """Return those of the records that scrub has not read yet, but null values."""
        offsets = self._offsets(topic)
        try:
            done = offsets.read(sorted(self._partitions(topic)))
        finally:
            offsets.close()
        return [
            each
            for each in records
            if each.value is not None and each.offset >= done[each.partition.index]
        ]

    @property
    def _group(self) -> str:
        return f"{self._settings.group}-{Stage.SCRUB}"

    def _offsets(self, topic: Topic) -> GroupOffsets:
        return GroupOffsets(self._settings, self._group, topic.name)

    def _add_linked(self) -> None:
        """Add the identifiers that links lead to, in either direction."""
        links: dict[bytes, dict[bytes, PatientId]] = {}
        for message in self._messages(PATIENTS, self._all(PATIENTS)):
            key, value = _bytes(message.key()), message.value()
            if isinstance(value, bytes) and _LINKED in value:
                row = orjson.loads(value)
                ids = map(PatientId.from_json, (row["patient"], *row["merged"]))
                links[key] = {each.key: each for each in ids}
            else:
                links.pop(key, None)
        known = -1
        while known < len(self._patients):
            known = len(self._patients)
            for linked in links.values():
                if linked.keys() & self._patients.keys():
                    self._patients |= linked

    def _rows(self) -> dict[Place, int]:
        """Return the places of the patient's rows, and when they were written."""
        rows: dict[bytes, tuple[Place, int]] = {}
        for message in self._messages(PATIENTS, self._own(PATIENTS)):
            key = _bytes(message.key())
            if key not in self._keys:
                continue
            if message.value() is None:
                rows.pop(key, None)
            else:
                rows[key] = _place(message), message.timestamp()[1]
        return dict(rows.values())

    def _of_patient(self, topic: Topic) -> list[Record]:
        """Return the records of an input topic under the patient's keys."""
        return [
            record_of(message)
            for message in self._messages(topic, self._own(topic))
            if _bytes(message.key()) in self._keys
        ]

    def _letters(self) -> tuple[list[_Letter], int]:
        """Return the letters that name the patient; how many could not be judged."""
        unjudged = 0
        letters: dict[bytes, _Letter] = {}
        for message in self._messages(DEAD_LETTERS, self._all(DEAD_LETTERS)):
            key = _bytes(message.key())
            if message.value() is None:
                letters.pop(key, None)
            elif (letter := _letter(key, record_of(message))) is not None:
                letters[key] = letter
            else:
                unjudged += 1
        originals = self._sources(letter.source for letter in letters.values())
        naming = []
        for key, letter in letters.items():
            original = originals.get(key_of_original(key))
            if original is None:
                unjudged += 1
                continue
            found = {names(original, p) for p in self._patients.values()}
            if True in found:
                naming.append(letter)
            elif None in found:
                unjudged += 1
        return sorted(naming, key=lambda letter: letter.source), unjudged

    def _sources(self, places: Iterable[Place]) -> dict[bytes, RecordContent]:
        """Return the records at these places, by the keys that their letters have.

        A topic that was made anew has other records there, whose letters have others.
        """
        wanted: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for topic, partition, offset in places:
            wanted[topic][partition].add(offset)
        found = {}
        for source in (HL7_RAW, NOTES, PATIENT_UPDATES):
            offsets_of = wanted[source.name]
            known = range(self._counts.get(source.name, 0))
            offsets_of = {p: each for p, each in offsets_of.items() if p in known}
            ranges = self._all(source, offsets_of)
            for partition, offsets in offsets_of.items():
                first, end = ranges[partition]
                ranges[partition] = max(first, min(offsets)), min(end, max(offsets) + 1)
            for message in self._messages(source, ranges):
                record = record_of(message)
                if record.offset in offsets_of[record.partition.index]:
                    content = content_of(record.key, record.value)
                    found[letter_key(record)] = content
        return found

    def _messages(self, topic: Topic, ranges: Ranges) -> Iterator[Message]:
        group = f"{self._settings.group}-erase"
        for count, message in enumerate(
            committed_records(self._settings, topic.name, ranges, group)
        ):
            if message is None:
                self._progress(f"reading {topic.name}", count)
            else:
                yield message

    def _all(self, topic: Topic, partitions: Iterable[int] | None = None) -> Ranges:
        if partitions is None:
            partitions = range(self._counts.get(topic.name, 0))
        wanted = list(partitions)
        firsts = first_offsets(self._admin, topic.name, wanted)
        seconds = self._settings.transaction_seconds
        ends = stable_ends(self._admin, topic.name, wanted, seconds)
        return {p: (firsts[p], ends[p]) for p in wanted}

    def _own(self, topic: Topic) -> Ranges:
        return self._all(topic, self._partitions(topic))

    def _partitions(self, topic: Topic) -> set[int]:
        return {partition_of(key, self._counts[topic.name]) for key in self._keys}


@dataclass(frozen=True, slots=True)
class Kept:
    """For how long a topic keeps what was written or deleted, in milliseconds.

    Args:
        retention: What was written, at most, since a segment goes as a whole; None is
            for ever.
        compaction: What was deleted by key.  A segment stays open until a later record
            comes.  None: the topic is not compacted, or at no known time.
    """

    retention: int | None
    compaction: int | None


def kept_by(settings: Settings, topics: Iterable[Topic]) -> dict[str, Kept]:
    """Return for how long topics keep records, as the cluster says, or as declared."""
    wanted = {topic.name: topic for topic in topics}
    found = {name: topic.config() for name, topic in wanted.items()}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in wanted]
    admin = admin_client(settings)
    for resource, future in admin.describe_configs(resources).items():
        try:
            found[resource.name] |= {
                name: str(each.value) for name, each in future.result().items()
            }
        except KafkaException as error:
            log.warning("%s: %s", resource.name, error.args[0].name())
    return {name: _kept(config) for name, config in found.items()}


def _kept(config: Mapping[str, str]) -> Kept:
    policy, segment = config["cleanup.policy"], int(config.get("segment.ms", DAY_MS))
    retention = int(config.get("retention.ms", -1))
    lag = int(config.get("max.compaction.lag.ms", NEVER_MS))
    return Kept(
        retention + segment if "delete" in policy and retention >= 0 else None,
        max(lag, segment) if "compact" in policy and lag < NEVER_MS else None,
    )


def _record(place: Place, received: bytes) -> Record:
    topic, partition, offset = place
    headers = {RECEIVED: received} if received else {}
    at = int(received) if received.isdigit() else 0
    return Record(Partition(topic, partition), offset, None, None, headers, at)


def _letter(key: bytes, record: Record) -> _Letter | None:
    try:
        body = orjson.loads(record.value or b"")
        source = body["source"]
        place = (source["topic"], source["partition"], source["offset"])
    except (ValueError, KeyError, TypeError, AttributeError):
        log.warning("%s: no dead letter: not searched", record)
        return None
    received = record.headers.get(RECEIVED, b"")
    return _Letter(key, record.partition.index, place, received)


def _place_of(record: Record) -> Place:
    return record.partition.topic, record.partition.index, record.offset


def _place(message: Message) -> Place:
    return str(message.topic()), message.partition() or 0, message.offset() or 0


def _bytes(key: object) -> bytes:
    return key if isinstance(key, bytes) else b""
