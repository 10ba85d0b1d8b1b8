"""Read how far the workers' tables are restored, from their own /status.

Only numbers, booleans and allowed values are taken from an answer; a worker is named by
its address in the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from streams.engine.errors import ConfigError
from streams.operations.counts import allowed_values as allowed

from .waiting import wait

PERIOD = 2.0
TIMEOUT = aiohttp.ClientTimeout(total=2)
MAX_BYTES = 64 * 1024


class Workers:
    """The status of each worker, polled.

    Args:
        addresses: ``host:port,...`` of the workers' metrics; empty for none.
        headers: Sent to them, for their tokens.

    Raises:
        ConfigError: An address is not a host and port.
    """

    def __init__(
        self, addresses: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self._addresses = _parsed(addresses)
        self._headers = dict(headers or {})
        self._rows: list[dict[str, Any]] = []

    def json(self) -> list[dict[str, Any]]:
        """Return the last answers, one row for each worker."""
        return self._rows

    async def follow(self, until: asyncio.Event) -> None:
        """Poll until the event is set."""
        if not self._addresses:
            return
        async with aiohttp.ClientSession(
            timeout=TIMEOUT, headers=self._headers
        ) as session:
            while not until.is_set():
                answers = (_row(session, address) for address in self._addresses)
                self._rows = list(await asyncio.gather(*answers))
                await wait(until, PERIOD)


def row_of(address: str, answer: object) -> dict[str, Any]:
    """Return the page's row for a worker's answer; None means no answer."""
    status = answer if isinstance(answer, dict) else {}
    stage = allowed.stage(status.get("stage"))
    parts = [part for part in status.get("table") or () if isinstance(part, dict)]
    return {
        "worker": f"{stage} at {address}" if status else address,
        "stage": stage,
        "partitions": _length(status.get("partitions")),
        "setup": _setup(status),
        "table": "patients",
        "reachable": bool(status),
        "ready": status.get("ready") is True,
        "records": sum(_natural(part.get("rows")) for part in parts),
        "remaining": sum(_natural(part.get("behind")) for part in parts),
    }


async def _row(session: aiohttp.ClientSession, address: str) -> dict[str, Any]:
    try:
        async with session.get(f"http://{address}/status") as response:
            if response.content_length and response.content_length > MAX_BYTES:
                return row_of(address, None)
            return row_of(address, await response.json(content_type=None))
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return row_of(address, None)


def _setup(status: Mapping[str, Any]) -> str:
    """Return preset, policy, version and model, for comparison between workers."""
    model = status.get("model")
    card = model if isinstance(model, dict) else {}
    return "/".join(
        (
            allowed.name(status.get("preset")),
            allowed.name(status.get("policy")),
            allowed.version(status.get("version")),
            allowed.name(card.get("model")),
            allowed.digest(card.get("sha256")),
        )
    )


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _natural(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _parsed(addresses: str) -> Sequence[str]:
    named = [each.strip() for each in addresses.split(",") if each.strip()]
    for each in named:
        host, colon, port = each.rpartition(":")
        if not (host and colon and port.isdigit()):
            raise ConfigError("watch_workers: not host:port,host:port")
    return named
