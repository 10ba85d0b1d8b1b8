"""`phistream lake run`: read, commit, keep the tables in order, until a signal.

Everything is on one thread: a table's commit, and its maintenance, conflict with nobody
of this process.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from types import FrameType

from pyiceberg.catalog import Catalog

from streams.engine.errors import RetriableError, TopicReplaced
from streams.kafka.client import admin_client, wait_for_broker
from streams.kafka.identities import Identities, topic_ids
from streams.kafka.topic_admin import require_topics
from streams.operations.http_access import Access
from streams.operations.metrics.catalogue import new_registry
from streams.operations.metrics.server import serving
from streams.operations.settings import Settings

from .batch import TableBatch
from .catalog import open_catalog
from .maintenance import compact, expire
from .metrics import LakeHealth, LakeMetrics
from .rows import rows_of
from .settings import LakeSettings
from .source import LakeSource
from .table import LakeTable

log = logging.getLogger(__name__)


def run(settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
    """Write the tables until SIGTERM or SIGINT; what was read is committed first.

    Raises:
        StreamError: The service can't go on; nothing is lost.
    """
    wait_for_broker(settings)
    lake = LakeSettings.of(settings)
    counts = require_topics(settings, lake.topics)
    with _catalog(lake) as catalog, ExitStack() as stack:
        writer = LakeWriter(settings, catalog, dict(counts), clock)
        stack.callback(writer.close)
        stack.enter_context(_serving(settings, writer))
        stop = _stopped_by_signals()
        while not stop():
            writer.turn()
        writer.finish()
    log.info("the lake's writer has drained")


def tables_of(settings: LakeSettings, catalog: Catalog) -> dict[str, LakeTable]:
    """Return the tables of a lake by topic; they are not opened yet."""
    return {
        each: LakeTable(catalog, settings, rows_of(each)) for each in settings.topics
    }


class LakeWriter:
    """Reads all topics and writes all tables.

    Args:
        settings: All of them.
        catalog: Of the tables.
        counts: By topic, the number of its partitions.
        clock: Monotonic seconds.

    Raises:
        StreamError: A table or topic can't be used.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        counts: dict[str, int],
        clock: Callable[[], float],
    ) -> None:
        lake = LakeSettings.of(settings)
        self._lake, self._clock = lake, clock
        admin = admin_client(settings)
        ids = topic_ids(admin, counts)
        self._identities = Identities(admin, ids)
        self.metrics = LakeMetrics(new_registry(), lake.topics)
        self.health = LakeHealth(self.metrics, clock, settings.watchdog_seconds)
        self.tables = tables_of(lake, catalog)
        self._batches = {
            topic: _opened(table, ids[topic]) for topic, table in self.tables.items()
        }
        reached = {t: each.progress.offsets for t, each in self._batches.items()}
        self._source = LakeSource(settings, counts, reached)
        self._maintain_at = clock() + lake.maintain_seconds

    def turn(self) -> None:
        """Read what is there, and commit what is due."""
        self._identities.check()
        self._read()
        now = self._clock()
        for topic, batch in self._batches.items():
            if self._is_due(batch, now):
                self._commit(topic)
            self.metrics.lag(topic, self._source.lag(topic), len(batch))
        if now >= self._maintain_at:
            # Also where only markers were read.
            self.finish()
            self.maintain()
            self._maintain_at = self._clock() + self._lake.maintain_seconds
        self.health.beat()

    def finish(self) -> None:
        """Commit what was read."""
        for topic in self._batches:
            self._commit(topic)

    def maintain(self) -> None:
        """Compact and expire; what fails is tried again the next time."""
        for table in self.tables.values():
            try:
                if self._lake.compact_files:
                    compact(table, self._lake, min_files=self._lake.compact_files)
                expire(table, self._lake, datetime.now(UTC))
            except RetriableError as error:
                log.warning("%s", error)

    def close(self) -> None:
        """Close the connections; what was not committed is read again."""
        self._source.close()

    def _read(self) -> None:
        # One poll may bring more than a commit should have, of several topics.
        for record in self._source.poll():
            batch = self._batches[record.partition.topic]
            batch.add(record, self._clock())
            if self._is_full(batch):
                self._commit(record.partition.topic)
        for where, end in self._source.ends.items():
            self._batches[where.topic].reach(where.index, end)

    def _is_full(self, batch: TableBatch) -> bool:
        is_many = len(batch) >= self._lake.commit_rows
        return is_many or batch.size >= self._lake.commit_bytes

    def _is_due(self, batch: TableBatch, now: float) -> bool:
        if batch.since is None:
            return False
        return self._is_full(batch) or now - batch.since >= self._lake.commit_seconds

    def _commit(self, topic: str) -> None:
        batch, begun = self._batches[topic], self._clock()
        if batch.is_empty:
            return
        commit = batch.commit()
        self.tables[topic].commit(commit)
        batch.clear()
        self._source.report(topic, commit.after.offsets)
        self.metrics.committed(topic, len(commit.rows), len(commit.erased))
        log.info(
            "%s: %d rows, %d patients erased, in %.2f s",
            topic, len(commit.rows), len(commit.erased), self._clock() - begun,
        )  # fmt: skip


def _opened(table: LakeTable, topic_id: str) -> TableBatch:
    table.open()
    progress = table.progress()
    if progress.topic_id not in ("", topic_id):
        raise TopicReplaced(
            f"{progress.topic}: its table was written from another topic of this name; "
            "drop the table, or name another namespace (runbook, The lake)"
        )
    log.info("%s: goes on at %s", table.name, dict(progress.offsets))
    return TableBatch(table.rows, table.unit, topic_id, progress)


@contextmanager
def _catalog(settings: LakeSettings) -> Iterator[Catalog]:
    catalog = open_catalog(settings)
    try:
        yield catalog
    finally:
        catalog.close()


@contextmanager
def _serving(settings: Settings, writer: LakeWriter) -> Iterator[None]:
    if not settings.metrics_port:
        yield
        return
    host, port = settings.metrics_host, settings.metrics_port
    access = Access.of(settings, host)
    registry = writer.metrics.registry
    with serving(registry, writer.health, access, host, port):
        yield


def _stopped_by_signals() -> Callable[[], bool]:
    """Return what says whether a signal has come; a commit is never interrupted."""
    came = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return lambda: bool(came)
