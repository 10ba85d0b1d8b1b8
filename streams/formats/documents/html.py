"""HTML: what it shows as one text, and its structure with the scrubbed text in it.

Elements and attributes are kept by allow-list: those that structure a text.  Of other
elements the text is kept, except where it is none that is shown (scripts, styles,
comments, the whole head).  The text reads as a browser shows it: blanks are collapsed,
blocks and `<br>` end lines, cells are parted by tabs, and inline elements part nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from lxml import etree

from deid_core import ScrubbedDocument

from .document import RebuiltDocument, Unreadable, UnreadableKind
from .plain import decoded, words
from .shown import ShownText, scrubbed_piece

MEDIA_TYPE = "text/html; charset=utf-8"
MAX_DEPTH = 250
MAX_ELEMENTS = 500_000
MAX_ATTRIBUTES = 1_000
"""Of an element; libxml2 compares each one with all before it."""

_START = (
    '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>Document</title></head>'
    "<body>"
)
_END = "</body></html>\n"
_HEAD_BYTES = 1024
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:/-]{1,40})""", re.I
)
_TAG_NAME = re.compile(rb"<[A-Za-z][^\s/>]*+")
_ATTRIBUTE = re.compile(
    rb"[\s/]*+[^\s/>][^\s/>=]*+"
    rb"(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+))?"
)
_NOT_SHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

_BLOCKS = words(
    "address article aside blockquote caption dd details div dl dt fieldset "
    "figcaption figure footer h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre "
    "section summary table tbody tfoot thead tr ul"
)
_CELLS = frozenset(("td", "th"))
_INLINE = words(
    "abbr b cite code del em i ins kbd label mark q s samp small span strong sub sup "
    "u var br wbr"
)
_KEPT = _BLOCKS | _CELLS | _INLINE
_VOID = frozenset(("br", "hr", "wbr"))
# Blocks that are not kept; line breaks part their text.
_UNWRAPPED_BLOCKS = words(
    "center dir form frameset isindex listing menu multicol noframes noscript option "
    "optgroup plaintext select textarea xmp button search hgroup dialog"
)
_BREAKING = _BLOCKS | _UNWRAPPED_BLOCKS | {"html", "body"}
_DROPPED = words(
    "applet audio canvas embed frame head iframe map math object script style svg "
    "template title video datalist"
)
_SPAN = re.compile(r"[1-9][0-9]?")
_ATTRIBUTES: Mapping[str, re.Pattern[str]] = {"colspan": _SPAN, "rowspan": _SPAN}


@dataclass(frozen=True, slots=True)
class HtmlText:
    """An opened HTML document.

    Args:
        text: What it shows.
        pieces: The document: markup, or the start and end of a part of the text.
    """

    text: str = field(repr=False)
    pieces: tuple[str | tuple[int, int], ...] = field(repr=False)

    def rebuilt(self, scrubbed: ScrubbedDocument) -> RebuiltDocument:
        """Return the document with the scrubbed text in it.

        What was replaced across elements is written in the last of them.
        """
        written = [
            each
            if isinstance(each, str)
            else escape(scrubbed_piece(scrubbed, *each), quote=False)
            for each in self.pieces
        ]
        return RebuiltDocument(
            "".join((_START, *written, _END)).encode("utf-8"), MEDIA_TYPE
        )


def open_html(data: bytes, charset: str = "") -> HtmlText:
    """Return an HTML document.

    Args:
        data: A document, or a part of one.
        charset: As declared; that of `<meta>` counts if there is none.

    Raises:
        Unreadable: It is nested too deeply, or in an unknown character set.
    """
    if not charset and (declared := _CHARSET.search(data[:_HEAD_BYTES])):
        charset = declared[1].decode()
    if data.count(b"<") > 2 * MAX_ELEMENTS or _has_wide_tag(data):
        raise Unreadable(UnreadableKind.TOO_LARGE)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(decoded(data, charset).encode(), parser)
    except (etree.LxmlError, AssertionError):
        raise Unreadable(UnreadableKind.BROKEN) from None
    if any(each.level >= etree.ErrorLevels.FATAL for each in parser.error_log):
        raise Unreadable(UnreadableKind.TOO_LARGE)
    if root is None:
        return HtmlText("", ())
    return _Walk().of(root)


class _Walk:
    """Collects the text and the markup of a tree."""

    def __init__(self) -> None:
        self._shown = ShownText()
        self._pieces: list[str | tuple[int, int]] = []
        self._preformatted = 0

    def of(self, root: etree._Element) -> HtmlText:
        """Return the document of a tree."""
        depth = count = 0
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                count += 1
                depth += 1
                if depth > MAX_DEPTH or count > MAX_ELEMENTS:
                    raise Unreadable(UnreadableKind.TOO_LARGE)
                if _is_dropped(element):
                    walk.skip_subtree()
                else:
                    self._start(element)
            else:
                depth -= 1
                if not _is_dropped(element):
                    self._end(element)
                if element is not root:
                    # What is behind </body> is written inside of it, on its own line.
                    if element.tag == "body" and (element.tail or "").strip():
                        self._pieces.append("<br>")
                    self._add(element.tail)
        return HtmlText(self._shown.text, tuple(self._pieces))

    def _start(self, element: etree._Element) -> None:
        tag = element.tag
        self._break(tag)
        if tag in _KEPT:
            self._pieces.append(f"<{tag}{_attributes(element)}>")
        self._preformatted += tag == "pre"
        self._add(element.text)

    def _end(self, element: etree._Element) -> None:
        tag = element.tag
        self._preformatted -= tag == "pre"
        if tag in _KEPT and tag not in _VOID:
            self._pieces.append(f"</{tag}>")
        if tag not in _CELLS and tag not in _VOID:
            self._break(tag)

    def _break(self, tag: str) -> None:
        """Part what an element parts."""
        if tag == "br":
            self._shown.break_line()
        elif tag in _CELLS:
            self._shown.begin_cell()
        elif tag in _BREAKING:
            was_inside = self._shown.begin_block()
            if was_inside and tag in _UNWRAPPED_BLOCKS:
                self._pieces.append("<br>")

    def _add(self, text: str | None) -> None:
        added = self._shown.add(text, is_preformatted=self._preformatted > 0)
        if added is not None:
            self._pieces.append(added)


def _has_wide_tag(data: bytes) -> bool:
    """Return whether a tag has too many attributes."""
    if len(data) < 2 * MAX_ATTRIBUTES:
        return False
    at = 0
    while tag := _TAG_NAME.search(data, at):
        at, count = tag.end(), 0
        while attribute := _ATTRIBUTE.match(data, at):
            at, count = attribute.end(), count + 1
            if count > MAX_ATTRIBUTES:
                return True
    return False


def _is_dropped(element: etree._Element) -> bool:
    return (
        not isinstance(element.tag, str)  # comments, processing instructions
        or element.tag in _DROPPED
        or "hidden" in element.attrib
        or bool(_NOT_SHOWN.search(element.get("style", "")))
    )


def _attributes(element: etree._Element) -> str:
    kept = (
        f' {name}="{value}"'
        for name, allowed in _ATTRIBUTES.items()
        if (value := element.get(name)) is not None and allowed.fullmatch(value)
    )
    return "".join(kept)
