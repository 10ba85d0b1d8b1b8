"""A metric as data: declared once, made on the registry that it is given."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric is called and means; the unit stands at the end of its name.

    Args:
        name: As it is exported.
        labels: Names of its labels, whose values are of small, closed sets.
        meaning: One sentence for who reads a board.
    """

    name: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that a query may use."""
        return (self.name,)


class CounterMetric(Metric):
    """It only grows; boards look at its rate."""

    __slots__ = ()

    def on(self, registry: CollectorRegistry) -> Counter:
        """Make it on a registry."""
        return Counter(self.name, self.meaning, self.labels, registry=registry)


class GaugeMetric(Metric):
    """What is so now."""

    __slots__ = ()

    def on(self, registry: CollectorRegistry) -> Gauge:
        """Make it on a registry."""
        return Gauge(self.name, self.meaning, self.labels, registry=registry)


@dataclass(frozen=True, slots=True)
class HistogramMetric(Metric):
    """How values are spread, in buckets by upper bound."""

    buckets: tuple[float, ...]

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that a query may use."""
        return tuple(f"{self.name}_{part}" for part in ("bucket", "count", "sum"))

    def on(self, registry: CollectorRegistry) -> Histogram:
        """Make it on a registry."""
        return Histogram(
            self.name,
            self.meaning,
            self.labels,
            buckets=self.buckets,
            registry=registry,
        )
