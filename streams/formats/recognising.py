"""Recognises the format of a message or file by its content, or refuses it by name.

Only the beginning and the end are looked at closely, however large the value is;
whether it is valid is for the reader of the format to tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.documents.content import (
    START_TAG,
    Content,
    beginning,
    content_of,
    without_prolog,
)
from streams.formats.documents.document import Unreadable
from streams.formats.documents.plain import decoded


class Format(StrEnum):
    """A format of notes."""

    TEXT = "text"
    HL7 = "hl7"
    JSONL = "jsonl"  # several note events, one a line
    JSON = "json"  # one note event, or an array of them
    FHIR = "fhir"
    CCDA = "ccda"
    RTF = "rtf"
    HTML = "html"
    PDF = "pdf"
    TABLE = "table"  # CSV or TSV, whose columns a map names


SUPPORTED = "HL7 v2, JSON note events, FHIR JSON, C-CDA, RTF, HTML, PDF or text"

_FORMATS: Mapping[Content, Format] = {
    Content.HL7: Format.HL7,
    Content.RTF: Format.RTF,
    Content.HTML: Format.HTML,
    Content.PDF: Format.PDF,
}
_REFUSED: Mapping[Content, str] = {
    Content.IMAGE: "an image; send the report as text",
    Content.DICOM: "DICOM; send the report as text",
    Content.OFFICE: "an Office document; send it as PDF, RTF or text",
    Content.ARCHIVE: "an archive or compressed; send the files in it",
    Content.ENCODED: "text with a document in it (RTF or base64); "
    "send the document itself",
    Content.BINARY: f"binary, in no known format; send {SUPPORTED}",
}

_JSON_BYTES = 1 << 20
_JSON_TOKEN = re.compile(
    rb'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")(?P<is_name>\s*:\s*(?P<begin>"?))?'
    rb'|(?P<bracket>[{}\[\]])|(?P<cut>")',
    re.DOTALL,
)
_NAMESPACE = re.compile(
    rb"(?P<name>xmlns(?::[\w.-]+)?)\s*=\s*(?:\"(?P<in2>[^\"]*)\"|'(?P<in1>[^']*)')"
)
_CDA, _FHIR = b"urn:hl7-org:v3", b"http://hl7.org/fhir"


def recognise(value: bytes, *, any_json: bool = False) -> Format:
    """Return the format of a message or file.

    Byte order marks, leading blanks, MLLP framing and batch segments are seen through.

    Args:
        value: The message or file, or its first megabyte and its end.
        any_json: Whether JSON of any form is events: a map says what they hold.

    Raises:
        InvalidRecord: The format is not supported; the reason names it, and what to
            send instead.
    """
    content = content_of(value)
    if content in _FORMATS:
        return _FORMATS[content]
    if content is Content.JSON:
        return _json_format(value, any_json=any_json)
    if content is Content.XML:
        return _xml_format(value)
    if content in _REFUSED:
        raise _unsupported(_REFUSED[content])
    try:
        decoded(value)
    except Unreadable:
        reason = "not UTF-8; name its character set (--charset), or convert it"
        raise InvalidRecord(ReasonCode.UNDECODABLE, reason) from None
    return Format.TEXT


def _unsupported(found: str) -> InvalidRecord:
    return InvalidRecord(ReasonCode.UNSUPPORTED, f"the value is {found}")


def _json_format(value: bytes, *, any_json: bool) -> Format:
    """Return the format of JSON by the names of its first object."""
    head = beginning(value, _JSON_BYTES)
    names, end = _names_of_first_object(head)
    if "resourceType" in names:
        return Format.FHIR
    is_note = names.get("text") and not {"note_id", "id"}.isdisjoint(names)
    if is_note or any_json or names.get("message"):
        rest = head[end:].strip() if end and head.startswith(b"{") else b""
        return Format.JSONL if rest else Format.JSON
    if end == 0 and len(value) > _JSON_BYTES:
        raise _unsupported("JSON, not text; let it begin with resourceType or note_id")
    raise _unsupported(
        'JSON, not text, and neither a note event ("note_id" and "text") nor FHIR '
        '("resourceType"); see schemas/README.md'
    )


def _names_of_first_object(head: bytes) -> tuple[dict[str, bool], int]:
    """Return the properties of the first object, and where it ends, or 0.

    Each property says whether its value is a string.
    """
    names: dict[str, bool] = {}
    depth, at = 0, head.find(b"{")
    while (token := _JSON_TOKEN.search(head, at)) and not token["cut"]:
        at = token.end()
        if token["is_name"]:
            at = token.end("is_name") - len(token["begin"])
            if depth == 1:
                names[_string(token["string"])] = bool(token["begin"])
        elif token["bracket"]:
            depth += 1 if token["bracket"] in b"{[" else -1
            if depth == 0:
                return names, at
    return names, 0


def _string(token: bytes) -> str:
    """Return a JSON string, in which letters may be escaped."""
    try:
        return str(orjson.loads(token))
    except orjson.JSONDecodeError:
        return ""


def _xml_format(value: bytes) -> Format:
    """Return the format of XML by its root element."""
    rest = without_prolog(beginning(value))
    root = START_TAG.match(rest)
    if root is None:
        raise _unsupported(
            "XML with a document type or an unreadable beginning; remove it, or send "
            f"{SUPPORTED}"
        )
    prefix, _, name = root["name"].rpartition(b":")
    wanted = b"xmlns:" + prefix if prefix else b"xmlns"
    namespaces = {
        each["name"]: each["in2"] or each["in1"]
        for each in _NAMESPACE.finditer(root["attributes"] or b"")
    }
    namespace = namespaces.get(wanted)
    if namespace == _CDA and name == b"ClinicalDocument":
        return Format.CCDA
    if namespace == _FHIR:
        raise _unsupported("FHIR in XML; send FHIR in JSON")
    raise _unsupported(f"XML, but no C-CDA document; send {SUPPORTED}")
