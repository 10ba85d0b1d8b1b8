"""Opens a document by its content."""

from __future__ import annotations

from .document import TextDocument, Unreadable, UnreadableKind
from .plain import PlainText, decoded

MAX_BYTES = 32 << 20


def open_document(data: bytes, media_type: str = "") -> TextDocument:
    """Return a document whose format is recognised by its content.

    Args:
        data: The document, not encoded (base64) any more.
        media_type: As declared, with parameters; empty or `application/octet-stream`
            if it isn't.  Its `charset` counts for text.

    Raises:
        Unreadable: It can't be opened, or is not what it is declared to be.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(UnreadableKind.TOO_LARGE)
    declared, _, parameters = media_type.partition(";")
    if declared.strip().lower() not in ("", "text/plain", "application/octet-stream"):
        raise Unreadable(UnreadableKind.UNKNOWN)
    name, _, charset = parameters.partition("=")
    return PlainText(decoded(data, charset if name.strip() == "charset" else ""))
