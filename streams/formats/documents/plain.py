"""Plain text, in the character sets that can be told apart."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

from deid_core import ScrubbedDocument
from streams.engine.character_sets import ASCII, UTF_8, codec_of

from .document import RebuiltDocument, Unreadable, UnreadableKind

MEDIA_TYPE = "text/plain; charset=utf-8"

# A longer mark comes before one that it begins with.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, None),
    (codecs.BOM_UTF32_BE, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def decoded(data: bytes, charset: str = "") -> str:
    """Return a text without control characters; lines end with line feeds.

    Args:
        data: In UTF-8, in UTF-16 with a byte order mark, or as declared.
        charset: As declared; any other than UTF-8 is read only if it is.

    Raises:
        Unreadable: The bytes are in no such character set, or no text.
    """
    codec = codec_of(charset.strip().strip("\"'")) if charset else UTF_8
    # As browsers do: what is declared as Latin-1 is often Windows-1252, and UTF-8 holds
    # ASCII.
    codec = {"iso8859-1": "cp1252", ASCII: UTF_8}.get(codec or "", codec)
    for mark, marked in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            data, codec = data[len(mark) :], marked
            break
    if codec is None:
        raise Unreadable(UnreadableKind.UNKNOWN)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        raise Unreadable(UnreadableKind.UNKNOWN) from None
    if "\x00" in text:
        raise Unreadable(UnreadableKind.UNKNOWN)
    return without_controls(_LINE_END.sub("\n", text))


def words(text: str) -> frozenset[str]:
    """Return the words of a text, for lists in code."""
    return frozenset(text.split())


def without_controls(text: str) -> str:
    """Return a text without control characters, which readers do not show.

    Tabs and line feeds stay.
    """
    return _NOT_SHOWN.sub("", text)


@dataclass(frozen=True, slots=True)
class PlainText:
    """A document without a form; put back in UTF-8."""

    text: str = field(repr=False)

    def rebuilt(self, scrubbed: ScrubbedDocument) -> RebuiltDocument:
        """Return the scrubbed text."""
        return RebuiltDocument(scrubbed.text.encode(), MEDIA_TYPE)
