"""The listener as a service: TLS, health, metrics, and a graceful end."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from streams.engine.errors import ConfigError
from streams.engine.heartbeat import Backstop
from streams.kafka.client import wait_for_broker
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import HL7_RAW
from streams.operations.http_access import Access, is_loopback
from streams.operations.metrics.catalogue import new_registry
from streams.operations.metrics.server import serving
from streams.operations.settings import Settings

from .listener import Listener
from .metrics import ListenerHealth, ListenerMetrics
from .publisher import KafkaPublisher
from .settings import MllpSettings

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
CHECK_SECONDS = 5.0
OTHER_FILES = 256
"""Files and sockets besides the connections."""


def run(settings: Settings) -> None:
    """Listen until SIGTERM or SIGINT; messages in flight are still answered.

    Raises:
        FatalError: The service can't go on.
    """
    mllp = MllpSettings.of(settings)
    tls = server_tls(mllp)
    _allow_files(mllp.max_connections + OTHER_FILES)
    wait_for_broker(settings)
    require_topics(settings, [HL7_RAW.name])
    asyncio.run(_Service(settings, tls).run())


def server_tls(settings: MllpSettings) -> ssl.SSLContext | None:
    """Return the server's side of TLS, or None if no certificate is set.

    Raises:
        ConfigError: A file can't be read, or does not hold what it should.
    """
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with _named("mllp.tls_certificate, mllp.tls_key"):
        context.load_cert_chain(
            settings.tls_certificate, settings.tls_key, _no_password
        )
    if settings.tls_client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        with _named("mllp.tls_client_ca"):
            context.load_verify_locations(settings.tls_client_ca)
    return context


def _no_password() -> str:
    """Refuse an encrypted key, for which OpenSSL would ask on the terminal."""
    raise ConfigError("mllp.tls_key: is encrypted; name one without a password")


@contextmanager
def _named(keys: str) -> Iterator[None]:
    """Name the settings whose files can't be used."""
    try:
        yield
    except OSError as error:
        why = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigError(f"{keys}: can't be used ({why}); name files in PEM") from None


def _allow_files(count: int) -> None:
    """Allow this process so many open files.

    Raises:
        ConfigError: The system allows fewer.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            raise ConfigError(
                f"mllp.max_connections: needs {count} open files and the system allows "
                f"{hard}; lower it, or raise the limit (ulimit -n)"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class _Service:
    """A listener with its metrics and health."""

    def __init__(self, settings: Settings, tls: ssl.SSLContext | None) -> None:
        self._settings = settings
        self._tls = tls
        self._registry = new_registry()
        self._metrics = ListenerMetrics(self._registry)
        self._beat_at = time.monotonic()
        self._health = ListenerHealth(
            self._metrics,
            lambda: time.monotonic() - self._beat_at,
            settings.watchdog_seconds,
        )
        self._backstop = Backstop()

    async def run(self) -> None:
        """Listen until a signal."""
        settings, loop = self._settings, asyncio.get_running_loop()
        loop.set_exception_handler(_log_without_values)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        publisher = KafkaPublisher(settings, loop)
        mllp = MllpSettings.of(settings)
        listener = Listener(
            mllp,
            publisher.publish,
            self._metrics,
            self._tls,
            lambda: datetime.now(UTC),
            settings.charset,
        )
        with self._serving():
            await listener.start()
            _warn_of_plain_text(mllp)
            tasks = [
                asyncio.create_task(self._beat()),
                asyncio.create_task(self._check(publisher)),
            ]
            await stop.wait()
            tasks[1].cancel()
            self._health.judge("stopping")
            await listener.stop()
            tasks[0].cancel()
            await asyncio.to_thread(publisher.close)
        self._backstop.stop()
        log.info("the MLLP listener has drained")

    @contextmanager
    def _serving(self) -> Iterator[None]:
        settings = self._settings
        if not settings.metrics_port:
            yield
            return
        host, port = settings.metrics_host, settings.metrics_port
        access = Access.of(settings, host)
        with serving(self._registry, self._health, access, host, port):
            yield

    async def _beat(self) -> None:
        """Show that the event loop is alive; if it hangs, the process is ended."""
        while True:
            self._beat_at = time.monotonic()
            self._backstop.postpone(self._settings.watchdog_seconds)
            await asyncio.sleep(BEAT_SECONDS)

    async def _check(self, publisher: KafkaPublisher) -> None:
        while True:
            is_reachable = await publisher.is_reachable()
            self._health.judge("" if is_reachable else "Kafka does not answer")
            await asyncio.sleep(CHECK_SECONDS)


def _warn_of_plain_text(settings: MllpSettings) -> None:
    if settings.tls_certificate is None and not is_loopback(settings.host):
        log.warning("mllp.tls_certificate: not set; messages arrive in plain text")


def _log_without_values(
    _loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    """Log an error of the loop by its class: all else may hold values."""
    error = context.get("exception")
    name = type(error).__name__ if error is not None else "no exception"
    log.warning("event loop: %s", name)
