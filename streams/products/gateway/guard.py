"""Middleware: host, origin, token and concurrency checks; access log and metrics.

Every answer passes here, also that of a bug: it gets the security headers, a line in
the access log (method, path template, status, size, time) and its metrics.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import orjson

from streams.operations.http_access import Hosts, Tokens
from streams.operations.settings import Settings

from .gateway_metrics import GatewayMetrics
from .settings import GatewaySettings
from .tasks import JSON, Code, Refused

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset(
    (
        *("/", "/healthz", "/readyz", "/docs", "/docs.css"),
        *("/openapi.json", "/v1/openapi.json"),
    )
)
"""Paths without data, which need no token."""
SLACK_SECONDS = 30.0
"""For the answer to be sent."""

HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HEADERS = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
_OF_TLS = (b"strict-transport-security", b"max-age=31536000")


@dataclass(slots=True)
class _Sent:
    """The status and size of an answer, as far as it was sent."""

    status: int = 0
    size: int = 0
    is_whole: bool = False


class Guard:
    """Checks host, origin, token, and the number of requests at a time.

    Args:
        app: The application.
        settings: Of the gateway.
        tokens: Of clients.
        hosts: Under which it is reached.
        metrics: Of the process.
    """

    def __init__(
        self,
        app: App,
        settings: Settings,
        tokens: Tokens,
        hosts: Hosts,
        metrics: GatewayMetrics,
    ) -> None:
        self._app = app
        self._tokens, self._hosts, self._metrics = tokens, hosts, metrics
        gateway = GatewaySettings.of(settings)
        self._free = gateway.requests
        self._seconds = SLACK_SECONDS + (
            gateway.body_seconds + gateway.wait_seconds + gateway.request_seconds
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return
        started = time.monotonic()
        self._metrics.begun()
        sent = _Sent()
        sending = _sending(sent, send, is_tls=scope["scheme"] == "https")
        client = ""
        try:
            client = self._checked(scope)
            async with asyncio.timeout(self._seconds):
                await self._limited(scope, receive, sending)
        except Refused as refused:
            self._metrics.refused(refused.code)
            await _refuse(refused, sending)
        except Exception:
            log.exception("a request failed")
            if not sent.status:
                await _refuse(Refused(Code.FAILED), sending)
            elif not sent.is_whole:
                # Only a broken connection tells the client that something is missing.
                raise
        finally:
            seconds = time.monotonic() - started
            route = _template(scope)
            self._metrics.ended(route, sent.status, client, seconds)
            log.info(
                "%s %s %d %d bytes %.0f ms",
                _method(scope),
                route or "(unknown path)",
                sent.status,
                sent.size,
                1000 * seconds,
            )

    def _checked(self, scope: Scope) -> str:
        """Return the name of the client.

        Raises:
            Refused: Host, origin or token are wrong.
        """
        headers = _singles(scope)
        reached = (scope.get("server") or ("",))[0]
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._hosts.allow(host, reached):
            raise Refused(Code.WRONG_HOST, "Host: not served; see allowed_hosts")
        origin = headers.get(b"origin")
        if origin is not None and not self._hosts.allow_origin(
            origin.decode("latin-1"), reached
        ):
            raise Refused(Code.FORBIDDEN, "Origin: other sites may not use this")
        client = self._tokens.client(headers.get(b"authorization", b""))
        if not client and scope["path"] not in OPEN:
            raise Refused(
                Code.UNAUTHORIZED, "Authorization: send Bearer and a token that is set"
            )
        return client

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, unless too many are being served."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if not self._free:
            raise Refused(Code.OVERLOADED, "too many requests at a time; try again")
        self._free -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._free += 1


def _sending(sent: _Sent, send: Send, *, is_tls: bool) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            sent.status = message["status"]
            extra = [_OF_TLS] if is_tls else []
            headers = [*message.get("headers", ()), *_HEADERS, *extra]
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            sent.size += len(message.get("body", b""))
            sent.is_whole = not message.get("more_body", False)
        await send(message)

    return sending


async def _refuse(refused: Refused, send: Send) -> None:
    body = orjson.dumps(refused.to_json())
    headers = {
        "Content-Type": JSON,
        "Content-Length": str(len(body)),
        **refused.headers,
    }
    encoded = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
    status = int(refused.status)
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _singles(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers; one that is sent twice counts as empty."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        found[name] = b"" if name in found else value
    return found


def _template(scope: Scope) -> str:
    """Return the path template of the route; never the path of the request."""
    return str(getattr(scope.get("route"), "path", ""))


def _method(scope: Scope) -> str:
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return scope["method"] if scope["method"] in known else "(other)"
