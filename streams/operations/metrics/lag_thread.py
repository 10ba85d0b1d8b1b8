"""The lag of a worker's own partitions, read beside the loop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry

from streams.cluster.lag import LagMonitor, PartitionLag
from streams.engine.errors import StreamError
from streams.engine.settings import Settings

from . import catalogue
from .health import Health
from .lag import LagGauges

log = logging.getLogger(__name__)

PERIOD = 5.0
"""Seconds between two looks; less than an interval of the judged window."""


@contextmanager
def following(
    settings: Settings,
    group: str,
    topic: str,
    registry: CollectorRegistry,
    health: Health,
) -> Iterator[None]:
    """Show the lag of the partitions that ``health`` says are ours, until the end."""
    shown = OwnLag(registry, health)
    stopping = threading.Event()

    def follow() -> None:
        monitor: LagMonitor | None = None
        while not stopping.wait(PERIOD):
            # Before it owns a partition there may not even be a broker.
            if not health.now.assigned:
                shown.show(())
                continue
            try:
                monitor = monitor or LagMonitor(settings, [(group, topic)], time.time)
                shown.show(monitor.read())
            except StreamError as error:
                # Better no number than one of yesterday.
                shown.show(())
                log.warning("lag: %s", error)
        if monitor is not None:
            monitor.close()

    thread = threading.Thread(target=follow, name="lag", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(PERIOD)


class OwnLag:
    """Shows lag of assigned partitions, and what of it waits for the table."""

    def __init__(self, registry: CollectorRegistry, health: Health) -> None:
        stage = health.identity.stage
        self._health = health
        self._gauges = LagGauges(registry)
        self._parked = catalogue.PARKED_RECORDS.on(registry).labels(stage)
        self._oldest = catalogue.PARKED_OLDEST_SECONDS.on(registry).labels(stage)

    def show(self, lags: Sequence[PartitionLag]) -> None:
        """Show these; those of other workers' partitions are theirs to show."""
        now = self._health.now
        self._gauges.observe(lag for lag in lags if lag.partition in now.assigned)
        parked = [lag for lag in lags if lag.partition in now.paused]
        self._parked.set(sum(lag.records for lag in parked))
        self._oldest.set(max((lag.seconds or 0.0 for lag in parked), default=0.0))
