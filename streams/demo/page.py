"""``phistream demo --page``: the operations page under a steady feed."""

from __future__ import annotations

import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from rich.console import Console

from streams.engine.errors import ConfigError, FatalError
from streams.operations.doctor.ports import is_free
from streams.operations.settings import Settings
from streams.pipeline.files.feed import RawMessage, feed

from .services import Service, start_watch

READY_SECONDS = 120.0
HOST = "127.0.0.1"


def with_metrics(settings: Settings, workers: int, *, page: int) -> Settings:
    """Return settings under which intake and scrub serve metrics to watch.

    Intake, a single worker, listens on the first port, scrub on the others.

    Args:
        settings: Of the demo.
        workers: Of scrub.
        page: The page's port, not open yet.
    """
    first = _free_run(workers + 1, apart_from=page)
    addresses = (f"{HOST}:{first + n}" for n in range(workers + 1))
    changes = {"metrics_port": first, "watch_workers": ",".join(addresses)}
    return settings.model_copy(update=changes)


def require_free(port: int) -> None:
    """Refuse a port in use, before anything is started.

    Raises:
        ConfigError: It is taken.
    """
    if not is_free(HOST, port):
        raise ConfigError(f"port {port} is taken; choose another --port")


def keep_open(
    settings: Settings,
    running: list[Service],
    messages: Iterable[RawMessage],
    console: Console,
    *,
    port: int,
    rate: float,
) -> None:
    """Serve the page and feed messages until SIGINT or SIGTERM.

    Args:
        settings: Where the cluster is, with `with_metrics`.
        running: The other services; watch is added, to be stopped with them.
        messages: To feed; after the last one the page stays open.
        console: For the address of the page.
        port: Of the page.
        rate: Messages a second.

    Raises:
        FatalError: A service has ended.
    """
    with _stop_signal() as stop:
        running.insert(0, start_watch(settings, port=port))
        _wait_until_ready(running, stop, port)
        console.print(
            f"the page: http://{HOST}:{port}/  (Ctrl-C ends it)", highlight=False
        )
        feed(settings, _paced(messages, running, stop, rate))
        while not stop.wait(1.0):
            _check(running)
    console.print("stopping ...")


def _paced(
    messages: Iterable[RawMessage],
    running: list[Service],
    stop: threading.Event,
    rate: float,
) -> Iterator[RawMessage]:
    due = checked = time.monotonic()
    for message in messages:
        if stop.wait(max(0.0, due - time.monotonic())):
            return
        if time.monotonic() - checked > 1.0:
            _check(running)
            checked = time.monotonic()
        yield message
        # After a pause of the machine the feed resumes at its rate, without a burst.
        due = max(due + 1 / rate, time.monotonic() - 1.0)


@contextmanager
def _stop_signal() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set; ignore both during clean-up."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def _wait_until_ready(running: list[Service], stop: threading.Event, port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not stop.wait(0.3):
        _check(running)
        if _answers(f"http://{HOST}:{port}/readyz"):
            return
        if time.monotonic() > deadline:
            raise FatalError(
                f"the page is not ready after {READY_SECONDS:.0f} s: "
                f"read {running[0].log.name}"
            )


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310  # our own page
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _check(running: Iterable[Service]) -> None:
    for service in running:
        service.check()


def _free_run(count: int, *, apart_from: int) -> int:
    """Return the first of ``count`` consecutive free ports."""
    for first in chain(range(18080, 19000, count), range(28080, 60000, count)):
        ports = range(first, first + count)
        if apart_from not in ports and all(is_free(HOST, port) for port in ports):
            return first
    raise FatalError("no free ports on loopback")
