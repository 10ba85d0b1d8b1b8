"""The metrics of `phistream serve`, besides notes, joins and identifiers."""

from __future__ import annotations

from streams.operations.metrics.catalogue import (
    JOIN,
    NOTES,
    PHI_SPANS,
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    Metric,
)

REQUESTS = CounterMetric(
    "phistream_gateway_requests_total",
    ("route", "status", "client"),
    "Requests by path template, status and the name of the client's token.",
)
SECONDS = HistogramMetric(
    "phistream_gateway_seconds",
    ("route",),
    "Time from a request's header to the end of its answer.",
    (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60),
)
RUNNING = GaugeMetric(
    "phistream_gateway_running_requests", (), "Requests that are being served."
)
REFUSED = CounterMetric(
    "phistream_gateway_refused_total",
    ("reason",),
    "Requests, and notes of batches, that were refused.",
)
LOST = CounterMetric(
    "phistream_gateway_lost_workers_total",
    (),
    "Workers that overran their time or died, and were replaced.",
)

METRICS: tuple[Metric, ...] = (
    REQUESTS,
    SECONDS,
    RUNNING,
    REFUSED,
    LOST,
    NOTES,
    PHI_SPANS,
    JOIN,
)
