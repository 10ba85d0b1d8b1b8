"""One topic, counted into one Faust table: at least once, and idempotent.

Records are gathered for a moment, rolled up into the table, confirmed by the table's
changelog, and only then acknowledged.  After a crash before that they are delivered
again, and each bucket's `next_offset` leaves out what it has counted.

While tables are restored, Faust delivers some records early, and again afterwards with
those before them.  So each run of the application keeps the offsets that it has
counted, and counts nothing before its table is restored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import faust
from faust import Stream
from faust.types import CodecArg, EventT, FutureMessage, Message, StreamT

from streams.operations.counts.counters import UNREADABLE, Counts, counts_of
from streams.operations.counts.windows import Bucket, RecordCounts, roll_up

from .guard import CurrentRecord, RecordPosition

log = logging.getLogger(__name__)

MAX_PENDING = 2000
"""Pending records of a topic; beyond, reading waits until they are counted."""
MAX_REMEMBERED = 20_000


class CountedOffsets:
    """The offsets of one partition that this run has counted.

    Args:
        floor: Earlier runs counted nothing from this offset on.
    """

    def __init__(self, floor: int) -> None:
        self._floor = floor
        self._counted: set[int] = set()

    def missed(self, offsets: Iterable[int]) -> set[int]:
        """Return those that are certainly not counted yet."""
        return {n for n in offsets if n >= self._floor and n not in self._counted}

    def add(self, offsets: Iterable[int]) -> None:
        """Add counted offsets; drop the oldest beyond a limit."""
        self._counted.update(offsets)
        if len(self._counted) > MAX_REMEMBERED:
            kept = sorted(self._counted)[-MAX_REMEMBERED // 2 :]
            self._counted, self._floor = set(kept), kept[0]


class CountsTable(faust.Table[str, Any]):
    """A table whose keys name their partition, so that it can be written at any time.

    Plain Faust takes the partition from the record being processed.
    """

    # A service logs under its module's name; these lines are Faust's.
    logger = logging.getLogger("faust.watch")
    unconfirmed: list[FutureMessage]

    def partition_for_key(self, key: str) -> int:
        """Return the partition that a key of `windows.key_of` begins with."""
        return int(key.partition("/")[0])

    def send_changelog(
        self,
        partition: int | None,
        key: Any,  # noqa: ANN401  # as Faust has it
        value: Any,  # noqa: ANN401  # as Faust has it
        key_serializer: CodecArg = None,
        value_serializer: CodecArg = None,
    ) -> FutureMessage:
        """Send a change, and keep the future of its confirmation."""
        future = super().send_changelog(
            partition, key, value, key_serializer, value_serializer
        )
        self.unconfirmed.append(future)
        return future

    async def confirmed(self) -> None:
        """Return when the changelog holds every change so far; raise if one is lost."""
        sent, self.unconfirmed = self.unconfirmed, []
        await asyncio.gather(*sent)


class TopicCounter:
    """Count one topic.

    Args:
        topic: A key of `counters.READERS`.
        table: Holds the buckets, as JSON.
        is_restored: Returns whether the table is restored.
        clock: Seconds since 1970.
        current: Shared with the guard: the record being processed.
    """

    def __init__(
        self,
        topic: str,
        table: CountsTable,
        is_restored: Callable[[], bool],
        clock: Callable[[], float] = time.time,
        current: CurrentRecord | None = None,
    ) -> None:
        self.topic = topic
        self._current = current
        self._table = table
        self._is_restored = is_restored
        self._clock = clock
        self._offsets: dict[int, CountedOffsets] = {}
        self._pending: dict[int, list[EventT[Any]]] = defaultdict(list)
        self._flushing = asyncio.Lock()

    async def gather(self, stream: StreamT[bytes]) -> None:
        """Collect a stream's records; `flush` acknowledges them."""
        async for event in cast(Stream[bytes], stream).noack().events():
            self._pending[event.message.partition].append(event)
            if sum(map(len, self._pending.values())) >= MAX_PENDING:
                await self.flush()

    async def flush(self) -> None:
        """Count pending records, wait for the changelog, and acknowledge them."""
        if not self._is_restored():
            return
        async with self._flushing:
            events, self._pending = self._pending, defaultdict(list)
            for partition, group in events.items():
                self._count(partition, group)
            await self._table.confirmed()
            for group in events.values():
                for event in group:
                    event.ack()

    def drop(self, partitions: Iterable[int]) -> None:
        """Drop pending records of revoked partitions; they are delivered again."""
        for partition in partitions:
            self._pending.pop(partition, None)

    def buckets(self) -> Iterator[tuple[str, Bucket]]:
        """Yield the table's buckets with their keys."""
        # A copy, since recovery may change the table meanwhile.
        for key, value in list(self._table.data.items()):
            yield key, Bucket.from_json(value)

    def _count(self, partition: int, events: Iterable[EventT[Any]]) -> None:
        records = {event.message.offset: self._record(event) for event in events}
        counted = self._counted(partition)
        changed = roll_up(
            self._look_up,
            partition,
            [records[offset] for offset in sorted(records)],
            self._clock(),
            missed=counted.missed(records),
        )
        for key, bucket in changed.items():
            self._table[key] = bucket.to_json()
        counted.add(records)

    def _counted(self, partition: int) -> CountedOffsets:
        if partition not in self._offsets:
            prefix = f"{partition}/"
            stored = [v for k, v in self._table.data.items() if k.startswith(prefix)]
            floor = max((value["next"] for value in stored), default=0)
            self._offsets[partition] = CountedOffsets(floor)
        return self._offsets[partition]

    def _record(self, event: EventT[Any]) -> RecordCounts:
        message = event.message
        position = RecordPosition(self.topic, message.partition, message.offset)
        if self._current is None:
            counts = self._counts(message)
        elif position in self._current.skipped:
            counts = UNREADABLE
        else:
            with self._current.set(position):
                counts = self._counts(message)
        return RecordCounts(message.offset, message.timestamp, counts)

    def _counts(self, message: Message) -> Counts:
        headers = dict(message.headers or ())
        at_ms = int(message.timestamp * 1000)
        try:
            return counts_of(self.topic, message.value, headers, at_ms)
        except Exception as error:
            # One broken record must not stop the counting of others.
            log.warning("%s: not read (%s)", self.topic, type(error).__name__)
            return UNREADABLE

    def _look_up(self, key: str) -> Bucket | None:
        value = self._table.data.get(key)
        return None if value is None else Bucket.from_json(value)
