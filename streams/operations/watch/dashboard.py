"""The figures of the page, gathered once a second from tables, lag and workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.kafka.topics import WATCH_TOPICS, Topic
from streams.operations.counts import figures
from streams.operations.counts.windows import DAY, HOUR, WINDOWS, window_counts
from streams.operations.model_card import model_in

from .alerts import Alerts, Observation
from .app import WatchApp
from .lag_history import LagHistory
from .workers import Workers

PARTS = (
    "alerts", "flow", "lag", "latency", "phi", "dead-letters", "versions", "tables",
)  # fmt: skip
"""The paths below /api, and the fields of each server-sent event."""


class Dashboard:
    """All figures of the page, as of the last `update`.

    Args:
        group: Watch's own consumer group.
        partitions: The number of partitions that watch reads.
        lags: The lag of all groups.
        workers: The status of the workers.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        group: str,
        partitions: int,
        lags: LagHistory,
        workers: Workers,
        clock: Callable[[], float],
    ) -> None:
        self._group = group
        self._partitions = partitions
        self._lags = lags
        self._workers = workers
        self._clock = clock
        self._app: WatchApp | None = None
        self._starts = 0
        self._alerts = Alerts()
        self.figures: dict[str, Any] = {}

    def use(self, app: WatchApp) -> None:
        """Show this Faust application from now on."""
        self._app = app
        self._starts += 1

    @property
    def is_ready(self) -> bool:
        """True if all partitions are assigned and the tables restored."""
        app = self._app
        return app is not None and app.is_ready and app.partitions() == self._partitions

    def is_stuck(self) -> bool:
        """Return whether watch commits nothing while records wait for it."""
        return self._lags.has_stopped(self._group)

    def status(self) -> dict[str, Any]:
        """Return the status of watch itself."""
        return {
            "stage": "watch",
            "ready": self.is_ready,
            "lives": self._starts,
            "partitions": {
                "held": 0 if self._app is None else self._app.partitions(),
                "of": self._partitions,
            },
            "tables": self._tables(),
        }

    def update(self) -> None:
        """Compute all figures as of now."""
        now = self._clock()
        windows = window_counts(() if self._app is None else self._app.buckets(), now)
        workers = self._workers.json()
        observation = Observation(windows[HOUR.name], self._lags.latest(), workers)
        self.figures = {
            "at": now,
            "ready": self.is_ready,
            "windows": {
                w.name: {"width": w.width, "seconds": w.seconds} for w in WINDOWS
            },
            "alerts": self._alerts.judge(observation),
            "flow": figures.flow(windows, self._lags.arriving()),
            "lag": self._lags.json(),
            "latency": figures.latency(windows),
            "phi": figures.phi(windows),
            "dead-letters": figures.dead_letters(windows),
            "versions": [
                row | model_in(row["version"], row["preset"])
                for row in figures.versions(windows[DAY.name])
            ],
            "tables": {"watch": self._tables(), "workers": workers},
            "unreadable": figures.unreadable(windows),
        }

    def _tables(self) -> list[dict[str, Any]]:
        left = {} if self._app is None else self._app.restoring()
        return [_table(topic, left, is_ready=self.is_ready) for topic in WATCH_TOPICS]


def _table(topic: Topic, left: Mapping[str, int], *, is_ready: bool) -> dict[str, Any]:
    remaining = left.get(topic.name, 0)
    return {
        "table": topic.name,
        "of": topic.copartitioned_with,
        "remaining": remaining,
        "ready": is_ready and remaining == 0,
    }
