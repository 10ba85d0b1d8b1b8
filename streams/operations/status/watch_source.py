"""Snapshots from a running watch: its windows are longer than a terminal session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import orjson

from streams.cluster.lag import LagState, PartitionLag
from streams.engine.errors import ConfigError, RetriableError

from ..counts import allowed_values as allowed
from ..counts.figures import LIVE_SECONDS, QUANTILES
from .snapshot import EDGES, Latency, Refused, Snapshot, printable

TIMEOUT_SECONDS = 5.0
MAX_BYTES = 16 * 1024 * 1024


class WatchSource:
    """Reads the JSON of watch's page.

    Args:
        url: The address of watch, e.g. ``http://127.0.0.1:8080``.
        get: Returns the content of a URL; for tests.
        headers: Sent to the page, for its token.

    Raises:
        ConfigError: It is not an HTTP address.
    """

    def __init__(
        self,
        url: str,
        get: Callable[[str], bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigError("--watch: not an address; for example http://HOST:8080")
        self._url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._get = get or partial(_get, headers or {})

    def read(self) -> Snapshot:
        """Return a snapshot.

        Raises:
            RetriableError: Watch did not answer, or the answer is not that of watch.
        """
        names = ("flow", "lag", "latency", "dead-letters")
        try:
            return self._snapshot({name: self._part(name) for name in names})
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", "") or type(error).__name__
            raise RetriableError(f"{self._url}: no answer ({why})") from None
        except (KeyError, TypeError, ValueError):
            raise RetriableError(f"{self._url}: not the JSON of watch") from None

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _part(self, name: str) -> Mapping[str, Any]:
        answer = orjson.loads(self._get(f"{self._url}/api/{name}"))
        part: Mapping[str, Any] = answer | answer[name]
        return part

    def _snapshot(self, parts: Mapping[str, Mapping[str, Any]]) -> Snapshot:
        flow, hour = parts["flow"], parts["dead-letters"]["hour"]
        rates = {
            (each["from"], each["to"]): float(each["rate"]) for each in flow["edges"]
        }
        return Snapshot(
            at=float(flow["at"]),
            source=self._url,
            rates={edge: rates[edge] for edge in EDGES},
            rate_seconds=float(LIVE_SECONDS),
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
    stage, code = allowed.stage(row["stage"]), allowed.code(row["code"])
    return Refused(stage, code, int(row["count"]))


def _latency(row: Mapping[str, Any]) -> Latency | None:
    if row["p50"] is None:
        return None
    return Latency(*(_number(row[name]) for name in QUANTILES))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _get(headers: Mapping[str, str], url: str) -> bytes:
    request = Request(url, headers=dict(headers))  # noqa: S310  # http(s) was checked
    with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310  # likewise
        content: bytes = answer.read(MAX_BYTES)
    return content
