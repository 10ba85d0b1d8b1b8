"""Documents in OBX-5: opened, and written back (types ED and RP)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field

from deid_core import ScrubbedDocument

from ..documents import (
    TextDocument,
    Unreadable,
    UnreadableKind,
    from_base64,
    open_document,
)
from .message import Delimiters, escape, unescape

DOCUMENTS = ("ED", "RP")
POINTER = "pointer"
"""Counts an RP, whose document is elsewhere."""

_MEDIA_TYPES: Mapping[str, str] = {
    "PDF": "application/pdf",
    "RTF": "application/rtf",
    "HTML": "text/html",
    "PLAIN": "text/plain",
    "TEXT": "text/plain",
    "TXT": "text/plain",
}
"""By the subtype (ED.3), or the type (ED.2) where senders write it there."""
_PLAIN, _HEX = ("", "A"), "HEX"


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """A document in a repetition of OBX-5.

    Args:
        document: Opened.
        type: ED.2, a name of `_MEDIA_TYPES` or empty.
        subtype: ED.3, likewise.
        encoding: ED.4, in capitals.
    """

    document: TextDocument = field(repr=False)
    type: str
    subtype: str
    encoding: str

    def written(self, scrubbed: ScrubbedDocument, delimiters: Delimiters) -> str:
        """Return the repetition with the scrubbed document.

        Args:
            scrubbed: Its text, scrubbed.
            delimiters: Of the message.

        Raises:
            Unreadable: It can't be written back.
        """
        rebuilt = self.document.rebuilt(scrubbed)
        names = self.type, self.subtype
        media_type = rebuilt.media_type.partition(";")[0]
        if _media_type(*names) != media_type:
            # A PDF is put back as plain text.
            type_, _, subtype = media_type.partition("/")
            names = type_, subtype
        if self.encoding in _PLAIN:
            data = escape(rebuilt.data.decode(), delimiters)
        elif self.encoding == _HEX:
            data = rebuilt.data.hex().upper()
        else:
            data = escape(base64.b64encode(rebuilt.data).decode(), delimiters)
        return delimiters.component.join(("", *names, _shown(self.encoding), data))


def embedded_document(raw: str, delimiters: Delimiters) -> EmbeddedDocument:
    """Return the document of a repetition of OBX-5 of type ED.

    Raises:
        Unreadable: It can't be opened.
    """
    parts = [unescape(each, delimiters) for each in raw.split(delimiters.component)]
    _, type_, subtype, encoding, data = (*parts, "", "", "", "", "")[:5]
    encoding = encoding.strip().upper()
    if not data.strip():
        raise Unreadable(UnreadableKind.BROKEN)
    names = _name(type_), _name(subtype)
    document = open_document(_decoded(data, encoding), _media_type(*names))
    return EmbeddedDocument(document, *names, encoding)


def _decoded(data: str, encoding: str) -> bytes:
    if encoding in _PLAIN:
        return data.encode()
    try:
        return bytes.fromhex(data) if encoding == _HEX else from_base64(data)
    except (ValueError, binascii.Error):
        raise Unreadable(UnreadableKind.BROKEN) from None


def _media_type(type_: str, subtype: str) -> str:
    """Return the declared media type; empty where only the content tells it."""
    return _MEDIA_TYPES.get(subtype.upper()) or _MEDIA_TYPES.get(type_.upper(), "")


def _name(text: str) -> str:
    """Return a type or subtype that is known, or an empty string."""
    known = text.strip()
    is_known = known.upper() in _MEDIA_TYPES or known.lower() == "application"
    return known if is_known else ""


def _shown(encoding: str) -> str:
    return {"": "", "A": "A", _HEX: "Hex"}.get(encoding, "Base64")
