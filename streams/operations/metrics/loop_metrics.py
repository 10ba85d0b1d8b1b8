"""The observer that fills a worker's metrics: batches, assignment, table."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from prometheus_client import CollectorRegistry

from streams.engine.errors import (
    CorruptState,
    Fenced,
    RetriableError,
    StreamError,
    UnknownOutcome,
)
from streams.engine.observer import HeldProgress, Observer, TableProgress, TableView
from streams.engine.records import Output, Record
from streams.kafka.topics import Stage

from . import catalogue
from .audit_metrics import AuditMetrics
from .health import Health
from .update_metrics import UpdateMetrics

TABLE_SECONDS = 1.0
"""Seconds between two readings of the table's progress."""

RESULTS = {Fenced: "fenced", UnknownOutcome: "unknown"}
"""Results of transactions that were not committed; any other is `aborted`."""
ERRORS: tuple[type[StreamError], ...] = (
    CorruptState,
    Fenced,
    RetriableError,
    UnknownOutcome,
)


class LoopMetrics(Observer):
    """Fill the metrics of a worker, and its health.

    Args:
        registry: The registry of the metrics.
        health: Its snapshot is kept up to date.
        clock: Seconds since 1970.
        ticks: Monotonic seconds.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        health: Health,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._health = health
        self._clock, self._ticks = clock, ticks
        self._stage = stage = health.identity.stage
        self._account = AuditMetrics(registry, stage, clock)
        self._updates = UpdateMetrics(registry) if stage is Stage.SCRUB else None
        transactions = catalogue.TRANSACTIONS.on(registry)
        self._results = {
            each: transactions.labels(stage, each)
            for each in ("committed", "aborted", "unknown", "fenced")
        }
        errors = catalogue.ERRORS.on(registry)
        self._errors = {each: errors.labels(stage, each.__name__) for each in ERRORS}
        rebalances = catalogue.REBALANCES.on(registry)
        self._assignments = rebalances.labels(stage, "assigned")
        self._revocations = rebalances.labels(stage, "revoked")
        self._seconds = catalogue.TRANSACTION_SECONDS.on(registry).labels(stage)
        self._sizes = catalogue.BATCH_RECORDS.on(registry).labels(stage)
        self._last_commit = catalogue.LAST_COMMIT.on(registry).labels(stage)
        self._fenced = catalogue.FENCED.on(registry).labels(stage)
        self._rebuilds = catalogue.REBUILDS.on(registry).labels(stage)
        self._owned = catalogue.ASSIGNED.on(registry).labels(stage)
        self._ready = catalogue.READY.on(registry).labels(stage)
        self._deaths = catalogue.OWNER_DEATHS.on(registry).labels(stage)
        self._overruns = catalogue.OVERRUNS.on(registry).labels(stage)
        self._quarantined = catalogue.QUARANTINED.on(registry).labels(stage)
        self._drops = catalogue.TABLES_DROPPED.on(registry).labels(stage)
        self._rows = catalogue.TABLE_RECORDS.on(registry).labels(stage)
        self._behind = catalogue.TABLE_BEHIND.on(registry)
        self._restore = catalogue.TABLE_RESTORE_SECONDS.on(registry)
        self._begun_at: float | None = None
        self._records: list[Record] = []
        self._outputs: list[Output] = []
        self._held = catalogue.HELD_RECORDS.on(registry)
        self._held_oldest = catalogue.HELD_OLDEST_SECONDS.on(registry).labels(stage)
        self._held_overdue = catalogue.HELD_OVERDUE_SECONDS.on(registry).labels(stage)
        self._held_places: set[str] = set()
        self._looked_at = -TABLE_SECONDS
        _show_identity(registry, health)

    def assigned(self, partitions: Sequence[int]) -> None:
        """Count an assignment; its partitions wait until the next iteration."""
        now, new = self._health.now, frozenset(partitions)
        self._assignments.inc()
        self._update(assigned=now.assigned | new, paused=now.paused | new)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Count a revocation."""
        now, gone = self._health.now, frozenset(partitions)
        self._revocations.inc()
        self._update(assigned=now.assigned - gone, paused=now.paused - gone)

    def begun(self, records: Sequence[Record]) -> None:
        """Start the time of a batch."""
        self._forget()
        self._begun_at = self._ticks()

    def staged(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Keep records and outputs until they are committed."""
        self._records += records
        self._outputs += outputs

    def committed(self) -> None:
        """Count the batch, its audit events and its patient updates."""
        now, records = self._clock(), len(self._records)
        self._results["committed"].inc()
        if self._begun_at is not None:
            self._seconds.observe(self._ticks() - self._begun_at)
            self._sizes.observe(records)
        self._last_commit.set(now)
        self._account.count(self._outputs)
        if self._updates is not None:
            self._updates.count(self._records, self._outputs)
        self._forget()
        self._update(last_commit=now, records=self._health.now.records + records)

    def undone(self, error: StreamError) -> None:
        """Count the error, and a transaction if there was a batch."""
        self._errors[_kind(error)].inc()
        if self._begun_at is not None or self._outputs:
            self._results[RESULTS.get(type(error), "aborted")].inc()
        self._forget()
        if isinstance(error, Fenced):
            self._fenced.inc()
        if isinstance(error, Fenced | UnknownOutcome):
            self._rebuilds.inc()

    def overran(self, records: Sequence[Record]) -> None:
        """Count an overrun; the staged outputs are dropped."""
        self._overruns.inc()
        self._records.clear()
        self._outputs.clear()

    def died(self, partition: int) -> None:
        """Count the death of a partition's owner."""
        self._deaths.inc()

    def damaged(self) -> None:
        """Count a table that was dropped."""
        self._drops.inc()

    def turned(
        self, paused: Collection[int], table: TableView, quarantined: int
    ) -> None:
        """Show the table's progress, once a second."""
        now = self._health.now
        if quarantined != now.quarantined:
            self._quarantined.set(quarantined)
            self._update(quarantined=quarantined)
        if paused != now.paused:
            self._update(paused=frozenset(paused))
        if self._ticks() - self._looked_at < TABLE_SECONDS:
            return
        self._looked_at = self._ticks()
        self._show_table(table.progress())
        self._show_held(table.held())

    def _forget(self) -> None:
        self._begun_at = None
        self._records.clear()
        self._outputs.clear()

    def _show_table(self, table: Sequence[TableProgress]) -> None:
        here = {each.partition for each in table}
        for gone in self._health.now.table:
            if gone.partition not in here:
                self._behind.remove(self._stage, str(gone.partition))
                self._restore.remove(self._stage, str(gone.partition))
        for each in table:
            place = (self._stage, str(each.partition))
            self._behind.labels(*place).set(each.behind)
            self._restore.labels(*place).set(each.seconds)
        self._rows.set(sum(each.rows for each in table))
        self._update(table=tuple(table))

    def _show_held(self, held: Sequence[HeldProgress]) -> None:
        places = {str(each.partition) for each in held}
        for gone in self._held_places - places:
            self._held.remove(self._stage, gone)
        self._held_places = places
        for each in held:
            self._held.labels(self._stage, str(each.partition)).set(each.notes)
        now_ms = self._clock() * 1000
        oldest = min((each.since_ms for each in held if each.notes), default=now_ms)
        until = min((each.until_ms for each in held if each.until_ms), default=now_ms)
        self._held_oldest.set(max(0.0, now_ms - oldest) / 1000)
        self._held_overdue.set(max(0.0, now_ms - until) / 1000)

    def _update(self, **changes: object) -> None:
        now = self._health.now = replace(self._health.now, **changes)  # type: ignore[arg-type]  # names of fields
        self._owned.set(len(now.assigned))
        self._ready.set(not now.trouble())


def _kind(error: StreamError) -> type[StreamError]:
    return next((each for each in ERRORS if isinstance(error, each)), RetriableError)


def _show_identity(registry: CollectorRegistry, health: Health) -> None:
    identity = health.identity
    catalogue.MODEL_INFO.on(registry).labels(
        identity.stage,
        identity.preset,
        identity.policy,
        str(identity.model.get("model") or ""),
        str(identity.model.get("sha256") or ""),
        identity.version,
    ).set(1)
