"""The paths of the gateway and their description (OpenAPI).

FastAPI routes and describes; bodies are read here as bytes, with limits, and nothing
of the framework parses, validates or repeats them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any, Literal

import orjson
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from schemas import FOLDER
from streams.engine.reasons import ReasonCode
from streams.kafka.topics import HL7_RAW
from streams.operations.settings import Settings

from . import models
from .docs_page import page, style
from .gateway_metrics import CONTENT_TYPE, GatewayMetrics
from .settings import GatewaySettings
from .tasks import ACCEPTED, FHIR, HL7, JSON, NDJSON, Answer, Code, Kind, Refused, Task

Scrub = Callable[[Task], Awaitable[Answer]]
IsReady = Callable[[], bool]
Json = Mapping[str, Any]

DESCRIPTION = """Notes, messages and documents in; the same without identifiers out.
Nothing is stored. Offsets are code points. Send `Authorization: Bearer TOKEN` where
tokens are set. Bodies may not be compressed. An error is
`{"error": {"code", "reason"}}`, and its reason names a field, never a value."""
SHORT_NOTE: Json = {
    "id": "N-1",
    "text": "Ms. Quellwright was seen on 3/14/2024; call (312) 555-0147.",
    "patient_id": "48291",
    "patient": {"names": [{"family": "Quellwright", "given": "Mabelle"}]},
}
ERRORS: Mapping[int, str] = {
    401: "No token, or an unknown one.",
    403: "Sent by a page of another site.",
    408: "The body did not arrive in time.",
    413: "The body, a note or a document is too large.",
    415: "The content type is not accepted, not that of the content, or its format "
    "can't be written back in this version; or the body is compressed.",
    421: "The header Host names another host.",
    422: "It can't be read, or a value of the patient's record survived (residue).",
    500: "The service failed; the answer holds the code alone.",
    503: "Too many requests, or it took too long (deadline).",
}
NO_TELEMETRY: Any = {
    # It would record messages of exceptions, and the original values of errors.
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path that scrubs.

    Args:
        kind: What is sent.
        summary: Its title.
        description: What it does.
        model: Of the answer.
        also: Media types that may be asked for besides JSON.
    """

    kind: Kind
    summary: str
    description: str
    model: type[Any]
    also: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path."""
        return f"/v1/{self.kind}"


_REBUILT = (
    " The answer holds a message for each patient that it names, and its notes. With "
    "an Accept of its own media type alone, the answer is the bare message, if it is "
    "one."
)
ENDPOINTS = (
    Endpoint(
        Kind.NOTE,
        "Scrub a note",
        "One JSON note event, in full (note_event/v1) or short form. With note_id=sent "
        "the answer gives back the id as it was sent, which may identify the patient; "
        "else its pseudonym.",
        models.Note,
    ),
    Endpoint(
        Kind.BATCH,
        "Scrub several notes",
        "A JSON array of note events, or one a line. A note is joined with what it and "
        "the notes before it say of its patient. Notes share one limit of CPU time.",
        models.Batch,
        (NDJSON,),
    ),
    Endpoint(
        Kind.HL7,
        "Rebuild an HL7 v2 message",
        f"A message, or a batch of them.{_REBUILT}",
        models.Messages,
        (HL7,),
    ),
    Endpoint(
        Kind.FHIR,
        "Rebuild a FHIR R4 resource",
        f"A resource in JSON.{_REBUILT}",
        models.Messages,
        (FHIR,),
    ),
    Endpoint(
        Kind.CCDA,
        "Rebuild a C-CDA document",
        f"A ClinicalDocument.{_REBUILT}",
        models.Messages,
        ("application/xml",),
    ),
    Endpoint(
        Kind.DOCUMENT,
        "Rebuild a document",
        "Text, RTF, HTML, or a PDF with a text layer, which becomes text. With an "
        "Accept of the document's media type alone, the answer is the bare document. "
        "Patients can't be named here: post the text to /v1/notes for that.",
        models.RebuiltDocument,
        ACCEPTED[Kind.DOCUMENT][:3],
    ),
)


class Bodies:
    """Reads bodies within limits.

    Args:
        settings: Of the gateway.
    """

    def __init__(self, settings: Settings) -> None:
        self._seconds = GatewaySettings.of(settings).body_seconds
        self._max = {
            each: settings.max_note_bytes
            if each is Kind.NOTE
            else settings.max_message_bytes
            for each in Kind
        }

    async def read(self, kind: Kind, request: Request) -> bytes:
        """Return the body of a request.

        Raises:
            Refused: It is compressed, too large, or too slow.
        """
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refused(
                ReasonCode.UNSUPPORTED, "Content-Encoding: send it uncompressed"
            )
        limit = self._max[kind]
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > limit:
            raise _too_large(limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > limit:
                        raise _too_large(limit)
        except TimeoutError:
            reason = f"the body did not arrive within {self._seconds:g} seconds"
            raise Refused(Code.SLOW_BODY, reason) from None
        except ClientDisconnect:
            raise Refused(Code.SLOW_BODY, "the client closed the connection") from None
        return bytes(body)


def application(
    settings: Settings, scrub: Scrub, is_ready: IsReady, metrics: GatewayMetrics
) -> FastAPI:
    """Return the application, to be served behind a `Guard`.

    Args:
        settings: Of the gateway.
        scrub: Returns the answer to a request.
        is_ready: Whether requests can be answered.
        metrics: Of the process.
    """
    app = FastAPI(
        title="phistream gateway",
        version=metadata.version("phistream"),
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    bodies = Bodies(settings)
    for endpoint in ENDPOINTS:
        app.add_api_route(
            endpoint.path,
            _handler(endpoint.kind, bodies, scrub, metrics),
            methods=["POST"],
            operation_id=endpoint.kind.name.lower(),
            summary=endpoint.summary,
            description=endpoint.description,
            response_model=endpoint.model,
            responses=_responses(endpoint),
            openapi_extra={
                "requestBody": _request_body(endpoint.kind),
                "security": [{"bearer": []}],
            },
        )
    _add_pages(app, is_ready, metrics)
    _add_redirects(app)
    _add_errors(app, metrics)
    return app


def _handler(
    kind: Kind, bodies: Bodies, scrub: Scrub, metrics: GatewayMetrics
) -> Callable[..., Awaitable[Response]]:
    async def answered(request: Request, *, keeps_note_id: bool = False) -> Response:
        body = await bodies.read(kind, request)
        answer = await scrub(
            Task(
                kind,
                request.headers.get("content-type", ""),
                body,
                request.headers.get("accept", ""),
                keeps_note_id,
            )
        )
        metrics.count(answer.counts)
        return Response(answer.body, answer.status, {"Content-Type": answer.media_type})

    async def handle(request: Request) -> Response:
        return await answered(request)

    async def handle_notes(
        request: Request,
        note_id: Literal["pseudonym", "sent"] = Query(
            "pseudonym", description="How the ids of notes are given back."
        ),
    ) -> Response:
        return await answered(request, keeps_note_id=note_id == "sent")

    return handle_notes if kind in (Kind.NOTE, Kind.BATCH) else handle


def _add_pages(app: FastAPI, is_ready: IsReady, metrics: GatewayMetrics) -> None:
    @app.get("/healthz", summary="Whether the process is alive")
    async def healthz() -> models.Health:
        return models.Health(ok=True)

    @app.get(
        "/readyz",
        summary="Whether requests can be answered",
        responses={503: {"model": models.Health, "description": "Not yet."}},
    )
    async def readyz(response: Response) -> models.Health:
        response.status_code = 200 if is_ready() else 503
        return models.Health(ok=is_ready())

    @app.get(
        "/metrics", summary="Metrics for Prometheus", response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, 401: _error(401)},
        openapi_extra={"security": [{"bearer": []}]},
    )  # fmt: skip
    async def prometheus() -> Response:
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(orjson.dumps(description_of(app)), media_type=JSON)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(page(description_of(app)), media_type="text/html")

    @app.get("/docs.css", include_in_schema=False)
    async def css() -> Response:
        return Response(style(), media_type="text/css")


def _add_redirects(app: FastAPI) -> None:
    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return RedirectResponse("/v1/openapi.json")

    @app.get("/", include_in_schema=False)
    async def root() -> Response:
        return RedirectResponse("/docs")


def description_of(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once for an application."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        components = made["components"]
        components["schemas"] = {
            # FastAPI's own, for bodies that it would validate.
            name: each
            for name, each in {**components["schemas"], **_note_schemas()}.items()
            if name not in ("HTTPValidationError", "ValidationError")
        }
        components["securitySchemes"] = {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of gateway.tokens or gateway.tokens_file.",
            }
        }
        app.openapi_schema = made
    return app.openapi_schema


def _responses(endpoint: Endpoint) -> dict[int | str, dict[str, Any]]:
    also = {each: {"schema": {"type": "string"}} for each in endpoint.also}
    errors: dict[int | str, dict[str, Any]] = {each: _error(each) for each in ERRORS}
    if endpoint.also and endpoint.kind is not Kind.BATCH:
        errors[406] = {
            "model": models.Refusal,
            "description": "A bare message is asked for, and there are several.",
        }
    return {200: {"content": also, "description": "Scrubbed."}, **errors}


def _error(status: int) -> dict[str, Any]:
    return {"model": models.Refusal, "description": ERRORS[status]}


def _request_body(kind: Kind) -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/NoteEvent"}
    short = {"$ref": "#/components/schemas/ShortNote"}
    note = {"anyOf": [reference, short]}
    text = {"schema": {"type": "string"}}
    content: dict[str, Any] = {each: text for each in ACCEPTED[kind]}
    if kind is Kind.NOTE:
        content = {JSON: {"schema": note, "examples": _note_examples()}}
    elif kind is Kind.BATCH:
        examples = {"batch": {"value": [SHORT_NOTE]}}
        array = {"type": "array", "items": note}
        content = {JSON: {"schema": array, "examples": examples}, NDJSON: text}
    elif kind is Kind.FHIR:
        content = {each: {"schema": {"type": "object"}} for each in ACCEPTED[kind]}
    return {"required": True, "content": content}


def _note_examples() -> dict[str, Any]:
    folder = FOLDER.joinpath(HL7_RAW.schema.kind, "examples", "valid")
    found = {
        each.name.removesuffix(".json"): {"value": orjson.loads(each.read_bytes())}
        for each in sorted(folder.iterdir(), key=lambda file: file.name)
    }
    return {"short": {"value": SHORT_NOTE}, **found}


@cache
def _note_schemas() -> dict[str, Any]:
    """Return the schemas of note events, whose definitions become components."""
    definition = _placed(HL7_RAW.schema.definition())
    definitions = definition.pop("definitions", {})
    for name in ("$schema", "$id"):
        definition.pop(name, None)
    demographics = definition["properties"]["demographics"]
    short = {
        "type": "object",
        "description": "The short form, as phistream scrub reads it.",
        "required": ["id", "text"],
        "properties": {
            "id": {"type": "string", "description": "Of the note."},
            "text": definition["properties"]["text"],
            "patient_id": {
                "type": "string",
                "description": "patient.id of the full form, without an authority.",
            },
            "patient": demographics,
            "note_type": definition["properties"]["note_type"],
            "written_at": definition["properties"]["written_at"],
        },
    }
    named = {f"Note_{name}": each for name, each in definitions.items()}
    return {"NoteEvent": definition, "ShortNote": short, **named}


def _placed(node: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return a schema whose references are those of the OpenAPI document."""
    if isinstance(node, list):
        return [_placed(each) for each in node]
    if not isinstance(node, dict):
        return node
    placed = {name: _placed(each) for name, each in node.items()}
    if isinstance(target := placed.get("$ref"), str):
        name = target.removeprefix("#/definitions/")
        placed["$ref"] = f"#/components/schemas/Note_{name}"
    return placed


def _add_errors(app: FastAPI, metrics: GatewayMetrics) -> None:
    """Answer errors as the others are; the framework's answers show what was sent."""

    def answer(refused: Refused) -> Response:
        metrics.refused(refused.code)
        return Response(
            orjson.dumps(refused.to_json()),
            refused.status,
            refused.headers,
            media_type=JSON,
        )

    @app.exception_handler(Refused)
    async def refused(_request: Request, error: Refused) -> Response:
        return answer(error)

    @app.exception_handler(HTTPException)
    async def no_route(_request: Request, error: HTTPException) -> Response:
        is_method = error.status_code == 405
        code = Code.METHOD_NOT_ALLOWED if is_method else Code.NOT_FOUND
        return answer(Refused(code, "see /docs"))

    @app.exception_handler(RequestValidationError)
    async def wrong_query(
        _request: Request, _error: RequestValidationError
    ) -> Response:
        # The exception holds the value.
        reason = "note_id: must be pseudonym or sent"
        return answer(Refused(ReasonCode.SCHEMA, reason))

    @app.exception_handler(Exception)
    async def failed(_request: Request, _error: Exception) -> Response:
        # It is raised again afterwards, and logged by the guard.
        return answer(Refused(Code.FAILED))


def _too_large(limit: int) -> Refused:
    return Refused(ReasonCode.TOO_LARGE, f"the body has over {limit} bytes")
