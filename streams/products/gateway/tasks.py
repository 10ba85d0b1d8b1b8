"""The tasks that the HTTP process gives to a worker, and the worker's answers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

JSON = "application/json"
NDJSON = "application/x-ndjson"
HL7 = "x-application/hl7-v2+er7"
FHIR = "application/fhir+json"

SIZES = struct.Struct(">II")
"""Sizes of the head and of the body of a task or answer, which precede them."""


class Kind(StrEnum):
    """The kind of content that a request sends; its last path segment."""

    NOTE = "notes"
    BATCH = "notes:batch"
    HL7 = "messages"
    FHIR = "fhir"
    CCDA = "ccda"
    DOCUMENT = "documents"


ACCEPTED: Mapping[Kind, tuple[str, ...]] = {
    Kind.NOTE: (JSON,),
    Kind.BATCH: (JSON, NDJSON),
    # The last two as HAPI's "HL7 over HTTP" and RFC 1767 have them.
    Kind.HL7: (HL7, "text/plain", "application/hl7-v2", "application/edi-hl7"),
    Kind.FHIR: (FHIR, JSON),
    Kind.CCDA: ("application/xml", "text/xml"),
    Kind.DOCUMENT: ("text/plain", "application/rtf", "text/html", "application/pdf"),
}
"""The media types of requests."""


class Code(StrEnum):
    """Why a request is refused, besides the reason codes of records."""

    FAILED = "failed"  # a bug in the HTTP process
    FORBIDDEN = "forbidden"  # an Origin that is not served
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_ACCEPTABLE = "not_acceptable"  # several messages, where one is asked for
    NOT_FOUND = "not_found"
    OVERLOADED = "overloaded"  # too many requests, or no worker is free
    SLOW_BODY = "slow_body"  # the body did not arrive in time
    UNAUTHORIZED = "unauthorized"
    UNREADABLE = "unreadable"  # a document that can't be opened
    WRONG_HOST = "wrong_host"


_OURS: frozenset[ReasonCode | Code] = frozenset(
    (
        Code.FAILED,
        ReasonCode.DECODER_FAILED,
        ReasonCode.DEID_ERROR,
        ReasonCode.DETECTOR_FAILED,
        ReasonCode.MERGE_FAILED,
        ReasonCode.POISON,
    )
)
"""Failures of the service: the answer holds the code alone."""
_STATUS: Mapping[str, HTTPStatus] = {
    **dict.fromkeys(_OURS, HTTPStatus.INTERNAL_SERVER_ERROR),
    ReasonCode.UNSUPPORTED: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    ReasonCode.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ReasonCode.DEADLINE: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.FORBIDDEN: HTTPStatus.FORBIDDEN,
    Code.METHOD_NOT_ALLOWED: HTTPStatus.METHOD_NOT_ALLOWED,
    Code.NOT_ACCEPTABLE: HTTPStatus.NOT_ACCEPTABLE,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.OVERLOADED: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.SLOW_BODY: HTTPStatus.REQUEST_TIMEOUT,
    Code.UNAUTHORIZED: HTTPStatus.UNAUTHORIZED,
    Code.WRONG_HOST: HTTPStatus.MISDIRECTED_REQUEST,
}
RETRY_SECONDS = 1
"""When a request that came at a busy time may be sent again."""


class Refused(Exception):
    """A request, or a note of a batch, that is not served.

    Args:
        code: A closed set: `ReasonCode` and `Code`.
        reason: Names a field or header and the next step, never a value.
    """

    def __init__(self, code: ReasonCode | Code, reason: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.reason = "" if code in _OURS else reason

    @classmethod
    def of(cls, error: InvalidRecord) -> Refused:
        """Return the refusal of a record."""
        return cls(error.code, error.reason)

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status."""
        return _STATUS.get(self.code, HTTPStatus.UNPROCESSABLE_ENTITY)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer; what is left of the body is not read."""
        headers = {"Connection": "close"}
        if self.code is Code.UNAUTHORIZED:
            headers["WWW-Authenticate"] = 'Bearer realm="phistream"'
        if self.code is Code.OVERLOADED:
            headers["Retry-After"] = str(RETRY_SECONDS)
        return headers

    def to_json(self) -> dict[str, Any]:
        """Return the object `error` of answers."""
        error = {"code": self.code.value}
        return {"error": error | ({"reason": self.reason} if self.reason else {})}


@dataclass(frozen=True, slots=True)
class Task:
    """A request, as a worker gets it.

    Args:
        kind: What it sends.
        media_type: The header Content-Type.
        accept: The header Accept.
        keeps_note_id: Whether ids of notes are given back as they were sent.
        body: Of the request.
    """

    kind: Kind
    media_type: str = field(repr=False)
    body: bytes = field(repr=False)
    accept: str = field(repr=False, default="")
    keeps_note_id: bool = False

    def encoded(self) -> bytes:
        """Return the task as it is sent to a worker."""
        head = {
            "kind": self.kind,
            "media_type": self.media_type,
            "accept": self.accept,
            "keeps_note_id": self.keeps_note_id,
        }
        return _framed(head, self.body)

    @classmethod
    def decoded(cls, head: bytes, body: bytes) -> Task:
        """Return a task that was sent."""
        values = orjson.loads(head)
        return cls(**values | {"kind": Kind(values["kind"])}, body=body)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of an answer, for metrics.

    Args:
        scrubbed: Notes, documents and parts of messages.
        joins: Those by `found` or `missing`.
        refused: By code; of a batch, several.
        spans: Identifiers by label.
    """

    scrubbed: int = 0
    joins: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    spans: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    Args:
        status: Of HTTP.
        media_type: Of the body.
        body: Without identifiers.
        counts: For metrics.
    """

    status: int
    media_type: str
    body: bytes = field(repr=False)
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def of(cls, refused: Refused) -> Answer:
        """Return the answer to a request that is refused."""
        counts = Counts(refused={refused.code.value: 1})
        return cls(refused.status, JSON, orjson.dumps(refused.to_json()), counts)

    def encoded(self) -> bytes:
        """Return the answer as it is sent by a worker."""
        head = {
            "status": self.status,
            "media_type": self.media_type,
            "counts": asdict(self.counts),
        }
        return _framed(head, self.body)

    @classmethod
    def decoded(cls, head: bytes, body: bytes) -> Answer:
        """Return an answer that was sent."""
        values = orjson.loads(head)
        counts = Counts(**values["counts"])
        return cls(values["status"], values["media_type"], body, counts)


def _framed(head: Mapping[str, Any], body: bytes) -> bytes:
    encoded = orjson.dumps(head)
    return b"".join((SIZES.pack(len(encoded), len(body)), encoded, body))
