"""The runbook as an HTML page, so that a link to it needs no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

SCROLL_REGION = '<div class="scroll" tabindex="0" role="region" aria-label="{columns}">'
_TABLE = re.compile(r"<table>(?=\s*<thead>\s*<tr>((?:\s*<th>[^<]*</th>)*))")
_COLUMN = re.compile(r"<th>([^<]*)</th>")
PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>phistream: runbook</title>
  <link rel="icon" href="/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/watch.css">
  <script type="module" src="/theme.js"></script>
</head>
<body>
  <header class="top"><p class="back"><a href="/">← Operations page</a></p></header>
  <main id="main" class="runbook">
{body}
  </main>
</body>
</html>
"""


def slug(heading: str) -> str:
    """Return the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


@cache
def page() -> str:
    """Return the runbook as HTML."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(_text())
    _with_anchors(tokens)
    for token in tokens:
        token.children = _without_files(token.children or ()) or None
    body = markdown.renderer.render(tokens, markdown.options, {})
    # A wide table scrolls within the page.
    body = _TABLE.sub(_scroll_region, body)
    return PAGE.format(body=body.replace("</table>", "</table></div>"))


def _scroll_region(table: re.Match[str]) -> str:
    # Each region needs a name of its own: the names of the columns.
    columns = ", ".join(_COLUMN.findall(table[1]))
    return SCROLL_REGION.format(columns=columns) + table[0]


def _text() -> str:
    # A link to what operators read, in deploy; a wheel contains a copy.
    return (resources.files(__package__) / "runbook.md").read_text("utf-8")


def _with_anchors(tokens: Sequence[Token]) -> None:
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", slug(content.content))


def _without_files(tokens: Sequence[Token]) -> list[Token]:
    """Drop links to files of the repository, which are not served."""
    kept = []
    is_dropped = False
    for token in tokens:
        if token.type == "link_open":
            is_dropped = not str(token.attrGet("href")).startswith("#")
        if not (is_dropped and token.type in ("link_open", "link_close")):
            kept.append(token)
    return kept
