"""Tags and escapes in a text that is no whole document, and the text without them.

Exports leave them in plain texts: "Sm<b>ith</b>", "&#83;mith", "\\u0053mith".
"""

from __future__ import annotations

import html
import json
import re
from html.entities import html5

from .plain import without_controls, words

_MOST_LAYERS = 4

_NAMES = words(
    "a abbr b big blockquote body br caption center cite code col colgroup dd del div "
    "dl dt em font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img "
    "input ins kbd li link main mark meta nav o:p ol p pre q s samp script section "
    "small span strike strong style sub sup table tbody td tfoot th thead title tr tt "
    "u ul var wbr"
)
_BREAKING = words(
    "blockquote br caption center dd div dl dt footer form h1 h2 h3 h4 h5 h6 header hr "
    "li main nav ol p pre section table tr ul"
)
_CELLS = frozenset(("td", "th"))
# An attribute without a value may be a word: "a <b 5 and c> 3".
_ATTRIBUTE = (
    r"""[\w:.-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
    r"|hidden|nowrap|noshade|checked|disabled|selected|readonly|compact|multiple"
)
_TAG = re.compile(
    rf"</?({'|'.join(sorted(_NAMES, key=len, reverse=True))})(?:\s+(?:{_ATTRIBUTE}))*"
    r"\s*/?>",
    re.IGNORECASE,
)
# Whatever else it is, it parts a word; "T<norm and WBC>norm" has blanks and no "=".
# Each tag matches in one way only: two would take twice the time for each tag.
_NAMED = rf"</?(?:{'|'.join(sorted(_NAMES))})\b"
_WITHIN_WORD = re.compile(
    rf"(?<=\w)(?:{_NAMED}[^<>]*>"
    rf"|(?!{_NAMED})<[A-Za-z_/!?](?:[^<>\s=]*|[^<>=]*=[^<>]*)>)+(?=\w)",
    re.IGNORECASE,
)
_NOT_SHOWN = re.compile(
    r"<!DOCTYPE\b[^<>]*>|<\?[A-Za-z][^<>]*\?>|<!\[CDATA\[|\]\]>", re.IGNORECASE
)
# Browsers read some names of letters without a semicolon, too.
_LETTERS = [name for name, text in html5.items() if name.isalnum() and text > "\xbf"]
_ENTITY = re.compile(
    r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[A-Za-z]{2,31}[0-9]{0,2};"
    rf"|(?:{'|'.join(sorted(_LETTERS, key=len, reverse=True))}))"
)
_JSON_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")


def may_hold_markup(text: str) -> bool:
    """Return whether a text may hold markup; cheap."""
    return "<" in text or "&" in text or "\\u" in text


def without_markup(text: str) -> str:
    """Return a text without tags and escapes; a text without any is returned as is.

    What would be markup again after several rounds is left, see `holds_markup`.
    """
    for _ in range(_MOST_LAYERS if may_hold_markup(text) else 0):
        plain = _opened(text)
        if plain == text:
            break
        text = plain
    return text


def holds_markup(text: str) -> bool:
    """Return whether tags or escapes are in a text."""
    return may_hold_markup(text) and _opened(text) != text


def _opened(text: str) -> str:
    if "<" in text:
        text = _NOT_SHOWN.sub("", _without_comments(text))
        text = _WITHIN_WORD.sub(_between, text)
        text = _TAG.sub(_gap, text)
    if "&" in text:
        text = _ENTITY.sub(_character, text)
    if "\\u" in text:
        text = _JSON_ESCAPES.sub(_characters, text)
    return text


def _without_comments(text: str) -> str:
    pieces, past = [], 0
    while (start := text.find("<!--", past)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        pieces.append(text[past:start])
        past = end + len("-->")
    return "".join((*pieces, text[past:]))


def _between(tags: re.Match[str]) -> str:
    """Return what parts a word: nothing, but for tags that end a line or a cell."""
    return _TAG.sub(_gap, tags[0]) if _TAG.match(tags[0]) else ""


def _gap(tag: re.Match[str]) -> str:
    name = tag[1].lower()
    return "\n" if name in _BREAKING else "\t" if name in _CELLS else ""


def _character(entity: re.Match[str]) -> str:
    return without_controls(html.unescape(entity[0]))


def _characters(escapes: re.Match[str]) -> str:
    read = json.loads(f'"{escapes[0]}"').encode("utf-16-le", "surrogatepass")
    return without_controls(read.decode("utf-16-le", "replace"))
