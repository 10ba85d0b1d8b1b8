"""The narrative of a resource: XHTML in a `div` (FHIR R4, 2.4.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from deid_core import ScrubbedDocument

_UNSHOWN = frozenset({"script", "style", "head", "title", "template", "noscript"})
_BLOCKS = frozenset(
    {
        *("div", "p", "br", "hr", "pre", "blockquote", "section", "article"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "footer"),
        *("table", "caption", "thead", "tbody", "tfoot", "tr"),
        *("ul", "ol", "li", "dl", "dt", "dd"),
    }
)
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class Div:
    """An opened `div`."""

    text: str = field(repr=False)

    def rebuilt(self, scrubbed: ScrubbedDocument) -> str:
        """Return valid XHTML: a paragraph for each line."""
        lines = (line.strip() for line in scrubbed.text.split("\n"))
        paragraphs = "".join(f"<p>{escape(each)}</p>" for each in lines if each)
        return f'<div xmlns="http://www.w3.org/1999/xhtml">{paragraphs}</div>'


def open_div(div: str) -> Div:
    """Return a `div` and its text as it reads; what isn't shown is left out."""
    reader = _Text()
    reader.feed(div)
    reader.close()
    lines = (
        _SPACE.sub(" ", line).strip() for line in "".join(reader.pieces).split("\n")
    )
    return Div("\n".join(line for line in lines if line))


class _Text(HTMLParser):
    """Collects the text of HTML; tags, attributes and comments are dropped."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unshown = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin a line at a block."""
        if tag in _UNSHOWN:
            self._unshown += 1
        self._separate(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Begin a line at an empty block."""
        self._separate(tag)

    def handle_endtag(self, tag: str) -> None:
        """End the line of a block."""
        if tag in _UNSHOWN:
            self._unshown = max(0, self._unshown - 1)
        self._separate(tag)

    def handle_data(self, data: str) -> None:
        """Add text; a line end in it is a space."""
        if not self._unshown:
            self.pieces.append(data.replace("\n", " "))

    def _separate(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in _CELLS:
            self.pieces.append(" ")
