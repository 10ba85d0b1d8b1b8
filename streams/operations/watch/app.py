"""The faust-streaming application: two topics, each counted into a table.

Faust provides the consumer group and the tables with their changelogs and restoration.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import faust
from faust.exceptions import ConsumerNotStarted
from faust.tables.manager import TableManager
from faust.types import TP, StreamT

from streams.engine.private_files import private_folder
from streams.kafka.topics import DEAD_LETTERS, PHI_AUDIT, WATCH_TOPICS
from streams.operations.counts.windows import Bucket
from streams.operations.settings import Settings

from .guard import CurrentRecord
from .topic_counter import CountsTable, TopicCounter
from .transport import credentials, read_committed
from .waiting import wait

log = logging.getLogger(__name__)

READ = (PHI_AUDIT.name, DEAD_LETTERS.name)
"""The topics it reads.  `notes.scrubbed` is not one: its records have no time, and each
has its audit event in the same transaction."""
FLUSH_SECONDS = 0.5
FLUSH_TIMEOUT, STOP_TIMEOUT = 5.0, 20.0


def group_of(settings: Settings) -> str:
    """Return watch's consumer group."""
    return f"{settings.group}-watch"


class WatchApp:
    """One run of the Faust application; `Service` starts a new one when it fails.

    Args:
        settings: Connection settings and the group's prefix.
        clock: Seconds since 1970.
        current: Shared with the guard: the record being processed.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float],
        current: CurrentRecord | None = None,
    ) -> None:
        self._current = current
        self._faust = _faust(settings)
        read_committed(self._faust)
        self._clock = clock
        changelogs = {topic.copartitioned_with: topic.name for topic in WATCH_TOPICS}
        self._counters = [self._counter(name, changelogs[name]) for name in READ]
        revoked = self._faust.on_partitions_revoked
        revoked.connect(self._revoked)  # type: ignore[arg-type]  # accepts any callable
        self._faust.timer(FLUSH_SECONDS)(self._flush)

    async def run(self, until: asyncio.Event) -> None:
        """Run until the event is set or Faust has failed; then stop it."""
        starting = asyncio.create_task(self._faust.start())
        try:
            while not until.is_set() and not self._has_failed(starting):
                await wait(until, 0.2)
        finally:
            await self._stop(starting)

    @property
    def is_ready(self) -> bool:
        """True if partitions are assigned and the tables restored."""
        return self._is_restored() and self.partitions() > 0

    def partitions(self) -> int:
        """Return how many partitions of its topics are assigned."""
        if self._faust.should_stop or not self._faust.started:
            return 0
        try:
            assigned = self._faust.consumer.assignment()
        except ConsumerNotStarted:
            return 0
        return sum(tp.topic in READ for tp in assigned)

    def restoring(self) -> Mapping[str, int]:
        """Return the number of changelog records still to be read, by changelog."""
        recovery = cast(TableManager, self._faust.tables).recovery
        left = {topic.name: 0 for topic in WATCH_TOPICS}
        if self._faust.in_recovery:
            for tp, count in recovery.active_remaining().items():
                left[tp.topic] = left.get(tp.topic, 0) + max(0, count)
        return left

    def buckets(self) -> Iterator[tuple[str, Bucket]]:
        """Yield the buckets of all tables, each with its key."""
        for counter in self._counters:
            yield from counter.buckets()

    def _counter(self, name: str, changelog: str) -> TopicCounter:
        table = cast(
            CountsTable,
            self._faust.Table(
                changelog,
                changelog_topic=self._faust.topic(
                    changelog,
                    key_serializer="json",
                    value_serializer="json",
                    compacting=True,
                    acks=False,
                    internal=True,
                ),
            ),
        )
        table.unconfirmed = []
        counter = TopicCounter(
            name, table, self._is_restored, self._clock, self._current
        )
        topic = self._faust.topic(
            name,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
        )

        async def agent(stream: StreamT[Any]) -> None:
            await counter.gather(stream)

        self._faust.agent(topic, name=f"count-{name}")(agent)
        return counter

    async def _flush(self) -> None:
        for counter in self._counters:
            await counter.flush()

    def _revoked(self, _app: object, *args: object, **_: object) -> None:
        revoked = cast(Iterable[TP], args[0])
        for counter in self._counters:
            counter.drop({tp.partition for tp in revoked if tp.topic == counter.topic})

    def _is_restored(self) -> bool:
        return bool(self._faust.started and not self._faust.in_recovery)

    def _has_failed(self, starting: asyncio.Task[Any]) -> bool:
        if starting.done() and starting.exception() is not None:
            log.warning("faust did not start: %s", type(starting.exception()).__name__)
            return True
        return bool(self._faust.crashed or self._faust.should_stop)

    async def _stop(self, starting: asyncio.Task[Any]) -> None:
        if not self._faust.crashed and starting.done():
            await _within(FLUSH_TIMEOUT, self._flush())
        await _within(STOP_TIMEOUT, self._faust.stop())
        starting.cancel()
        await _within(STOP_TIMEOUT, asyncio.gather(starting, return_exceptions=True))


async def _within(seconds: float, work: Awaitable[object]) -> None:
    """Wait for work up to a time limit; Faust may ignore its cancellation."""
    task = asyncio.ensure_future(work)
    await asyncio.wait({task}, timeout=seconds)
    if not task.done():
        log.warning("faust did not stop within %.0f s", seconds)
    elif task.exception() is not None:
        log.warning("faust did not stop: %s", type(task.exception()).__name__)


def _faust(settings: Settings) -> faust.App:
    addresses = settings.client()["bootstrap.servers"].split(",")
    folder = settings.state_dir / "watch"
    private_folder(folder)
    return faust.App(
        group_of(settings),
        broker=[f"kafka://{address.strip()}" for address in addresses],
        broker_credentials=credentials(settings),
        broker_client_id="phistream-watch",
        broker_commit_interval=1.0,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=settings.session_seconds / 4,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
        # Unacknowledged records are delivered again; waiting for them may never end.
        stream_wait_empty=False,
        store="memory://",
        Table=CountsTable,
        table_standby_replicas=0,
        # Topics are declared in streams/kafka/topics.py and created by
        # `phistream topics create`.
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        autodiscover=False,
        origin="streams.operations.watch",
        datadir=folder,
    )
