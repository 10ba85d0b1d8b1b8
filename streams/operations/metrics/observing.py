"""What `worker.run` opens: an observer that counts and answers, or the null one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streams.engine.observer import Observer
from streams.engine.settings import Settings
from streams.events.outputs import Stage


@contextmanager
def observing(
    stage: Stage,
    slot: int,
    topic: str,
    settings: Settings,
    silent: Callable[[], float],
    limit: float,
) -> Iterator[Observer]:
    """Give the observer of a worker; with metrics on, serve what it sees.

    Args:
        stage: What the worker does.
        slot: Its ordinal; it listens on `metrics_port` + slot.
        topic: What it reads.
        settings: `metrics_port` 0 is off.
        silent: Returns the seconds since the loop's last beat.
        limit: A loop that is silent for longer is not alive.

    Raises:
        ConfigError: The port can't be had.
    """
    if not settings.metrics_port:
        yield Observer()
        return
    # Prometheus' client takes a tenth of a second to load; who needs none, loads none.
    from .counting import counting

    with counting(stage, slot, topic, settings, silent, limit) as observer:
        yield observer
