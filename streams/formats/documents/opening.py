"""Opens a document by its content."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from .content import Content, content_of
from .document import TextDocument, Unreadable, UnreadableKind
from .fragments import without_markup
from .markup import hidden_in
from .plain import PlainText, decoded
from .rtf import RtfText, open_rtf

MAX_BYTES = 32 << 20
MAX_CHARACTERS = 8 << 20

_DECLARED: Mapping[str, Content] = {
    "text/plain": Content.TEXT,
    "text/rtf": Content.RTF,
    "application/rtf": Content.RTF,
    "application/x-rtf": Content.RTF,
    "text/richtext": Content.RTF,
    "text/html": Content.HTML,
    "application/xhtml+xml": Content.HTML,
    "application/pdf": Content.PDF,
    "application/x-pdf": Content.PDF,
}
_UNDECLARED = frozenset(("", "application/octet-stream"))
_UNREADABLE: Mapping[Content, UnreadableKind] = {
    Content.IMAGE: UnreadableKind.IMAGE,
    Content.DICOM: UnreadableKind.DICOM,
    Content.OFFICE: UnreadableKind.OFFICE,
    Content.ARCHIVE: UnreadableKind.ARCHIVE,
}
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^"';\s]*)""", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n]+")


def open_document(data: bytes, media_type: str = "") -> TextDocument:
    """Return a document whose format is recognised by its content.

    Args:
        data: The document, not encoded (base64) any more.
        media_type: As declared, with parameters; empty or `application/octet-stream`
            if it isn't.  Its `charset` counts for text and HTML.

    Raises:
        Unreadable: It can't be opened, or is not what it is declared to be.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(UnreadableKind.TOO_LARGE)
    content = content_of(data)
    if content in _UNREADABLE:
        raise Unreadable(_UNREADABLE[content])
    document = _opened(data, _agreed(content, media_type), media_type)
    if len(document.text) > MAX_CHARACTERS:
        raise Unreadable(UnreadableKind.TOO_LARGE)
    if hidden_in(document.text):
        raise Unreadable(UnreadableKind.UNKNOWN)
    return document


def from_base64(text: str) -> bytes:
    """Return the bytes of base64, which may have line breaks and blanks.

    Raises:
        Unreadable: It is not base64, or too large.
    """
    if len(text) > 2 * MAX_BYTES:
        raise Unreadable(UnreadableKind.TOO_LARGE)
    try:
        return base64.b64decode(_BLANKS.sub("", text), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable(UnreadableKind.BROKEN) from None


def _agreed(content: Content, media_type: str) -> Content:
    """Return the format that content and declaration agree on."""
    name = media_type.partition(";")[0].strip().lower()
    if name in _UNDECLARED:
        return content
    declared = _DECLARED.get(name)
    if declared is None:
        raise Unreadable(UnreadableKind.UNKNOWN)
    # A part of HTML may begin as a text does.
    if declared is content or (declared, content) == (Content.HTML, Content.TEXT):
        return declared
    raise Unreadable(UnreadableKind.BROKEN)


def _opened(data: bytes, content: Content, media_type: str) -> TextDocument:
    found = _CHARSET.search(media_type)
    charset = found[1] if found else ""
    if content is Content.TEXT:
        return PlainText(without_markup(decoded(data, charset)))
    # Only who meets HTML loads lxml, and only who meets a PDF pypdf.
    if content is Content.HTML:
        from .html import open_html

        return open_html(data, charset)
    if content is Content.RTF:
        return RtfText(without_markup(open_rtf(data[data.index(b"{") :]).text))
    if content is Content.PDF:
        from .pdf import open_pdf

        return PlainText(without_markup(open_pdf(data).text))
    raise Unreadable(UnreadableKind.UNKNOWN)
