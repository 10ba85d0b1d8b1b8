"""The picture, read from a running watch: its windows outlive any terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import orjson

from streams.cluster.lag import PartitionLag
from streams.cluster.lag_status import LagState
from streams.engine.errors import ConfigError, RetriableError

from ..watch import words
from .snapshot import EDGES, Latency, Picture, Refused, printable

ASK_SECONDS = 5.0
MOST_BYTES = 16 * 1024 * 1024


class Watch:
    """Asks the JSON of watch's page.

    Args:
        url: Where watch is served, e.g. ``http://127.0.0.1:8080``.
        get: Returns what stands at an address; for tests.

    Raises:
        ConfigError: It is not an address of the web.
    """

    def __init__(self, url: str, get: Callable[[str], bytes] | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigError("--watch: not an address; for example http://HOST:8080")
        self._url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._get = get or _get

    def read(self) -> Picture:
        """Return the picture of this moment.

        Raises:
            RetriableError: Watch did not answer, or not as watch does.
        """
        names = ("flow", "lag", "latency", "dead-letters")
        parts = {name: self._part(name) for name in names}
        try:
            return self._picture(parts)
        except (KeyError, TypeError, ValueError):
            raise RetriableError(f"{self._url}: not the JSON of watch") from None

    def close(self) -> None:
        """Nothing is held between questions."""

    def _part(self, name: str) -> Mapping[str, Any]:
        try:
            told = orjson.loads(self._get(f"{self._url}/api/{name}"))
            part: Mapping[str, Any] = told | told[name]
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", "") or type(error).__name__
            raise RetriableError(f"{self._url}: no answer ({why})") from None
        except (KeyError, TypeError, ValueError):
            raise RetriableError(f"{self._url}: not the JSON of watch") from None
        return part

    def _picture(self, parts: Mapping[str, Mapping[str, Any]]) -> Picture:
        flow, hour = parts["flow"], parts["dead-letters"]["hour"]
        told = {
            (each["from"], each["to"]): float(each["rate"]) for each in flow["edges"]
        }
        return Picture(
            at=float(flow["at"]),
            source=self._url,
            rates={edge: told[edge] for edge in EDGES},
            rate_seconds=10.0,
            arriving=_number(flow["arriving"]),
            lags=tuple(_lag(e) for e in parts["lag"]["partitions"] if not e.get("own")),
            is_judged=True,
            refused=tuple(map(_refused, hour["rows"])),
            latency=_latency(parts["latency"]["minute"]["scrub"]),
        )


def _lag(row: Mapping[str, Any]) -> PartitionLag:
    return PartitionLag(
        printable(row["group"]),
        printable(row["topic"]),
        int(row["partition"]),
        int(row["committed"]),
        int(row["stable"]),
        int(row["records"]),
        _number(row["seconds"]),
        LagState(row["state"]),
    )


def _refused(row: Mapping[str, Any]) -> Refused:
    return Refused(
        words.stage(row["stage"]), words.code(row["code"]), int(row["count"])
    )


def _latency(row: Mapping[str, Any]) -> Latency | None:
    if row["p50"] is None:
        return None
    return Latency(*(_number(row[name]) for name in ("p50", "p90", "p99")))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _get(url: str) -> bytes:
    with urlopen(url, timeout=ASK_SECONDS) as answer:  # noqa: S310  # http(s) was checked
        content: bytes = answer.read(MOST_BYTES)
    return content
