"""The observer of a worker: with metrics and an HTTP server, or the null one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from streams.engine.observer import Observer
from streams.kafka.topics import Stage
from streams.operations.settings import Settings


def observing(
    stage: Stage,
    slot: int,
    settings: Settings,
    silent: Callable[[], float],
    limit: Callable[[], float],
) -> AbstractContextManager[Observer]:
    """Return the observer of a worker; with metrics on, serve them until the end.

    Args:
        stage: The worker's stage.
        slot: The worker's ordinal; see `Settings.metrics_port_of`.
        settings: `metrics_port` 0 turns metrics off.
        silent: Returns the seconds since the loop's last beat.
        limit: Returns the seconds of silence after which the loop is not alive.

    Raises:
        ConfigError: The port is not available.
    """
    if not settings.metrics_port:
        return nullcontext(Observer())
    # prometheus_client takes a tenth of a second to load.
    from .worker_metrics import worker_metrics

    return worker_metrics(stage, slot, settings, silent, limit)
