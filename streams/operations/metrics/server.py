"""An HTTP server on a thread: /metrics, /healthz, /readyz, /status."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from socket import AF_INET6
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import orjson
from prometheus_client import CollectorRegistry, make_wsgi_app

from streams.engine.errors import ConfigError
from streams.operations.http_access import CHALLENGE, Access

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger(__name__)

READ_SECONDS = 10.0
"""Seconds after which a silent connection is closed."""

REACHED = "phistream.reached"
"""Of a request's environment: the address that the client connected to."""

Page = Callable[[], tuple[bool, object]]


class HealthSource(Protocol):
    """The health of a service."""

    def alive(self) -> tuple[bool, str]:
        """Return whether its loop is alive, and a line about it."""

    def ready(self) -> tuple[bool, str]:
        """Return whether it can do its work, and why not."""

    def status(self) -> dict[str, Any]:
        """Return everything as JSON: no PHI."""


@contextmanager
def serving(
    registry: CollectorRegistry,
    health: HealthSource,
    access: Access,
    host: str,
    port: int,
) -> Iterator[int]:
    """Serve on a thread until the end of the block; yield the port.

    Args:
        registry: The metrics.
        health: The answers of the other paths.
        access: Who may see them.
        host: The address to listen on.
        port: 0 for any free port.

    Raises:
        ConfigError: The address is not available.
    """
    server = _listen(host, port)
    server.set_app(application(registry, health, access))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    log.info("metrics at http://%s:%d/metrics", host, server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def application(
    registry: CollectorRegistry, health: HealthSource, access: Access
) -> WSGIApplication:
    """Return the WSGI application."""
    metrics: WSGIApplication = make_wsgi_app(registry)
    pages: dict[str, Page] = {
        "/healthz": health.alive,
        "/readyz": health.ready,
        "/status": lambda: (True, health.status()),
    }

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        refused = access.refusal(
            path,
            environ.get("HTTP_HOST", ""),
            environ.get("HTTP_AUTHORIZATION", ""),
            environ.get(REACHED, ""),
        )
        if refused is not None:
            return _answer(start_response, *refused)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _answer(start_response, HTTPStatus.METHOD_NOT_ALLOWED, "GET only")
        if path == "/metrics":
            return metrics(environ, start_response)
        if path not in pages:
            known = ", ".join(("/metrics", *pages))
            return _answer(start_response, HTTPStatus.NOT_FOUND, f"known: {known}")
        is_good, content = pages[path]()
        status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
        return _answer(start_response, status, content)

    return answer


def _answer(
    start_response: StartResponse, status: HTTPStatus, content: object
) -> Iterable[bytes]:
    is_text = isinstance(content, str)
    body = f"{content}\n".encode() if is_text else orjson.dumps(content)
    kind = "text/plain; charset=utf-8" if is_text else "application/json"
    headers = [
        ("Content-Type", kind),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
    ]
    if status is HTTPStatus.UNAUTHORIZED:
        headers.append(("WWW-Authenticate", CHALLENGE))
    start_response(f"{status.value} {status.phrase}", headers)
    return [body]


def _listen(host: str, port: int) -> _Server:
    kind = _Server6 if ":" in host else _Server
    try:
        return kind((host, port), _Quiet)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "no such port"
        raise ConfigError(
            f"metrics_port: can't listen on {host}:{port} ({why}); set metrics_port to "
            "a free one (slot n of a stage listens n higher; each stage on a host "
            "needs its own), or metrics_host to an address of this host"
        ) from None


class _Quiet(WSGIRequestHandler):
    """Log no requests: a probe comes every few seconds."""

    timeout = READ_SECONDS

    def get_environ(self) -> dict[str, Any]:
        return super().get_environ() | {REACHED: self.connection.getsockname()[0]}

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # HTTPServer's own method looks up the host name, which may take long.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "phistream", self.server_address[1]
        self.setup_environ()


class _Server6(_Server):
    address_family = AF_INET6
