"""One topic's records, counted into one Faust table: at least once, and idempotent.

Records are gathered for a moment, folded into the table, confirmed by the table's
changelog, and only then acknowledged.  A crash before that brings them again, and each
bucket's `next_offset` leaves out what it has counted.

While tables are restored Faust lets some records through, and delivers them again, with
those before them, when it is done: so within a life of the application it is remembered
which offsets were counted, and nothing is counted before the tables are whole.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import faust
from faust import Stream
from faust.types import CodecArg, EventT, FutureMessage, Message, StreamT

from .facts import UNREADABLE, Counts, facts_of
from .hand import Hand, Position
from .windows import WINDOWS, Bucket, Fact, fold

log = logging.getLogger(__name__)

MOST_PENDING = 2000
"""Records of a topic in hand; beyond, it is not read on before they are counted."""
MOST_REMEMBERED = 20_000


class Memory:
    """The offsets of one partition that this life has counted.

    Args:
        floor: Nothing from this offset on was counted in a life before.
    """

    def __init__(self, floor: int) -> None:
        self._floor = floor
        self._counted: set[int] = set()

    def missed(self, offsets: Iterable[int]) -> set[int]:
        """Return those that are surely not counted yet."""
        return {n for n in offsets if n >= self._floor and n not in self._counted}

    def add(self, offsets: Iterable[int]) -> None:
        """Remember offsets as counted; the oldest are forgotten in time."""
        self._counted.update(offsets)
        if len(self._counted) > MOST_REMEMBERED:
            kept = sorted(self._counted)[-MOST_REMEMBERED // 2 :]
            self._counted, self._floor = set(kept), kept[0]


class CountsTable(faust.Table[str, Any]):
    """A table whose keys name their partition, so that it can be written at any time.

    Faust itself takes the partition from the record that is just being processed.
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
        """Send a change, and keep the promise that it arrives."""
        future = super().send_changelog(
            partition, key, value, key_serializer, value_serializer
        )
        self.unconfirmed.append(future)
        return future

    async def confirmed(self) -> None:
        """Return when the changelog holds every change so far; raise if one is lost."""
        sent, self.unconfirmed = self.unconfirmed, []
        await asyncio.gather(*sent)


class Tally:
    """Counts one topic.

    Args:
        topic: Its name, a key of `facts.READERS`.
        table: Holds the buckets, as JSON.
        is_whole: Whether the table is restored.
        clock: Seconds since 1970.
        hand: Says from outside of the process which record is being read.
    """

    def __init__(
        self,
        topic: str,
        table: CountsTable,
        is_whole: Callable[[], bool],
        clock: Callable[[], float] = time.time,
        hand: Hand | None = None,
    ) -> None:
        self.topic = topic
        self._hand = hand
        self._table = table
        self._is_whole = is_whole
        self._clock = clock
        self._memories: dict[int, Memory] = {}
        self._pending: dict[int, list[EventT[Any]]] = defaultdict(list)
        self._turn = asyncio.Lock()

    async def gather(self, stream: StreamT[bytes]) -> None:
        """Take up a stream's records, acknowledged by `flush`."""
        async for event in cast(Stream[bytes], stream).noack().events():
            self._pending[event.message.partition].append(event)
            if sum(map(len, self._pending.values())) >= MOST_PENDING:
                await self.flush()

    async def flush(self) -> None:
        """Count what is in hand, wait for the changelog, and acknowledge."""
        if not self._is_whole():
            return
        async with self._turn:
            events, self._pending = self._pending, defaultdict(list)
            for partition, group in events.items():
                self._count(partition, group)
            await self._table.confirmed()
            for group in events.values():
                for event in group:
                    event.ack()

    def forget(self, partitions: Iterable[int]) -> None:
        """Drop what is in hand of partitions that are taken away; they come again."""
        for partition in partitions:
            self._pending.pop(partition, None)

    def buckets(self) -> Mapping[str, list[Bucket]]:
        """Return the table's buckets by the name of their window."""
        found: dict[str, list[Bucket]] = {window.name: [] for window in WINDOWS}
        # A copy: recovery may change the table meanwhile.
        for key, value in list(self._table.data.items()):
            window = key.split("/")[1]
            if window in found:
                found[window].append(Bucket.from_json(value))
        return found

    def _count(self, partition: int, events: Iterable[EventT[Any]]) -> None:
        facts = {event.message.offset: self._fact(event) for event in events}
        memory = self._memory(partition)
        changed = fold(
            self._look_up,
            partition,
            [facts[offset] for offset in sorted(facts)],
            self._clock(),
            missed=memory.missed(facts),
        )
        for key, bucket in changed.items():
            self._table[key] = bucket.to_json()
        memory.add(facts)

    def _memory(self, partition: int) -> Memory:
        if partition not in self._memories:
            own = f"{partition}/"
            stored = [v for k, v in self._table.data.items() if k.startswith(own)]
            floor = max((value["next"] for value in stored), default=0)
            self._memories[partition] = Memory(floor)
        return self._memories[partition]

    def _fact(self, event: EventT[Any]) -> Fact:
        message = event.message
        at = message.timestamp
        position = Position(self.topic, message.partition, message.offset)
        if self._hand is None:
            counts = self._counts(message)
        elif position in self._hand.skipped:
            counts = UNREADABLE
        else:
            with self._hand.holding(position):
                counts = self._counts(message)
        return Fact(message.offset, at, counts)

    def _counts(self, message: Message) -> Counts:
        headers = dict(message.headers or ())
        at_ms = int(message.timestamp * 1000)
        try:
            return facts_of(self.topic, message.value, headers, at_ms)
        except Exception as error:
            # Whatever is wrong with one record must not end the counting of others.
            log.warning("%s: not read (%s)", self.topic, type(error).__name__)
            return UNREADABLE

    def _look_up(self, key: str) -> Bucket | None:
        value = self._table.data.get(key)
        return None if value is None else Bucket.from_json(value)
