"""What the page shows, gathered from tables, lag and workers, once a second."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from streams.cluster.topics import WATCH_TOPICS, Topic

from . import figures
from .alerts import Alerts, Sight
from .app import WatchApp
from .lags import Lags
from .models import model_in
from .windows import DAY, HOUR, WINDOWS

log = logging.getLogger(__name__)

PARTS = (
    "alerts", "flow", "lag", "latency", "phi", "dead-letters", "versions", "tables",
)  # fmt: skip
"""The names below /api, and in each server-sent event."""


class Restoring(Protocol):
    """Whoever knows how far the workers' tables are."""

    def json(self) -> list[dict[str, Any]]:
        """Return a row a worker; empty when none is named."""
        ...


class Desk:
    """All figures of the page, as of the last `look`.

    Args:
        group: Watch's own consumer group.
        partitions: How many it reads.
        lags: The groups' lag.
        workers: The workers' tables.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        group: str,
        partitions: int,
        lags: Lags,
        workers: Restoring,
        clock: Callable[[], float],
    ) -> None:
        self._group = group
        self._partitions = partitions
        self._lags = lags
        self._workers = workers
        self._clock = clock
        self.app: WatchApp | None = None
        self.lives = 0
        self.figures: dict[str, Any] = {}
        self._alerts = Alerts()

    def begin_life(self, app: WatchApp) -> None:
        """Show this Faust application from now on."""
        self.app = app
        self.lives += 1

    @property
    def is_ready(self) -> bool:
        """Whether all partitions are assigned and the tables restored."""
        app = self.app
        held = 0 if app is None else app.partitions()
        return app is not None and app.is_ready and held == self._partitions

    def is_stuck(self) -> bool:
        """Whether records wait, and watch itself commits nothing."""
        return self._lags.has_stopped(self._group)

    def status(self) -> dict[str, Any]:
        """Return how watch itself fares."""
        app = self.app
        return {
            "stage": "watch",
            "ready": self.is_ready,
            "lives": self.lives,
            "partitions": {
                "held": 0 if app is None else app.partitions(),
                "of": self._partitions,
            },
            "tables": self._tables(),
        }

    def look(self) -> dict[str, Any]:
        """Return all figures as of now, by `PARTS`, and keep them."""
        now = self._clock()
        buckets = {} if self.app is None else self.app.buckets()
        windows = figures.seen_windows(buckets, now)
        self.figures = {
            "at": now,
            "ready": self.is_ready,
            "windows": {
                w.name: {"width": w.width, "seconds": w.seconds} for w in WINDOWS
            },
            "alerts": self._alerts.judge(
                Sight(windows[HOUR.name], self._lags.latest(), self._workers.json())
            ),
            "flow": figures.flow(windows, self._lags.arriving()),
            "lag": self._lags.json(),
            "latency": figures.latency(windows),
            "phi": figures.phi(windows),
            "dead-letters": figures.dead_letters(windows),
            "versions": [
                row | model_in(row["version"], row["preset"])
                for row in figures.versions(windows[DAY.name])
            ],
            "tables": {"watch": self._tables(), "workers": self._workers.json()},
            "unreadable": figures.unreadable(windows),
        }
        return self.figures

    def _tables(self) -> list[dict[str, Any]]:
        left = {} if self.app is None else self.app.restoring()
        return [_table(topic, left, is_ready=self.is_ready) for topic in WATCH_TOPICS]


def _table(topic: Topic, left: Mapping[str, int], *, is_ready: bool) -> dict[str, Any]:
    remaining = left.get(topic.name, 0)
    return {
        "table": topic.name,
        "of": topic.beside,
        "remaining": remaining,
        "ready": is_ready and remaining == 0,
    }
