"""Ports for programs of this host's own."""

from __future__ import annotations

import random
import socket

FIRST, END = 20_000, 32_768
"""Below the ports that the system gives to outgoing connections (from 32768 on Linux):
one of those may be taken between the choice and its use, or while a broker restarts."""


def free_ports(count: int) -> list[int]:
    """Return ``count`` ports in a row on which nothing listens on loopback.

    Raises:
        OSError: There is no such row.
    """
    starts = range(FIRST, END - count, count)
    for start in random.sample(starts, len(starts)):
        ports = list(range(start, start + count))
        if all(is_free(port) for port in ports):
            return ports
    raise OSError(f"no {count} free ports in a row below {END}")


def is_free(port: int) -> bool:
    """Return whether nothing listens on a port of loopback."""
    with socket.socket() as server:
        # As servers do: a connection that has just ended is no obstacle.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
