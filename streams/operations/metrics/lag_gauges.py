"""Lag as gauges, under phistream's names and those of common Kafka dashboards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Gauge

from streams.kafka.lag import LagState, PartitionLag
from streams.operations.lag_poller import LagPoller, groups_of
from streams.operations.settings import Settings

from . import catalogue
from .catalogue import GaugeMetric
from .health import Health

Row = tuple[GaugeMetric, tuple[str, ...], float]

PERIOD = 5.0
"""Seconds between two readings; shorter than an interval of the judged window."""


class LagGauges:
    """Gauges of the last reading; made once for a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauges: dict[GaugeMetric, Gauge] = {
            metric: metric.on(registry) for metric in catalogue.LAG
        }
        self._shown: set[tuple[GaugeMetric, tuple[str, ...]]] = set()

    def observe(self, lags: Iterable[PartitionLag]) -> None:
        """Show these partitions; remove the series of any other."""
        shown = set()
        for metric, labels, value in _rows(list(lags)):
            self._gauges[metric].labels(*labels).set(value)
            shown.add((metric, labels))
        for metric, labels in self._shown - shown:
            self._gauges[metric].remove(*labels)
        self._shown = shown


def _rows(lags: list[PartitionLag]) -> Iterator[Row]:
    sums: Counter[tuple[str, str]] = Counter()
    for lag in lags:
        place = (lag.group, lag.topic, str(lag.partition))
        sums[lag.group, lag.topic] += lag.records
        yield catalogue.LAG_RECORDS, place, lag.records
        yield catalogue.EXPORTER_LAG, place, lag.records
        yield catalogue.LAG_EXPORTER_LAG, place, lag.records
        yield catalogue.COMMITTED_OFFSET, place, lag.committed
        yield catalogue.EXPORTER_OFFSET, place, lag.committed
        yield catalogue.STABLE_OFFSET, place, lag.stable
        yield catalogue.EXPORTER_END, place[1:], lag.stable
        if lag.seconds is not None:
            yield catalogue.LAG_SECONDS, place, lag.seconds
            yield catalogue.LAG_EXPORTER_SECONDS, place, lag.seconds
        for state in LagState:
            yield catalogue.LAG_STATE, (*place, state.value), lag.state is state
    for (group, topic), records in sums.items():
        yield catalogue.EXPORTER_LAG_SUM, (group, topic), records


class OwnLag:
    """The lag of a worker's own partitions, and the part that waits for the table."""

    def __init__(self, registry: CollectorRegistry, health: Health) -> None:
        stage = health.identity.stage
        self._health = health
        self._gauges = LagGauges(registry)
        self._parked = catalogue.PARKED_RECORDS.on(registry).labels(stage)
        self._oldest = catalogue.PARKED_OLDEST_SECONDS.on(registry).labels(stage)

    def has_partitions(self) -> bool:
        """Return whether partitions are assigned; without, remove all series."""
        if not self._health.now.assigned:
            self.clear()
        return bool(self._health.now.assigned)

    def show(self, lags: Sequence[PartitionLag]) -> None:
        """Show the lag of assigned partitions; other workers show theirs."""
        now = self._health.now
        self._gauges.observe(lag for lag in lags if lag.partition in now.assigned)
        parked = [lag for lag in lags if lag.partition in now.paused]
        self._parked.set(sum(lag.records for lag in parked))
        self._oldest.set(max((lag.seconds or 0.0 for lag in parked), default=0.0))

    def clear(self) -> None:
        """Show nothing, rather than an outdated number."""
        self.show(())


@contextmanager
def showing_own_lag(
    settings: Settings, registry: CollectorRegistry, health: Health
) -> Iterator[None]:
    """Show the lag of the worker's partitions until the end of the block."""
    own = OwnLag(registry, health)
    poller = LagPoller(
        settings,
        groups_of(health.identity.stage, settings),
        own.show,
        period=PERIOD,
        on_error=own.clear,
        # Before a partition is assigned there may be no broker.
        is_wanted=own.has_partitions,
    )
    poller.start()
    try:
        yield
    finally:
        poller.stop()
