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
from functools import partial

from aiohttp import web
from prometheus_client import CollectorRegistry

from streams.cluster.reachable import wait_for_broker
from streams.cluster.topics import WATCH_TOPICS, require_topics
from streams.engine.errors import ConfigError, RetriableError, StreamError
from streams.engine.exit_status import status_of
from streams.engine.heartbeat import Heartbeat, Parent, Phase, Pulse
from streams.engine.log import set_up_logging
from streams.engine.settings import Settings

from ..metrics.lag import LagGauges
from ..metrics.registry import new_registry
from .app import READ, WatchApp, group_of
from .begin import begin_within_a_day
from .desk import Desk
from .examples import Examples
from .guard import Guard, silence
from .hand import Hand
from .lags import Lags
from .pause import pause
from .quiet import quieten
from .web import Site
from .workers import Workers

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
GRACE_SECONDS = 150.0
"""A life younger than this is not judged by its lag."""
MOST_BACK_OFF = 30.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is served."""

    host: str
    port: int


def guard(settings: Settings, address: Address, *, demo: bool) -> int:
    """Serve the page until SIGTERM or SIGINT, whatever becomes of its process.

    Args: as of `serve`.

    Returns:
        The exit status.
    """
    target = partial(work, settings, address, demo)
    return Guard(target, READ, partial(silence, settings)).run()


def work(
    settings: Settings,
    address: Address,
    demo: bool,  # by partial, which hands these to the new process
    heartbeat: Heartbeat,
    hand: Hand,
    parent: int,
) -> None:
    """Serve the page in this process; ends it with an exit status, as a worker's."""
    set_up_logging(settings.log_level)
    quieten(settings.log_level)
    pulse = Pulse(heartbeat, partial(silence, settings))
    guardian = Parent(parent)
    # At once: nothing is lost, and the port is free for who comes next.
    guardian.bind(signal.SIGKILL)

    def serving() -> None:
        serve(settings, address, pulse, lambda: guardian.is_gone, hand, demo=demo)

    raise SystemExit(status_of(serving))


def serve(
    settings: Settings,
    address: Address,
    pulse: Pulse,
    stop: Callable[[], bool],
    hand: Hand,
    *,
    demo: bool,
) -> None:
    """Serve the page until SIGTERM or SIGINT.

    Args:
        settings: Where the cluster is.
        address: Where the page is served.
        pulse: Shows that the loop is alive.
        stop: Whether to stop, asked once a second.
        hand: Shows which record is being read.
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
    pulse.enter(Phase.RUNNING)
    try:
        asyncio.run(
            _serve(
                settings,
                address,
                desk,
                examples,
                workers,
                registry,
                lambda: WatchApp(settings, time.time, hand),
                lambda: _turn(pulse, stop),
            )
        )
    finally:
        for helper in helpers:
            helper.stop()
        pulse.backstop.stop()
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
    make: Callable[[], WatchApp],
    stop: Callable[[], bool],
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
        asyncio.create_task(_look(desk, until, stop)),
        asyncio.create_task(workers.follow(until)),
    ]
    try:
        await _lives(desk, make, until)
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


def _turn(pulse: Pulse, stop: Callable[[], bool]) -> bool:
    """Show that the loop is alive; return whether to stop."""
    pulse.beat()
    return stop()


async def _look(desk: Desk, until: asyncio.Event, stop: Callable[[], bool]) -> None:
    while not until.is_set():
        if stop():
            until.set()
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
