"""Everything that a worker with metrics runs: registry, HTTP server, lag thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from streams.engine.observer import Observer
from streams.kafka.topics import Stage
from streams.operations.http_access import Access
from streams.operations.model_card import NONE, model_of
from streams.operations.settings import Settings

from .catalogue import new_registry
from .health import Health, Identity
from .lag_gauges import showing_own_lag
from .loop_metrics import LoopMetrics
from .server import serving


@contextmanager
def worker_metrics(
    stage: Stage,
    slot: int,
    settings: Settings,
    silent: Callable[[], float],
    limit: Callable[[], float],
) -> Iterator[Observer]:
    """Yield an observer, and serve its metrics until the end of the block.

    Args: as of `observing`.
    """
    registry = new_registry()
    health = Health(_identity(stage, slot, settings), silent, limit)
    observer = LoopMetrics(registry, health, clock=time.time)
    host, port = settings.metrics_host, settings.metrics_port_of(slot)
    with (
        serving(registry, health, Access.of(settings, host), host, port),
        showing_own_lag(settings, registry, health),
    ):
        yield observer


def _identity(stage: Stage, slot: int, settings: Settings) -> Identity:
    is_scrub = stage is Stage.SCRUB
    return Identity(
        stage=stage,
        slot=slot,
        version=metadata.version("phistream"),
        preset=Path(settings.preset).stem if is_scrub else "",
        policy=Path(settings.policy).stem if is_scrub else "",
        model=model_of(settings.preset) if is_scrub else NONE,
    )
