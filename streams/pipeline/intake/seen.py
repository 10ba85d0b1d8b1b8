"""Recognise messages seen before: same sender, same control id, same content.

The rows are those of the table of `messages.seen`, and those that the open transaction
changes.  Keys and contents are keyed digests.

Time is that of the records on `hl7.raw`, never the clock: the same records over the
same rows give the same outcome.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Record
from streams.formats.hl7.sender import Header, header_of
from streams.kafka.partitioner import partition_of
from streams.kafka.tables.staged import Rows, StagedTable
from streams.kafka.topics import MESSAGES_SEEN
from streams.model.outputs import changelog

log = logging.getLogger(__name__)

MAX_CONTENTS = 16
"""Contents that are remembered of one control id; the oldest are forgotten first."""
SWEPT_AT_LEAST = 16
SWEPT_PER_ROW = 2
"""Rows looked at for deletion after each call.

Two for each row that is written: the table holds at most twice what it should, which is
a window and `CLOCKS_DIFFER_MS`.
"""
CLOCKS_DIFFER_MS = 3_600_000
"""By how much a record may be ahead of the others.

By default the broker refuses records that are an hour ahead of its own clock
(`message.timestamp.after.max.ms`), so that none has others' rows deleted early.
"""


class Digests:
    """Keyed digests (BLAKE2b, RFC 7693), which say nothing without the key.

    Args:
        key: The secret key of the pseudonyms; another one is derived from it.
    """

    def __init__(self, key: bytes) -> None:
        # BLAKE2 takes keys of 64 bytes at most.
        derived = hashlib.blake2b(key, digest_size=32, person=b"messages.seen")
        self._key = derived.digest()

    def of_control_id(self, sender: bytes, control_id: str) -> bytes:
        """Return the key of a row."""
        return self._of(b"control id", sender + b"\0" + control_id.encode())

    def of_content(self, message: str) -> str:
        """Return what is equal for messages with equal text."""
        return self._of(b"content", message.encode()).hex()

    def _of(self, kind: bytes, value: bytes) -> bytes:
        return hashlib.blake2b(
            value, key=self._key, digest_size=16, person=kind
        ).digest()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A content that came under a control id.

    Args:
        content: Its digest.
        at_ms: The latest record that held it, in milliseconds since 1970.
        offset: The record on `hl7.raw` that was processed.
        ordinal: Number of the message in that record.
    """

    content: str
    at_ms: int
    offset: int
    ordinal: int

    @property
    def place(self) -> tuple[int, int]:
        """The offset and the ordinal of the message that was processed."""
        return self.offset, self.ordinal


@dataclass(slots=True)
class Judged:
    """Findings about the messages of one record, which may become a dead letter.

    Args:
        record: On `hl7.raw`.
        rows: What they change, by key.
        messages: How many there are.
        repeated: How many of them were seen before.
        conflicts: How many have the control id of another message of their sender.
    """

    record: Record
    rows: dict[bytes, tuple[Sighting, ...]] = field(default_factory=dict, repr=False)
    messages: int = 0
    repeated: int = 0
    conflicts: int = 0

    @property
    def is_repetition(self) -> bool:
        """True if all messages were seen before."""
        return 0 < self.repeated == self.messages

    @property
    def counts(self) -> dict[str, int]:
        """The counts for the audit event, without zeros."""
        found = {"repeated": self.repeated, "conflicts": self.conflicts}
        return {name: count for name, count in found.items() if count}


class SeenMessages:
    """The messages of the assigned partitions that were seen within the window.

    Args:
        table: Their rows as of the last commit.
        keys: Of the digests.  Rows are written under the key in force when the message
            came, and looked for under the others as well.
        window_ms: Time between two records after which the second is no repetition.
        partitions: The number of partitions of `hl7.raw`.
    """

    def __init__(
        self, table: Rows, keys: PseudonymKeys, *, window_ms: int, partitions: int
    ) -> None:
        self.rows = StagedTable(MESSAGES_SEEN, table)
        self._keys = keys
        self._digests = {each.id: Digests(each.value) for each in keys}
        self._window_ms = window_ms
        # Of few senders there are many messages.
        self._partition_of = lru_cache(1024)(
            partial(partition_of, partitions=partitions)
        )
        self._swept_to: dict[int, bytes] = {}
        self._latest: Counter[int] = Counter()
        self._written: Counter[int] = Counter()

    def is_new(self, judged: Judged, message: str, ordinal: int) -> bool:
        """Return whether a message of a record is to be processed, and note it.

        A message without a control id is always new.

        Args:
            judged: Of its record.
            message: As `messages_of` returns it.
            ordinal: Its number in the record.

        Raises:
            InvalidRecord: The partition is not that of the message's sender.
        """
        record, header = judged.record, header_of(message)
        self._require_partition(record, header.sender)
        judged.messages += 1
        if not header.control_id:
            return True
        key_id = self._keys.at(_time_of(record)).id
        digests = self._digests[key_id]
        key = digests.of_control_id(header.sender, header.control_id)
        content = digests.of_content(message)
        own = Sighting(content, _time_of(record), record.offset, ordinal)
        before = judged.rows.get(key)
        if before is None:
            before = self._row(record.partition.index, key)
        if not before:
            # A row of this key holds what the others' row held when it was written.
            for id, other in self._digests.items():
                if id != key_id:
                    before += self._under(other, header, message, own)
        before = tuple(e for e in before if self._is_within(e.at_ms, own.at_ms))
        others = tuple(each for each in before if each.content != content)
        same = next((each for each in before if each.content == content), own)
        # A group that was set back reads the processed record itself once more.
        is_new = same.place == own.place
        judged.repeated += not is_new
        judged.conflicts += is_new and any(e.place < own.place for e in others)
        latest = replace(same, at_ms=max(same.at_ms, own.at_ms))
        judged.rows[key] = (*others, latest)[-MAX_CONTENTS:]
        return is_new

    def put(self, judged: Judged) -> list[Output]:
        """Take over what a record changes, and return what is to be written."""
        partition = judged.record.partition.index
        outputs = []
        for key, sightings in judged.rows.items():
            value = _encoded(sightings)
            self.rows.put(partition, key, value)
            outputs.append(changelog(MESSAGES_SEEN, key, value, judged.record))
        self._written[partition] += len(outputs)
        return outputs

    def swept(self, records: Sequence[Record]) -> list[Output]:
        """Return what deletes rows that are older than the window, a few at a time.

        Their age is the time from them to the latest record of the partition, less what
        clocks may differ by.  A sender without times, or of old ones, keeps no row of
        another; its own rows are deleted early, and its repetitions are then new.

        Args:
            records: All of one partition; the last is named as the source.
        """
        place = records[-1].partition.index
        latest = max(self._latest[place], *map(_time_of, records))
        self._latest[place] = latest
        oldest = latest - self._window_ms - CLOCKS_DIFFER_MS
        most = SWEPT_AT_LEAST + SWEPT_PER_ROW * self._written.pop(place, 0)
        start = self._swept_to.get(place, b"")
        rows = list(islice(self.rows.committed(place, b"", start), most))
        self._swept_to[place] = rows[-1][0] + b"\0" if len(rows) == most else b""
        changed = self.rows.changed(place)
        gone = [
            key
            for key, value in rows
            if key not in changed
            and all(each.at_ms < oldest for each in _decoded(value, place))
        ]
        for key in gone:
            self.rows.put(place, key, None)
        return [changelog(MESSAGES_SEEN, key, None, records[-1]) for key in gone]

    def _row(self, partition: int, key: bytes) -> tuple[Sighting, ...]:
        value = self.rows.get(partition, key)
        return () if value is None else _decoded(value, partition)

    def _under(
        self, digests: Digests, header: Header, message: str, own: Sighting
    ) -> tuple[Sighting, ...]:
        """Return the row of a message under another key, as one of its own key.

        Contents other than the message's can't be told apart any more, but count as
        conflicts all the same.
        """
        place = self._partition_of(header.sender)
        row = self._row(place, digests.of_control_id(header.sender, header.control_id))
        content = digests.of_content(message)
        return tuple(
            replace(each, content=own.content) if each.content == content else each
            for each in row
        )

    def _is_within(self, one: int, other: int) -> bool:
        return abs(one - other) <= self._window_ms

    def _require_partition(self, record: Record, sender: bytes) -> None:
        if self._partition_of(sender) != record.partition.index:
            raise InvalidRecord(
                ReasonCode.WRONG_PARTITION,
                "hl7.raw: the message is not in the partition of its sender, where its "
                "repetitions are looked for; the key must be MSH-3|MSH-4, the "
                "partitioner murmur2_random, and a batch of one sender",
            )


def _time_of(record: Record) -> int:
    return max(0, record.timestamp_ms)


def _encoded(sightings: Sequence[Sighting]) -> bytes:
    # orjson writes dataclasses itself.
    return orjson.dumps(MESSAGES_SEEN.schema.versioned({"seen": sightings}))


def _decoded(value: bytes, partition: int) -> tuple[Sighting, ...]:
    """Return what a row says; nothing if another program wrote it.

    The message then counts as new: a second note is better than none.
    """
    try:
        found = tuple(Sighting(**each) for each in orjson.loads(value)["seen"])
        if all(type(n) is int for e in found for n in (e.at_ms, e.offset, e.ordinal)):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    log.warning("messages.seen[%d]: an unreadable row is ignored", partition)
    return ()
