"""How far the workers' tables are restored, as their own /status tells.

Only numbers and a yes or no are taken from an answer; a worker is named by its address
in the settings.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from streams.engine.errors import ConfigError

from . import words
from .pause import pause

log = logging.getLogger(__name__)

PERIOD = 2.0
TIMEOUT = aiohttp.ClientTimeout(total=2)
MOST_BYTES = 64 * 1024


class Workers:
    """Asks each worker, again and again.

    Args:
        addresses: ``host:port,...`` of the workers' metrics; empty for none.

    Raises:
        ConfigError: One is no host and port.
    """

    def __init__(self, addresses: str) -> None:
        self._addresses = _parsed(addresses)
        self._rows: list[dict[str, Any]] = []

    def json(self) -> list[dict[str, Any]]:
        """Return the last answers, a row a worker."""
        return self._rows

    async def follow(self, until: asyncio.Event) -> None:
        """Ask until the event is set."""
        if not self._addresses:
            return
        async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
            while not until.is_set():
                asked = (_ask(session, address) for address in self._addresses)
                self._rows = list(await asyncio.gather(*asked))
                await pause(until, PERIOD)


def row_of(address: str, answer: object) -> dict[str, Any]:
    """Return what the page shows of a worker's answer; of None, that there was none."""
    told = answer if isinstance(answer, dict) else {}
    parts = told.get("table")
    parts = [part for part in parts or () if isinstance(part, dict)]
    return {
        "worker": f"{words.stage(told.get('stage'))} at {address}" if told else address,
        "stage": words.stage(told.get("stage")),
        "partitions": _length(told.get("partitions")),
        "setup": _setup(told),
        "table": "patients",
        "reachable": bool(told),
        "ready": told.get("ready") is True,
        "records": sum(_number(part.get("rows")) for part in parts),
        "remaining": sum(_number(part.get("behind")) for part in parts),
    }


async def _ask(session: aiohttp.ClientSession, address: str) -> dict[str, Any]:
    try:
        async with session.get(f"http://{address}/status") as response:
            if response.content_length and response.content_length > MOST_BYTES:
                return row_of(address, None)
            return row_of(address, await response.json(content_type=None))
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return row_of(address, None)


def _setup(told: Mapping[str, Any]) -> str:
    """Return what a worker runs, so that two can be compared."""
    model = told.get("model")
    card = model if isinstance(model, dict) else {}
    return "/".join(
        (
            words.name(told.get("preset")),
            words.name(told.get("policy")),
            words.version(told.get("version")),
            words.name(card.get("model")),
            words.digest(card.get("sha256")),
        )
    )


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _parsed(addresses: str) -> Sequence[str]:
    named = [each.strip() for each in addresses.split(",") if each.strip()]
    for each in named:
        host, colon, port = each.rpartition(":")
        if not (host and colon and port.isdigit()):
            raise ConfigError("watch_workers: not host:port,host:port")
    return named
