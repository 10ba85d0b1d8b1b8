"""The page, its JSON and its server-sent events; only counts and codes are served.

One exception, in demo mode only: /api/notes serves invented notes before and after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from importlib import resources

import orjson
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from streams.operations.http_access import CHALLENGE, Access
from streams.operations.metrics.catalogue import new_registry

from . import runbook
from .dashboard import PARTS, Dashboard
from .demo_notes import DemoNotes
from .waiting import wait

EVENT_SECONDS = 1.0
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FILES: Mapping[str, tuple[str, str]] = {
    "/": ("index.html", "text/html"),
    "/watch.css": ("watch.css", "text/css"),
    "/watch.js": ("watch.js", "text/javascript"),
    "/theme.js": ("theme.js", "text/javascript"),
    "/charts.js": ("charts.js", "text/javascript"),
    "/flow.js": ("flow.js", "text/javascript"),
    "/dom.js": ("dom.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
"""Every file served, and its type."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Routes:
    """The routes.

    Args:
        dashboard: The figures.
        demo_notes: The demo's notes; None outside of the demo.
        until: Set when the server stops, so that event streams end.
        access: Who may see it.
        registry: The metrics of /metrics.
    """

    def __init__(
        self,
        dashboard: Dashboard,
        demo_notes: DemoNotes | None,
        until: asyncio.Event,
        access: Access,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._access = access
        self._registry = registry or new_registry()
        self._dashboard = dashboard
        self._demo_notes = demo_notes
        self._until = until

    def application(self) -> web.Application:
        """Return the application."""
        application = web.Application(middlewares=[_with_headers, self._checked])
        routes: dict[str, Handler] = {
            **dict.fromkeys(FILES, self._file),
            **{f"/api/{part}": self._part for part in PARTS},
            "/runbook": self._runbook,
            "/api/notes": self._notes,
            "/api/events": self._events,
            "/metrics": self._metrics,
            "/healthz": self._health,
            "/readyz": self._ready,
            "/status": self._status,
        }
        application.add_routes([web.get(path, each) for path, each in routes.items()])
        return application

    @web.middleware
    async def _checked(
        self, request: web.Request, handler: Handler
    ) -> web.StreamResponse:
        hosts = request.headers.getall("Host", [])
        name = request.transport and request.transport.get_extra_info("sockname")
        refused = self._access.refusal(
            request.path,
            hosts[0] if len(hosts) == 1 else "",
            request.headers.get("Authorization", ""),
            name[0] if name else "",
        )
        if refused is None:
            return await handler(request)
        status, reason = refused
        response = _json({"error": reason}, status=status)
        if status is HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = CHALLENGE
        return response

    async def _file(self, request: web.Request) -> web.Response:
        name, kind = FILES[request.path]
        file = resources.files(__package__) / "page" / name
        return _text(file.read_text("utf-8"), kind)

    async def _runbook(self, _request: web.Request) -> web.Response:
        return _text(runbook.page(), "text/html")

    async def _part(self, request: web.Request) -> web.Response:
        figures = self._dashboard.figures
        part = request.path.removeprefix("/api/")
        return _json(
            {"at": figures.get("at"), part: figures.get(part)},
            status=200 if part in figures else 503,
        )

    async def _notes(self, _request: web.Request) -> web.Response:
        if self._demo_notes is None:
            return _json({"error": "notes are shown in the demo only"}, status=403)
        return _json({"notes": self._demo_notes.json()})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", **HEADERS}
        )
        await response.prepare(request)
        try:
            while not self._until.is_set():
                data = orjson.dumps(self._dashboard.figures)
                await response.write(b"event: figures\ndata: " + data + b"\n\n")
                await wait(self._until, EVENT_SECONDS)
        except ConnectionError:
            return response  # the client has disconnected
        return response

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(self._registry),
            headers={"Content-Type": CONTENT_TYPE_LATEST},
        )

    async def _health(self, _request: web.Request) -> web.Response:
        return _json({"alive": True})

    async def _ready(self, _request: web.Request) -> web.Response:
        is_ready = self._dashboard.is_ready
        return _json({"ready": is_ready}, status=200 if is_ready else 503)

    async def _status(self, _request: web.Request) -> web.Response:
        return _json(self._dashboard.status() | {"demo": self._demo_notes is not None})


@web.middleware
async def _with_headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        response = await handler(request)
    except web.HTTPException as error:
        response = _json({"error": error.reason}, status=error.status)
    if not response.prepared:
        response.headers.update(HEADERS)
    return response


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(value), status=status, content_type="application/json"
    )


def _text(text: str, content_type: str) -> web.Response:
    return web.Response(text=text, content_type=content_type, charset="utf-8")
