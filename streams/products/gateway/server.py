"""Runs the gateway: the HTTP server, its limits of connections, and its end."""

from __future__ import annotations

import asyncio
import logging
import resource
import secrets
import signal
import socket
import ssl
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from streams.engine.errors import ConfigError, FatalError
from streams.engine.exit_status import EX_CONFIG
from streams.operations.http_access import Hosts, Tokens, is_loopback
from streams.operations.settings import Settings

from .app import ENDPOINTS, application
from .gateway_metrics import GatewayMetrics
from .guard import OPEN, Guard
from .pool import Pool
from .settings import GatewaySettings

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 512
MAX_IDLE = 128
"""Connections of one address that wait for a request."""
HEADER_SECONDS = 10.0
"""Time in which the head of a request must come."""
IDLE_SECONDS = 5
MAX_HEADER_BYTES = 16 * 1024
DRAIN_SECONDS = 60


class Protocol(H11Protocol):
    """HTTP/1.1 with limits that uvicorn lacks: of connections, and of slow headers.

    Of too many idle connections of an address, the oldest is closed.
    """

    _slow: asyncio.TimerHandle | None = None
    since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, or refuse a connection too many."""
        super().connection_made(transport)
        # Those that were aborted are still there until the loop has gone round.
        others = [
            each
            for each in self.connections
            if isinstance(each, Protocol) and not each.transport.is_closing()
        ]
        if len(others) > MAX_CONNECTIONS:
            transport.abort()
            return
        self.since = self.loop.time()
        self._wait()
        idle = [each for each in others if each.is_idle_at(self.address)]
        if len(idle) > MAX_IDLE:
            min(idle, key=lambda each: each.since).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take data; the time of a head begins with its first byte."""
        super().data_received(data)
        self.since = self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def is_idle_at(self, address: str) -> bool:
        """Return whether a connection of an address waits for a request."""
        is_waiting = self.cycle is None or self.cycle.response_complete
        return is_waiting and self.address == address

    @property
    def address(self) -> str:
        """The client's."""
        return self.client[0] if self.client else ""

    def _wait(self) -> None:
        if self._slow is None:
            self._slow = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None


def serve(settings: Settings, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT; requests that were begun are answered.

    Args:
        settings: Of the gateway.
        host: The address to listen on.
        port: The port to listen on.
        workers: Processes that scrub.

    Raises:
        ConfigError: A setting is wrong; nothing was served.
        FatalError: The workers can't be kept running.
    """
    # A core dump would hold notes.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gateway = GatewaySettings.of(settings)
    tokens = Tokens.of(gateway.tokens, gateway.tokens_file, "gateway.tokens")
    require_tokens(tokens, host)
    hosts = Hosts.of(settings, host)
    tls = _tls(gateway)
    if settings.has_pseudonym_key:
        settings.pseudonym_key()
    else:
        log.warning(
            "pseudonym_key_file is not set: pseudonyms hold until this process ends"
        )
    with _listening(host, port) as listening:
        asyncio.run(_serve(settings, listening, tokens, hosts, tls, workers))


def require_tokens(tokens: Tokens, address: str) -> None:
    """Refuse to listen without tokens where others may connect.

    Raises:
        ConfigError: There is no token, and the address is none of the loopback.
    """
    if not tokens.digests and not is_loopback(address):
        raise ConfigError(
            "gateway.tokens: not set; without tokens only loopback addresses are "
            "served: set gateway.tokens_file, or leave out --host"
        )


async def _serve(
    settings: Settings,
    listening: socket.socket,
    tokens: Tokens,
    hosts: Hosts,
    tls: ssl.SSLContext | None,
    workers: int,
) -> None:
    metrics = GatewayMetrics([*(each.path for each in ENDPOINTS), *OPEN, "/metrics"])
    pool = Pool(settings, workers, secrets.token_bytes(32), metrics.lost)
    app = application(settings, pool.answer, lambda: pool.is_ready, metrics)
    config = uvicorn.Config(
        Guard(app, settings, tokens, hosts, metrics),
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    config.load()
    config.ssl = tls
    server = uvicorn.Server(config)
    # uvicorn handles the signals, and raises them again when it has ended.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, _ignore)
    watching = asyncio.create_task(pool.run())
    watching.add_done_callback(lambda _done: setattr(server, "should_exit", True))
    scheme = "https" if tls else "http"
    address, port = listening.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    log.info("gateway at %s://%s:%d/docs", scheme, shown, port)
    try:
        await server.serve(sockets=[listening])
        if watching.done():
            _fail(watching.result())
    finally:
        watching.cancel()
        pool.stop()
    log.info("the gateway has drained")


def _fail(status: int) -> None:
    """Raise what the nursery's exit status means; it has logged why."""
    if status == EX_CONFIG:
        raise ConfigError("the workers refused their settings; see above")
    raise FatalError(f"the process that starts workers has ended ({status})")


def _ignore(_signal: int, _frame: FrameType | None) -> None:
    """Do nothing: the server has seen the signal."""


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "no such port"
        raise ConfigError(
            f"--host, --port: can't listen on {host}:{port} ({why})"
        ) from None


def _tls(settings: GatewaySettings) -> ssl.SSLContext | None:
    chain, key = settings.certificate, settings.certificate_key
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise ConfigError(
            "gateway.certificate, gateway.certificate_key: set both, or none"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # An encrypted key would ask for its password on the terminal.
        context.load_cert_chain(chain, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            "gateway.certificate, gateway.certificate_key: can't be read "
            f"({error.strerror or type(error).__name__}); give PEM files, the key "
            "without a password"
        ) from None
    return context
