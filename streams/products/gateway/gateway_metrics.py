"""The metrics of the gateway: counts and times, by closed sets of labels."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from deid_core.labels import Label
from streams.engine.reasons import OTHER, REASONS
from streams.operations.metrics.catalogue import JOIN, NOTES, PHI_SPANS, new_registry

from . import catalogue
from .tasks import Code, Counts

CONTENT_TYPE = CONTENT_TYPE_LATEST


class GatewayMetrics:
    """Counts requests and what was found in them; every series exists from the start.

    Args:
        routes: Path templates.
    """

    def __init__(self, routes: Iterable[str]) -> None:
        registry = self._registry = new_registry()
        self._requests = catalogue.REQUESTS.on(registry)
        seconds = catalogue.SECONDS.on(registry)
        self._seconds = {each: seconds.labels(each) for each in (*routes, OTHER)}
        self._running = catalogue.RUNNING.on(registry)
        self._lost = catalogue.LOST.on(registry)
        refused = catalogue.REFUSED.on(registry)
        codes = (*REASONS, *(each.value for each in Code), OTHER)
        self._refused = {each: refused.labels(each) for each in codes}
        notes = NOTES.on(registry)
        self._scrubbed = notes.labels("scrubbed")
        joins = JOIN.on(registry)
        self._joins = {each: joins.labels(each) for each in ("found", "missing")}
        spans = PHI_SPANS.on(registry)
        self._spans = {each.value: spans.labels(each.value) for each in Label}

    def begun(self) -> None:
        """Count a request that begins."""
        self._running.inc()

    def ended(self, route: str, status: int, client: str, seconds: float) -> None:
        """Count a request that has ended.

        Args:
            route: Its path template; empty for a path that is not served.
            status: Of HTTP.
            client: The name of the token; empty for none.
            seconds: How long it took.
        """
        self._running.dec()
        route = route if route in self._seconds else OTHER
        self._requests.labels(route, str(status), client or OTHER).inc()
        self._seconds[route].observe(seconds)

    def refused(self, code: str) -> None:
        """Count a request that was refused before it reached a worker."""
        self._refused[code if code in self._refused else OTHER].inc()

    def count(self, counts: Counts) -> None:
        """Count what a worker did."""
        self._scrubbed.inc(counts.scrubbed)
        for join, number in counts.joins.items():
            self._joins[join].inc(number)
        for label, number in counts.spans.items():
            self._spans[label].inc(number)
        for code, number in counts.refused.items():
            self._refused[code if code in self._refused else OTHER].inc(number)

    def lost(self) -> None:
        """Count a worker that is replaced."""
        self._lost.inc()

    def text(self) -> bytes:
        """Return the metrics as Prometheus reads them."""
        return generate_latest(self._registry)
