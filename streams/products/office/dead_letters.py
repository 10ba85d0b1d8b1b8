"""Dead letters for the privacy office: which there are, what they hold, replay.

A replay returns records to the topics that they came from.  Record, mark and audit
event are one transaction, under one transactional id: a second run fences the first,
and reads marks only when nothing of it is open any more.  So each letter is replayed
once, wherever a run is killed.  An erasure has the same id: nothing is replayed after
it was erased.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import orjson

from streams.engine.errors import FatalError, RetriableError, StreamError
from streams.engine.keys.office import NotOpened, OfficePrivateKey
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.formats.hl7.sender import sender_key
from streams.kafka.bounded import committed_records
from streams.kafka.client import MAX_MESSAGE_BYTES, admin_client, record_of
from streams.kafka.offsets import first_offsets, stable_ends
from streams.kafka.producer import KafkaProducer
from streams.kafka.registry import schema_ids
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    LETTERS_COME_FROM,
    LETTERS_ID,
    LETTERS_REPLAYED,
    PHI_AUDIT,
)
from streams.kafka.wire_format import WireFormat
from streams.model.audit import AuditEvent
from streams.model.letters import Letter
from streams.model.outputs import REPLAYED, encoded
from streams.operations.settings import Settings
from streams.pipeline.files.feed import RawMessage, feed

log = logging.getLogger(__name__)

BATCH_LETTERS = 100
BATCH_BYTES = 4 * 1024 * 1024
"""Of a transaction of the replay; a larger record is replayed alone."""

Keys = Mapping[str, OfficePrivateKey]
Range = dict[int, tuple[int, int]]


_OF_A_VERSION = (
    "phistream rescrub wrote it, and the live feed has its note: correct what "
    "the reason names, then run rescrub into another version"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of dead letters; without any value, all of them.

    Args:
        places: Records of `dead.letters`.
        codes: Reason codes.
        topics: Where the originals were.
        partition: Of the originals.
        since_ms: Written then or later, in milliseconds since 1970.
        until_ms: Written before.
    """

    places: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    partition: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_all(self) -> bool:
        """True if nothing restricts it."""
        return self == Selection()

    def holds(self, letter: Letter) -> bool:
        """Return whether a letter is meant."""
        return (
            (not self.places or letter.place in self.places)
            and (not self.codes or letter.code in self.codes)
            and (not self.topics or letter.source.topic in self.topics)
            and self.partition in (None, letter.source.index)
            and (self.since_ms is None or letter.at_ms >= self.since_ms)
            and (self.until_ms is None or letter.at_ms < self.until_ms)
        )


@dataclass(slots=True)
class Replayed:
    """The result of a replay, or of a dry run.

    Args:
        counts: Letters returned, by topic and code.
        before: Letters that an earlier run had returned.
        unreadable: Places of what could not be replayed, and why: what is no dead
            letter, does not open, or is refused by the cluster.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    before: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)


class DeadLetters:
    """Reads the committed records of `dead.letters`, up to what is in it now.

    Args:
        settings: Connection settings, and the prefix of groups.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._group = f"{settings.group}-dead-letters"
        self._admin = admin_client(settings)
        self._counts = partition_counts(self._admin)

    def ranges(self, topic: str) -> Range:
        """Return the first and the last stable offset of each partition.

        All that is committed by now is before them: else a letter could be returned
        whose erasure is behind the open transaction of a worker.

        Raises:
            RetriableError: A transaction stays open.
        """
        partitions = range(self._counts.get(topic, 0))
        firsts = first_offsets(self._admin, topic, partitions)
        seconds = self._settings.transaction_seconds
        ends = stable_ends(self._admin, topic, partitions, seconds)
        return {p: (firsts[p], ends[p]) for p in partitions}

    def read(
        self, selection: Selection, unreadable: Callable[[str, str], None]
    ) -> Iterator[Letter]:
        """Yield the letters of a selection; those of a source partition in order.

        Args:
            selection: Which.
            unreadable: Called with place and reason of a record that is no letter.
        """
        erased = self._erased()
        for partition, ends in self.ranges(DEAD_LETTERS.name).items():
            for record in self._records(DEAD_LETTERS.name, {partition: ends}):
                if record.value is None or erased.hides(record):
                    continue
                try:
                    letter = Letter.decode(record)
                except ValueError as error:
                    # Of JSON, the error may show a value.
                    why = "not JSON"
                    if not isinstance(error, orjson.JSONDecodeError):
                        why = str(error)
                    unreadable(_place(record), why)
                else:
                    if selection.holds(letter):
                        yield letter

    def at(self, place: str) -> Letter:
        """Return one letter.

        Raises:
            FatalError: There is none at this place, or it is unreadable.
        """
        _topic, partition, offset = place.rsplit("/", 2)
        first, end = self.ranges(DEAD_LETTERS.name).get(int(partition), (0, 0))
        if first <= int(offset) < end:
            wanted = {int(partition): (int(offset), int(offset) + 1)}
            erased = self._erased()
            for record in self._records(DEAD_LETTERS.name, wanted):
                if record.value is None or erased.hides(record):
                    break
                try:
                    return Letter.decode(record)
                except ValueError:
                    raise FatalError(f"{place}: no dead letter: unreadable") from None
        raise FatalError(f"{place}: not there (any more); see phistream dead-letters")

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        return self._counts.get(topic, 0)

    def marks(self) -> dict[str, str]:
        """Return which letters were replayed: their places, and their identities."""
        topic = LETTERS_REPLAYED.name
        found: dict[str, str] = {}
        for record in self._records(topic, self.ranges(topic)):
            place = (record.key or b"").decode()
            found.pop(place, None)
            if record.value is not None:
                mark = orjson.loads(record.value)
                source = "{topic}/{partition}/{offset}".format(**mark["source"])
                found[place] = f"{source}@{mark['written_ms']}"
        return found

    def _erased(self) -> _Erased:
        """Return which letters `phistream erase` has deleted.

        They are read until the topic is compacted.
        """
        topic = DEAD_LETTERS.name
        records = self._records(topic, self.ranges(topic))
        return _Erased(
            {
                (each.partition.index, each.key): each.offset
                for each in records
                if each.value is None
            }
        )

    def _records(self, topic: str, ranges: Range) -> Iterator[Record]:
        for message in committed_records(self._settings, topic, ranges, self._group):
            if message is not None:
                yield record_of(message)


@dataclass(frozen=True, slots=True)
class _Erased:
    """The letters that were deleted.

    Args:
        offsets: Of the last null value, by partition and key.
    """

    offsets: Mapping[tuple[int, bytes | None], int] = field(repr=False)

    def hides(self, record: Record) -> bool:
        """Return whether a null value follows a record."""
        place = (record.partition.index, record.key)
        return record.offset < self.offsets.get(place, -1)


class Replay:
    """Returns dead letters to the topics that they came from, each of them once.

    Args:
        settings: Connection settings, and the prefix of groups.
        keys: Private keys by the ids of their public keys.
        actor: Who does it.
        clock: Seconds since 1970.

    Raises:
        StreamError: The cluster does not answer.
    """

    def __init__(
        self,
        settings: Settings,
        keys: Keys,
        actor: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = keys
        self._actor = actor
        self._clock = clock
        # First of all: what an earlier run left open is ended, and it is fenced.
        ids = schema_ids(settings, [PHI_AUDIT])
        self._producer = KafkaProducer(settings, LETTERS_ID, ids)
        self._letters = DeadLetters(settings)
        self._marks = self._letters.marks()

    def run(
        self,
        selection: Selection,
        *,
        limit: int | None = None,
        progress: Callable[[int], None] = lambda _count: None,
    ) -> Replayed:
        """Replay the letters of a selection that were not replayed before.

        Args:
            selection: Which.
            limit: Maximum number.
            progress: Called with the number of letters whose replay is committed.

        Raises:
            FatalError: A transaction failed; another run goes on where it ended.
        """
        done = Replayed()
        opened = to_replay(self._letters, self._marks, self._keys, selection, done)
        total = 0
        try:
            self._forget_marks()
            for batch in _batches(opened, limit):
                total += self._replay(batch, done)
                progress(total)
        except StreamError as error:
            raise FatalError(
                f"{total} dead letters replayed, then: {error}; run it again, it goes "
                "on where it ended"
            ) from None
        return done

    def _replay(self, batch: Sequence[tuple[Letter, Record]], done: Replayed) -> int:
        """Replay letters together, or one by one if that fails; return how many."""
        try:
            self._commit(batch)
        except RetriableError as error:
            self._producer.abort()
            if len(batch) > 1:
                return sum(self._replay([each], done) for each in batch)
            why = f"the cluster refuses it: {error}"
            done.unreadable.append((batch[0][0].place, why))
            return 0
        done.counts.update((e.source.topic, e.code) for e, _original in batch)
        return len(batch)

    def _commit(self, batch: Sequence[tuple[Letter, Record]]) -> None:
        self._producer.begin()
        now = int(self._clock() * 1000)
        for letter, original in batch:
            for output in (
                _again(letter, original),
                _mark(letter, now),
                audited("replayed", letter, self._actor, now),
            ):
                self._producer.produce(output)
        self._producer.commit()

    def _forget_marks(self) -> None:
        """Delete the marks of letters that retention has deleted."""
        firsts = self._letters.ranges(DEAD_LETTERS.name)
        gone = [
            place
            for place in self._marks
            if _offset(place) < firsts.get(_partition(place), (0, 0))[0]
        ]
        if not gone:
            return
        self._producer.begin()
        for place in gone:
            self._producer.produce(Output(LETTERS_REPLAYED.name, place.encode(), None))
        self._producer.commit()


def to_replay(
    letters: DeadLetters,
    marks: Mapping[str, str],
    keys: Keys,
    selection: Selection,
    done: Replayed,
) -> Iterator[tuple[Letter, Record]]:
    """Yield the letters to be replayed, with their originals.

    Args:
        letters: Where they are.
        marks: Those of earlier runs, and their sources.
        keys: Private keys by the ids of their public keys.
        selection: Which.
        done: Gets what is not replayed.
    """

    def refuse(place: str, why: str) -> None:
        done.unreadable.append((place, why))

    known = {topic.name for topic in LETTERS_COME_FROM}
    for letter in letters.read(selection, refuse):
        if is_replayed(letter, marks):
            done.before += 1
            continue
        if letter.source.topic not in known:
            refuse(letter.place, "its source is no topic of dead letters")
            continue
        if letter.into:
            refuse(letter.place, _OF_A_VERSION)
            continue
        try:
            original = letter.original(keys)
        except NotOpened as error:
            refuse(letter.place, str(error))
            continue
        if why := _obstacle(letter, original, letters.partitions(letter.source.topic)):
            refuse(letter.place, why)
        else:
            yield letter, original


def is_replayed(letter: Letter, marks: Mapping[str, str]) -> bool:
    """Return whether a mark of `DeadLetters.marks` is of this letter.

    A topic that was deleted and made again has other letters at the same places.
    """
    return marks.get(letter.place) == letter.identity


def _obstacle(letter: Letter, original: Record, partitions: int) -> str:
    """Return why the cluster would refuse an original; "" if nothing is known."""
    output = _again(letter, original)
    size = original.size + sum(len(n) + len(v) for n, v in output.headers.items())
    if output.partition is not None and output.partition >= partitions:
        return f"{letter.source.topic} has no partition {letter.source.index} any more"
    if size > MAX_MESSAGE_BYTES:
        return f"it has {size:,} bytes, more than a client may write"
    if _is_misplaced(letter) and output.grouped_by is None:
        return (
            "its partition can't be found: it has no key, or no sender (MSH-3, MSH-4); "
            "correct it, then: phistream feed --by-sender"
        )
    return ""


def reveal(
    settings: Settings, letter: Letter, keys: Keys, actor: str, at_ms: int
) -> Record:
    """Return the original of a letter, once the audit event of it is stored.

    Raises:
        NotOpened: It does not open; no audit event is written.
        FatalError: The audit event was not confirmed.
    """
    original = letter.original(keys)
    event = audited("revealed", letter, actor, at_ms)
    value = WireFormat(schema_ids(settings, [PHI_AUDIT])).value_of(event)
    feed(settings, [RawMessage(value, event.key, event.headers)], topic=PHI_AUDIT)
    return original


def audited(
    outcome: Literal["replayed", "revealed"], letter: Letter, actor: str, at_ms: int
) -> Output:
    """Return the audit event of what somebody did with a letter, without its text."""
    event = AuditEvent(
        stage=letter.stage,
        outputs=1 if outcome == "replayed" else 0,
        outcome=outcome,
        code=letter.code,
        actor=actor,
        at_ms=at_ms,
    )
    return event.output(_record_of(letter))


def _again(letter: Letter, original: Record) -> Output:
    """Return the original, for its topic and partition, with all of its headers.

    What was in a wrong partition goes to the one of its key; on `hl7.raw`, where intake
    refuses it if repeated messages are to be found, to that of its sender.
    """
    is_of_sender = _is_misplaced(letter) and letter.source.topic == HL7_RAW.name
    return Output(
        letter.source.topic,
        original.key,
        original.value,
        {**original.headers, REPLAYED: letter.place.encode()},
        partition=None if _is_misplaced(letter) else letter.source.index,
        grouped_by=sender_key(original.value) if is_of_sender else original.key,
    )


def _is_misplaced(letter: Letter) -> bool:
    return letter.code == ReasonCode.WRONG_PARTITION


def _mark(letter: Letter, at_ms: int) -> Output:
    source = {
        "topic": letter.source.topic,
        "partition": letter.source.index,
        "offset": letter.source_offset,
    }
    value = {"source": source, "written_ms": letter.at_ms, "at_ms": at_ms}
    key = letter.place.encode()
    return encoded(LETTERS_REPLAYED, key, value, _record_of(letter))


def _record_of(letter: Letter) -> Record:
    place = Partition(DEAD_LETTERS.name, letter.partition)
    return Record(place, letter.offset, None, None, timestamp_ms=letter.at_ms)


def _batches(
    opened: Iterator[tuple[Letter, Record]], limit: int | None
) -> Iterator[list[tuple[Letter, Record]]]:
    batch: list[tuple[Letter, Record]] = []
    size = 0
    for each in islice(opened, limit):
        batch.append(each)
        size += each[1].size
        if len(batch) == BATCH_LETTERS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _place(record: Record) -> str:
    return f"{record.partition.topic}/{record.partition.index}/{record.offset}"


def _partition(place: str) -> int:
    return int(place.split("/")[1])


def _offset(place: str) -> int:
    return int(place.split("/")[2])
