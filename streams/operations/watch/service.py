"""`phistream watch`: the page is served first, then one Faust application runs after
another.

An application that fails, or commits nothing while records wait, is stopped; the next
one continues from what was committed.  An outage of the broker ends no process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from streams.engine.errors import ConfigError, RetriableError, StreamError
from streams.engine.exit_status import status_of
from streams.engine.heartbeat import Heartbeat, Parent, Phase, Pulse
from streams.engine.log import set_up_logging
from streams.kafka.client import wait_for_broker
from streams.kafka.lag import PartitionLag
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import WATCH_TOPICS
from streams.operations.http_access import Access, own_authorization
from streams.operations.lag_poller import GroupMembers, LagPoller
from streams.operations.metrics.catalogue import new_registry
from streams.operations.metrics.lag_gauges import LagGauges
from streams.operations.settings import Settings

from .app import READ, WatchApp, group_of
from .dashboard import Dashboard
from .demo_notes import DemoNotes
from .guard import CurrentRecord, ProcessGuard, max_silence
from .lag_history import LagHistory, watched_groups
from .log_filter import filter_foreign_logs
from .start_offsets import skip_older_than_a_day
from .waiting import wait
from .web import Routes
from .workers import Workers

log = logging.getLogger(__name__)

UPDATE_SECONDS = 1.0
GRACE_SECONDS = 150.0
"""Age from which an application is judged by its lag."""
MAX_BACK_OFF = 30.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is served."""

    host: str
    port: int


def run_guarded(settings: Settings, address: Address, *, demo: bool) -> int:
    """Serve the page in a child process until SIGTERM or SIGINT; restart it.

    Args:
        settings: Connection settings.
        address: Where the page is served.
        demo: Show invented notes before and after; only with a broker started here.

    Returns:
        The exit status.
    """
    target = partial(run_child, settings, address, demo)
    return ProcessGuard(target, READ, partial(max_silence, settings)).run()


def run_child(
    settings: Settings,
    address: Address,
    demo: bool,  # bound by partial, which passes these to the child process
    heartbeat: Heartbeat,
    current: CurrentRecord,
    parent: int,
) -> None:
    """Serve the page in this process; exit with a status as a worker does."""
    set_up_logging(settings.log_level)
    filter_foreign_logs(settings.log_level)
    pulse = Pulse(heartbeat, partial(max_silence, settings))
    guardian = Parent(parent)
    # At once: nothing is lost, and the port is free for the next process.
    guardian.bind(signal.SIGKILL)

    def serve() -> None:
        demo_notes = DemoNotes(settings) if demo else None
        WatchService(settings, address, pulse, guardian, current, demo_notes).run()

    raise SystemExit(status_of(serve))


class WatchService:
    """The page and the applications behind it.

    Args:
        settings: Connection settings.
        address: Where the page is served.
        pulse: Sends heartbeats.
        parent: The process without which this one stops.
        current: The record being processed.
        demo_notes: Invented notes to show; None outside of the demo.

    Raises:
        BrokerUnreachable: No broker answered.
        ConfigError: Topics are missing, or a worker's address is wrong.
    """

    def __init__(
        self,
        settings: Settings,
        address: Address,
        pulse: Pulse,
        parent: Parent,
        current: CurrentRecord,
        demo_notes: DemoNotes | None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._pulse = pulse
        self._parent = parent
        self._current = current
        self._demo_notes = demo_notes
        self._registry = new_registry()
        self._gauges = LagGauges(self._registry)
        self._lags = LagHistory(time.time)
        self._members = GroupMembers(settings)
        self._access = Access.of(settings, address.host)
        self._workers = Workers(settings.watch_workers, own_authorization(settings))
        wait_for_broker(settings)
        counts = require_topics(settings, [*READ, *(t.name for t in WATCH_TOPICS)])
        self._dashboard = Dashboard(
            group_of(settings),
            sum(counts[topic] for topic in READ),
            self._lags,
            self._workers,
            time.time,
        )

    def run(self) -> None:
        """Serve the page until SIGTERM or SIGINT.

        Raises:
            ConfigError: The address is not available.
        """
        self._set_start_offsets()
        groups = watched_groups(self._settings)
        poller = LagPoller(self._settings, groups, self._take_lags, period=1.0)
        threads = [each for each in (poller, self._demo_notes) if each is not None]
        for thread in threads:
            thread.start()
        self._pulse.enter(Phase.RUNNING)
        try:
            asyncio.run(self._serve())
        finally:
            for thread in threads:
                thread.stop()
            self._pulse.backstop.stop()
        log.info("watch has stopped")

    def _set_start_offsets(self) -> None:
        """Retry: a cluster that has just started may refuse at first."""
        deadline = time.monotonic() + self._settings.broker_wait_seconds
        while True:
            try:
                skip_older_than_a_day(self._settings, group_of(self._settings), READ)
            except RetriableError as error:
                if time.monotonic() > deadline:
                    raise
                log.warning("%s; trying again", error)
                time.sleep(0.5)
            else:
                return

    def _take_lags(self, lags: Sequence[PartitionLag]) -> None:
        self._lags.add(lags, self._members.read())
        self._gauges.observe(lags)

    async def _serve(self) -> None:
        until = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, until.set)
        site = Routes(
            self._dashboard, self._demo_notes, until, self._access, self._registry
        )
        runner = web.AppRunner(site.application(), access_log=None, shutdown_timeout=2)
        await _listen(runner, self._address)
        tasks = [
            asyncio.create_task(self._update(until)),
            asyncio.create_task(self._workers.follow(until)),
        ]
        try:
            await self._run_applications(until)
        finally:
            until.set()
            await asyncio.gather(*tasks)
            await runner.cleanup()

    async def _update(self, until: asyncio.Event) -> None:
        while not until.is_set():
            self._pulse.beat()
            if self._parent.is_gone:
                until.set()
            self._dashboard.update()
            await wait(until, UPDATE_SECONDS)

    async def _run_applications(self, until: asyncio.Event) -> None:
        failures = 0
        while not until.is_set():
            began = time.monotonic()
            await self._run_application(until)
            if until.is_set():
                return
            failures = 1 if time.monotonic() - began > GRACE_SECONDS else failures + 1
            delay = min(MAX_BACK_OFF, 2.0**failures)
            log.warning("the Faust application ended; restarting in %.0f s", delay)
            await wait(until, delay)

    async def _run_application(self, until: asyncio.Event) -> None:
        app = WatchApp(self._settings, time.time, self._current)
        end = asyncio.Event()
        self._dashboard.use(app)
        monitor = asyncio.create_task(self._end_when_stuck(until, end))
        try:
            await app.run(end)
        except StreamError as error:
            log.warning("watch: %s", error)
        finally:
            monitor.cancel()
            await asyncio.gather(monitor, return_exceptions=True)

    async def _end_when_stuck(self, until: asyncio.Event, end: asyncio.Event) -> None:
        began = time.monotonic()
        while not end.is_set():
            await wait(until, 1.0)
            is_old = time.monotonic() - began > GRACE_SECONDS
            if until.is_set() or (is_old and self._dashboard.is_stuck()):
                end.set()


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
