"""The narrative of a resource: XHTML in a `div` (FHIR R4, 2.4.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from deid_core import ScrubbedDocument
from streams.formats.documents.html import HtmlText, open_html

_ALLOWED = frozenset(
    {
        *("abbr", "b", "blockquote", "br", "caption", "cite", "code", "dd", "div"),
        *("dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol"),
        *("p", "pre", "q", "samp", "small", "span", "strong", "sub", "sup", "table"),
        *("tbody", "td", "tfoot", "th", "thead", "tr", "ul", "var"),
    }
)
"""Elements of a narrative (constraint txt-1); of others the text is kept."""
Pieces = tuple[str | tuple[int, int], ...]
_VOID = frozenset({"br", "hr"})
_TAG = re.compile(r"<(/?)([a-z0-9]+)((?: [a-z]+=\"[0-9]+\")*)>")


@dataclass(frozen=True, slots=True)
class Div:
    """An opened `div`."""

    html: HtmlText = field(repr=False)

    @property
    def text(self) -> str:
        """The text that it shows."""
        return self.html.text

    def rebuilt(self, scrubbed: ScrubbedDocument) -> str:
        """Return valid XHTML with the scrubbed text in it.

        What was replaced across elements is written in the last of them.
        """
        to_scrubbed = scrubbed.offset_map.to_scrubbed
        written = (
            _TAG.sub(_valid, each)
            if isinstance(each, str)
            else escape(
                scrubbed.text[to_scrubbed(each[0]) : to_scrubbed(each[1])], quote=False
            )
            for each in _inside(self.html.pieces)
        )
        body = "".join(written)
        return f'<div xmlns="http://www.w3.org/1999/xhtml">{body}</div>'


def open_div(div: str) -> Div:
    """Return a `div`.

    Raises:
        Unreadable: It is nested too deeply, or too large.
    """
    return Div(open_html(div.encode("utf-8", "replace"), "utf-8"))


def _inside(pieces: Pieces) -> Pieces:
    """Return what is inside of a `div`, if that holds all there is."""
    if not pieces or pieces[0] != "<div>" or pieces[-1] != "</div>":
        return pieces
    depth = 0
    for each in pieces[:-1]:
        depth += (each == "<div>") - (each == "</div>")
        if depth == 0:
            return pieces
    return pieces[1:-1]


def _valid(tag: re.Match[str]) -> str:
    """Return a tag as XHTML has it; nothing for one that a narrative may not have."""
    slash, name, attributes = tag.groups()
    if name not in _ALLOWED:
        return ""
    return f"<{slash}{name}{attributes}{'/' if name in _VOID else ''}>"
