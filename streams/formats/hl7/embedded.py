"""Documents in OBX-5: opened, and written back (types ED and RP)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deid_core import ScrubbedDocument
from streams.formats.documents import Unreadable, UnreadableKind, from_base64
from streams.formats.enclosed_notes import Enclosed, OfMessage, Opener, RebuiltEnclosed
from streams.model.parts import Part, Values

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
    "XML": "text/xml",
    "JSON": "application/json",
}
"""By the subtype (ED.3), or the type (ED.2) where senders write it there."""
_PLAIN, _HEX = ("", "A"), "HEX"


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """A document in a repetition of OBX-5.

    Args:
        document: Opened.
        type: ED.2, a name of `_MEDIA_TYPES` or empty.
        subtype: ED.3, a name of `_MEDIA_TYPES` or empty.
        encoding: ED.4, in capitals.
    """

    document: Enclosed = field(repr=False)
    type: str
    subtype: str
    encoding: str

    def rebuilt(
        self, scrubbed: Sequence[ScrubbedDocument], values: Values
    ) -> RebuiltEnclosed:
        """Return the document without identifiers; see `Enclosed`."""
        return self.document.rebuilt(scrubbed, values)

    def written(self, rebuilt: RebuiltEnclosed, delimiters: Delimiters) -> str:
        """Return the repetition with the rebuilt document.

        Args:
            rebuilt: The document.
            delimiters: Of the message.
        """
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


def embedded_document(
    raw: str, delimiters: Delimiters, opener: Opener, of: OfMessage
) -> EmbeddedDocument:
    """Return the document of a repetition of OBX-5 of type ED.

    Raises:
        Unreadable: It can't be opened.
    """
    written = _written(raw, delimiters)
    document = opener.open(written.data, written.media_type, of)
    return EmbeddedDocument(document, *written.names, written.encoding)


def embedded_part(
    raw: str, delimiters: Delimiters, opener: Opener, of: OfMessage
) -> Part | None:
    """Return the message in a repetition of OBX-5 of type ED; None without one."""
    try:
        written = _written(raw, delimiters)
    except Unreadable:
        return None
    return opener.part(written.data, written.media_type, of)


@dataclass(frozen=True, slots=True)
class _Written:
    """A document as it is written in OBX-5."""

    data: bytes = field(repr=False)
    names: tuple[str, str]
    encoding: str

    @property
    def media_type(self) -> str:
        return _media_type(*self.names)


def _written(raw: str, delimiters: Delimiters) -> _Written:
    parts = [unescape(each, delimiters) for each in raw.split(delimiters.component)]
    _, type_, subtype, encoding, data = (*parts, "", "", "", "", "")[:5]
    encoding = encoding.strip().upper()
    if not data.strip():
        raise Unreadable(UnreadableKind.BROKEN)
    return _Written(_decoded(data, encoding), (_name(type_), _name(subtype)), encoding)


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
