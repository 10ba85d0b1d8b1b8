"""Texts that hold a format where a plain text is expected: what they show.

HTML and RTF are opened.  What only its own reader can open (XML, JSON, messages,
base64) is named, to be refused.
"""

from __future__ import annotations

import re

from .content import holds_encoded
from .document import Unreadable
from .fragments import holds_markup, may_hold_markup, without_markup
from .rtf import open_rtf

_RTF = re.compile(r"^[ \t]*\{\s*\\rtf", re.MULTILINE)
_HTML = re.compile(r"^[ \t]*<(?:!DOCTYPE\s+html|html|head|body)\b", re.M | re.I)
_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*(?:\{\s*["}]|"))')
_XML = re.compile(r"<\?xml\b|</[A-Za-z_][\w:.-]*\s*>|<[A-Za-z_][\w:.-]*(?:\s[^<>]*)?/>")
_MESSAGE = re.compile(
    r"^[ \t\x0b]*MSH([^\w\s])(?!\1)([^\w\s])(?!\1|\2)[^\w\s]{1,4}\1", re.MULTILINE
)


def holds_document(text: str) -> bool:
    """Return whether a whole document of HTML or RTF begins at a line of a text."""
    return bool(
        ("{" in text and _RTF.search(text)) or ("<" in text and _HTML.search(text))
    )


def shown_in(text: str) -> str:
    """Return what a text shows; a plain text is returned as it is.

    A whole document may follow some lines.  In any other text, tags and escapes are
    taken out of the lines.  What can't be opened stays, for `hidden_in`.
    """
    try:
        if "{" in text and (document := _RTF.search(text)):
            text = text[: document.start()] + _rtf(text[document.start() :])
        elif "<" in text and (document := _HTML.search(text)):
            text = text[: document.start()] + _html(text[document.start() :])
    except Unreadable:
        return text
    return text if _JSON.match(text) else without_markup(text)


def _rtf(text: str) -> str:
    return open_rtf(text.lstrip().encode("utf-8", "replace")).text


def _html(text: str) -> str:
    # It needs lxml, which a plain text does not.
    from .html import open_html

    return open_html(text.encode("utf-8", "replace"), "utf-8").text


def hidden_in(text: str) -> str:
    """Return the format that a text is in, or holds, by name; empty for plain text."""
    if holds_encoded(text.encode("utf-8", "surrogatepass")):
        return "RTF or base64"
    if _JSON.match(text):
        return "JSON"
    if "MSH" in text and _MESSAGE.search(text):
        return "HL7 v2"
    if "<" in text and _XML.search(text):
        return "HTML or XML"
    return "HTML or JSON escapes" if holds_markup(text) else ""


def is_plain(text: str) -> bool:
    """Return whether a text holds no tags and no escapes, and is no JSON."""
    return not (_JSON.match(text) or (may_hold_markup(text) and hidden_in(text)))
