"""The XML of i2b2's two de-identification tasks.

* 2006 (Uzuner, Luo and Szolovits 2007): one file, ``<ROOT><RECORD ID="1"><TEXT>`` with
  ``<PHI TYPE="DOCTOR">`` around each identifier.
* 2014 (Stubbs, Kotfila and Uzuner 2015): a folder of files, each with a text ``<TEXT>``
  and ``<TAGS>`` with an element for each identifier:
  ``<NAME id="P0" start="3" end="9" text="..." TYPE="PATIENT" comment="" />``.

Errors name the file and the record or tag; they never quote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from deid_core.document import Span
from deid_core.errors import ConfigError

from .conventions import Conventions
from .corpus import GoldDocument, GoldSpan, ordered


def read_i2b2_2006(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    """Yield the records of a file of 2006.

    Raises:
        ConfigError: It has another form, or an unknown tag.
    """
    for record in _root(path).iter("RECORD"):
        where = f"{path}: RECORD {record.get('ID')}"
        inner = record.find("TEXT")
        if inner is None:
            raise ConfigError(f"{where}: without TEXT")
        text, spans = inner.text or "", list[GoldSpan]()
        for each in inner:
            tag, start = each.get("TYPE", each.tag), len(text)
            text += "".join(each.itertext())
            # An empty element marks nothing.
            if len(text) > start:
                span, label = Span(start, len(text)), conventions.label_of(tag)
                spans.append(GoldSpan(span, tag, label, len(spans)))
            text += each.tail or ""
        yield ordered(record.get("ID", ""), text, spans)


def read_i2b2_2014(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    """Yield the records of a folder of 2014, in order of their file names.

    Raises:
        ConfigError: A file has another form, an unknown tag, or a tag whose text is not
            at its offsets.
    """
    for file in sorted(path.glob("*.xml")):
        root = _root(file)
        text, tags = root.findtext("TEXT"), root.find("TAGS")
        if text is None or tags is None:
            raise ConfigError(f"{file}: without TEXT or TAGS")
        spans = [
            GoldSpan(_span(each, text, file), tag, conventions.label_of(tag), at)
            for at, each in enumerate(tags)
            for tag in (each.get("TYPE", each.tag),)
        ]
        yield ordered(file.stem, text, spans)


def _span(tag: Element, text: str, file: Path) -> Span:
    where = f"{file}: tag {tag.get('id')}"
    try:
        span = Span(int(tag.get("start", "")), int(tag.get("end", "")))
    except ValueError:
        raise ConfigError(f"{where}: no start and end") from None
    # In an attribute a line end has become a space.
    if text[span.start : span.end].split() != tag.get("text", "").split():
        raise ConfigError(f"{where}: its text is not at its offsets")
    return span


def _root(path: Path) -> Element:
    try:
        # The user chose this file; expat rejects unbounded expansion.
        return ElementTree.parse(path).getroot()  # noqa: S314
    except ElementTree.ParseError as error:
        line, column = error.position
        raise ConfigError(f"{path}:{line}:{column}: not XML") from None
