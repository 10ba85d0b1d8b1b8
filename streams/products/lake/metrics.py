"""The metrics of the lake's writer, and its health."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Any

from prometheus_client import CollectorRegistry

from . import catalogue


class LakeMetrics:
    """The metrics of the writer; every series exists from the start."""

    def __init__(self, registry: CollectorRegistry, topics: Iterable[str]) -> None:
        self.registry = registry
        rows = catalogue.ROWS.on(registry)
        commits = catalogue.COMMITS.on(registry)
        erased = catalogue.ERASED.on(registry)
        lag = catalogue.LAG.on(registry)
        self._rows = {each: rows.labels(each) for each in topics}
        self._commits = {each: commits.labels(each) for each in topics}
        self._erased = {each: erased.labels(each) for each in topics}
        self._lag = {each: lag.labels(each) for each in topics}
        self.written = dict.fromkeys(self._rows, 0)

    def committed(self, topic: str, rows: int, erased: int) -> None:
        """Count a commit."""
        self.written[topic] += rows
        self._rows[topic].inc(rows)
        self._erased[topic].inc(erased)
        self._commits[topic].inc()

    def lag(self, topic: str, unread: int, waiting: int) -> None:
        """Show what is not in the table yet."""
        self._lag[topic].set(unread + waiting)


class LakeHealth:
    """The answers of /healthz, /readyz and /status.

    Args:
        metrics: Of the writer.
        clock: Monotonic seconds.
        limit: Seconds of silence after which the loop is not alive.
    """

    def __init__(
        self, metrics: LakeMetrics, clock: Callable[[], float], limit: float
    ) -> None:
        self._metrics, self._clock, self._limit = metrics, clock, limit
        self._beat_at: float | None = None

    def beat(self) -> None:
        """Show that the loop is alive."""
        self._beat_at = self._clock()

    def alive(self) -> tuple[bool, str]:
        """Return whether the loop is alive, and a line about it."""
        if self._beat_at is None:
            return True, "starting"
        silent = self._clock() - self._beat_at
        return silent <= self._limit, f"the loop's last beat was {silent:.1f} s ago"

    def ready(self) -> tuple[bool, str]:
        """Return whether tables are written, and why not."""
        is_ready = self._beat_at is not None
        return is_ready, "reading and writing" if is_ready else "starting"

    def status(self) -> dict[str, Any]:
        """Return everything as JSON: counts, no PHI."""
        return {
            "service": "lake",
            "version": metadata.version("phistream"),
            "alive": self.alive()[0],
            "ready": self.ready()[0],
            "rows_written": dict(self._metrics.written),
        }
