"""The ports on which the services show their metrics."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from urllib.error import URLError
from urllib.request import urlopen

from .context import CheckContext
from .finding import Finding, ok, warn

ASK_SECONDS = 2.0
EVERYWHERE = "0.0.0.0"  # noqa: S104  # compared, not listened on


def metrics_ports(context: CheckContext) -> Iterator[Finding]:
    """Look whether the first worker's port is free, or answers as ours does."""
    settings = context.settings
    if not settings.metrics_port:
        yield ok("metrics_port 0: no metrics are served")
        return
    yield judge_port(
        settings.metrics_host,
        settings.metrics_port + settings.first_slot,
        is_free=is_free,
        is_ours=is_ours,
    )


def judge_port(
    host: str,
    port: int,
    *,
    is_free: Callable[[str, int], bool],
    is_ours: Callable[[str, int], bool],
) -> Finding:
    """Return whether a service can serve there, or does already."""
    if is_free(host, port):
        return ok(f"{host}:{port} is free; slot n takes metrics_port + n")
    if is_ours(host, port):
        return ok(f"{host}:{port} answers: a service of ours runs")
    return warn(
        f"{host}:{port} is taken by another program, or can't be listened on",
        "set metrics_host and metrics_port to what is free",
    )


def is_free(host: str, port: int) -> bool:
    """Return whether we could listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            ours.bind((host, port))
        except OSError:
            return False
    return True


def is_ours(host: str, port: int) -> bool:
    """Return whether metrics of phistream are served there."""
    # What listens everywhere listens here.
    where = "127.0.0.1" if host in ("", EVERYWHERE) else host
    where = f"[{where}]" if ":" in where else where
    url = f"http://{where}:{port}/metrics"
    try:
        with urlopen(url, timeout=ASK_SECONDS) as answer:
            return b"phistream_" in answer.read()
    except (URLError, OSError, ValueError):
        return False
