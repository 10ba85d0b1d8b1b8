"""`phistream watch` from start to stop: page first, then one Faust life after another.

A life that fails, or that commits nothing with records to count, ends; the next one
takes up where the last has committed.  So an outage of the broker ends no process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry

from ..errors import ConfigError, RetriableError, StreamError
from ..metrics.lag import LagGauges
from ..metrics.registry import new_registry
from ..settings import Settings
from ..topics import WATCH_TOPICS, require_topics
from ..watchdog import Watchdog
from ..worker import wait_for_broker
from .app import READ, WatchApp, group_of
from .begin import begin_within_a_day
from .desk import Desk
from .examples import Examples
from .lags import Lags
from .pause import pause
from .web import Site
from .workers import Workers

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
GRACE_SECONDS = 150.0
"""A life younger than this is not judged by its lag."""
MOST_BACK_OFF = 30.0
HANGING_SECONDS = 45.0
"""A loop that does not turn for as long, or does not stop, ends the process."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is served."""

    host: str
    port: int


def serve(settings: Settings, address: Address, *, demo: bool) -> None:
    """Serve the page until SIGTERM or SIGINT.

    Args:
        settings: Where the cluster is.
        address: Where the page is served.
        demo: Show invented notes before and after; only on a broker of our own.

    Raises:
        BrokerUnreachable: No broker answered at the start.
        ConfigError: Topics are missing, or the address can't be had.
    """
    examples = Examples(settings) if demo else None
    wait_for_broker(settings)
    counts = require_topics(settings, [*READ, *(t.name for t in WATCH_TOPICS)])
    _patiently(
        lambda: begin_within_a_day(settings, group_of(settings), READ),
        settings.broker_wait_seconds,
    )
    registry = new_registry()
    lags = Lags(settings, LagGauges(registry).observe, time.time)
    workers = Workers(settings.watch_workers)
    partitions = sum(counts[topic] for topic in READ)
    desk = Desk(group_of(settings), partitions, lags, workers, time.time)
    helpers: list[Lags | Examples] = [lags] if examples is None else [lags, examples]
    for helper in helpers:
        helper.start()
    watchdog = Watchdog(min(HANGING_SECONDS, settings.watchdog_seconds))
    watchdog.start()
    try:
        asyncio.run(
            _serve(settings, address, desk, examples, workers, registry, watchdog.beat)
        )
    finally:
        watchdog.stop()
        for helper in helpers:
            helper.stop()
    log.info("watch has stopped")


def _patiently(work: Callable[[], object], seconds: float) -> None:
    """Do what a cluster that has just started may refuse at first."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            work()
        except RetriableError as error:
            if time.monotonic() > deadline:
                raise
            log.warning("%s; tried again", error)
            time.sleep(0.5)
        else:
            return


async def _serve(
    settings: Settings,
    address: Address,
    desk: Desk,
    examples: Examples | None,
    workers: Workers,
    registry: CollectorRegistry,
    beat: Callable[[], None],
) -> None:
    until = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, until.set)
    runner = web.AppRunner(
        Site(desk, examples, until, registry).application(),
        access_log=None,
        shutdown_timeout=2,
    )
    await _listen(runner, address)
    tasks = [
        asyncio.create_task(_look(desk, until, beat)),
        asyncio.create_task(workers.follow(until)),
    ]
    try:
        await _lives(desk, lambda: WatchApp(settings, time.time), until)
    finally:
        until.set()
        await asyncio.gather(*tasks)
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: Address) -> None:
    await runner.setup()
    try:
        await web.TCPSite(runner, address.host, address.port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(
            f"can't listen on {address.host}:{address.port} ({error.strerror}); "
            "choose another --port"
        ) from None
    log.info("the page is at http://%s:%d/", address.host, address.port)


async def _look(desk: Desk, until: asyncio.Event, beat: Callable[[], None]) -> None:
    while not until.is_set():
        beat()
        desk.look()
        await pause(until, LOOK_SECONDS)


async def _lives(
    desk: Desk, make: Callable[[], WatchApp], until: asyncio.Event
) -> None:
    failures = 0
    while not until.is_set():
        begun = time.monotonic()
        await _one_life(desk, make(), until)
        if until.is_set():
            return
        failures = 1 if time.monotonic() - begun > GRACE_SECONDS else failures + 1
        delay = min(MOST_BACK_OFF, 2.0**failures)
        log.warning("the tables' application ended; the next begins in %.0f s", delay)
        await pause(until, delay)


async def _one_life(desk: Desk, app: WatchApp, until: asyncio.Event) -> None:
    end = asyncio.Event()
    desk.begin_life(app)
    watching = asyncio.create_task(_end_when_due(desk, until, end))
    try:
        await app.run(end)
    except StreamError as error:
        log.warning("watch: %s", error)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _end_when_due(desk: Desk, until: asyncio.Event, end: asyncio.Event) -> None:
    begun = time.monotonic()
    while not end.is_set():
        await pause(until, 1.0)
        is_old = time.monotonic() - begun > GRACE_SECONDS
        if until.is_set() or (is_old and desk.is_stuck()):
            end.set()
