"""Check of the port on which the services serve their metrics."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from urllib.error import URLError
from urllib.request import Request, urlopen

from streams.operations.http_access import own_authorization

from .context import CheckContext
from .finding import Finding, ok, warn

TIMEOUT_SECONDS = 2.0
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  # compared, not listened on


def metrics_ports(context: CheckContext) -> Iterator[Finding]:
    """Check that the first worker's port is free, or serves phistream's metrics."""
    settings = context.settings
    if not settings.metrics_port:
        yield ok("metrics_port 0: no metrics are served")
        return
    yield judge_port(
        settings.metrics_host,
        settings.metrics_port_of(settings.first_slot),
        is_free=is_free,
        is_phistream=partial(is_phistream, own_authorization(settings)),
    )


def judge_port(
    host: str,
    port: int,
    *,
    is_free: Callable[[str, int], bool],
    is_phistream: Callable[[str, int], bool],
) -> Finding:
    """Check that a service can serve there, or already does."""
    if is_free(host, port):
        return ok(f"{host}:{port} is free; slot n takes metrics_port + n")
    if is_phistream(host, port):
        return ok(f"{host}:{port} answers: a phistream service runs")
    return warn(
        f"{host}:{port} is in use by another program, or not available",
        "set metrics_host and metrics_port to a free address",
    )


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def is_phistream(headers: Mapping[str, str], host: str, port: int) -> bool:
    """Return whether phistream's metrics are served there.

    Args:
        headers: Sent to it, for its token.
        host: Its address.
        port: Its port.
    """
    # A server on any address also listens on loopback.
    where = "127.0.0.1" if host in ("", ANY_ADDRESS) else host
    where = f"[{where}]" if ":" in where else where
    url = f"http://{where}:{port}/metrics"
    try:
        request = Request(url, headers=dict(headers))
        with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310  # http
            return b"phistream_" in answer.read()
    except (URLError, OSError, ValueError):
        return False
