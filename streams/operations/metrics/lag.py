"""The lag of groups as gauges, under our names and under those Kafka's boards know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Gauge

from streams.cluster.lag import LagState, PartitionLag

from . import catalogue
from .metric import GaugeMetric, Metric

Row = tuple[Metric, tuple[str, ...], float]


class LagGauges:
    """Shows what a LagMonitor has read; made once a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauges: dict[Metric, Gauge] = {
            metric: metric.on(registry)
            for metric in catalogue.LAG
            if isinstance(metric, GaugeMetric)
        }
        self._shown: set[tuple[Metric, tuple[str, ...]]] = set()

    def observe(self, lags: Iterable[PartitionLag]) -> None:
        """Show these and nothing else: a partition no longer told of disappears."""
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
