"""The metrics of `phistream lake run`."""

from __future__ import annotations

from streams.operations.metrics.catalogue import (
    CounterMetric,
    GaugeMetric,
    Metric,
)

ROWS = CounterMetric(
    "phistream_lake_rows_total", ("topic",), "Rows that were committed to a table."
)
COMMITS = CounterMetric(
    "phistream_lake_commits_total", ("topic",), "Commits to a table, but maintenance."
)
ERASED = CounterMetric(
    "phistream_lake_erased_patients_total",
    ("topic",),
    "Patients whose rows were deleted from a table.",
)
LAG = GaugeMetric(
    "phistream_lake_lag_records",
    ("topic",),
    "Offsets that are not read yet, and rows that wait for a commit.",
)

METRICS: tuple[Metric, ...] = (
    ROWS,
    COMMITS,
    ERASED,
    LAG,
)
