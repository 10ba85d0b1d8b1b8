"""All that a worker with metrics runs beside its loop: registry, server, lag."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from streams.engine.observer import Observer
from streams.engine.settings import Settings
from streams.events.outputs import Stage

from ..watch.models import NONE, model_of
from .health import Health, Identity
from .lag_thread import following
from .loop import LoopMetrics
from .registry import new_registry
from .server import serving


@contextmanager
def counting(
    stage: Stage,
    slot: int,
    topic: str,
    settings: Settings,
    silent: Callable[[], float],
    limit: float,
) -> Iterator[Observer]:
    """Give an observer that counts, and serve what it sees until the end.

    Args: as of `observing`.
    """
    registry = new_registry()
    health = Health(_identity(stage, slot, settings), silent, limit)
    observer = LoopMetrics(registry, health, clock=time.time)
    port = settings.metrics_port + slot
    with (
        serving(registry, health, settings.metrics_host, port),
        following(settings, f"{settings.group}-{stage}", topic, registry, health),
    ):
        yield observer


def _identity(stage: Stage, slot: int, settings: Settings) -> Identity:
    is_scrub = stage == "scrub"
    return Identity(
        stage=stage,
        slot=slot,
        version=metadata.version("phistream"),
        preset=Path(settings.preset).stem if is_scrub else "",
        policy=Path(settings.policy).stem if is_scrub else "",
        model=model_of(settings.preset) if is_scrub else NONE,
    )
