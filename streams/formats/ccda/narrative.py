"""The narrative of a section: one text, and its elements with the scrubbed text.

The elements and attributes of narrative.toml are kept.  Blocks and `<br>` end lines,
cells are parted by tabs, and inline elements part nothing.  Where an element is not
kept, the text and what is written are parted alike, so that no name comes together
that the text does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from deid_core import ScrubbedDocument
from deid_core.runtime.toml_files import table_of
from streams.formats.documents.shown import ShownText, scrubbed_piece

from .xml_text import V3, attribute_name_of, attributes_of, name_of

_TABLE = table_of(__package__, "narrative")
_BLOCKS, _CELLS = frozenset(_TABLE["blocks"]), frozenset(_TABLE["cells"])
_BREAKS = frozenset(_TABLE["breaks"])
_OTHER_BLOCKS = frozenset(_TABLE["other_blocks"])
_KEPT = _BLOCKS | _CELLS | _BREAKS | frozenset(_TABLE["inline"])
_ANCHORS = frozenset(_TABLE["anchors"])
_STYLES = frozenset(_TABLE["style_codes"])
_ATTRIBUTES = {
    name: re.compile(pattern, re.ASCII)
    for name, pattern in _TABLE["attributes"].items()
}


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where a part of the text is written: in an element, or after it."""

    element: etree._Element = field(repr=False)
    is_tail: bool
    start: int
    end: int


@dataclass(slots=True)
class Narrative:
    """An opened narrative.

    Args:
        text: What it shows.
        removed: Numbers of attributes and elements that are not kept, by place.
    """

    text: str = field(default="", repr=False)
    removed: Counter[str] = field(default_factory=Counter)
    _element: etree._Element = field(
        default_factory=lambda: etree.Element(f"{{{V3}}}text"), repr=False
    )
    _slots: list[_Slot] = field(default_factory=list, repr=False)

    def write(self, target: etree._Element, scrubbed: ScrubbedDocument) -> None:
        """Write the elements and the scrubbed text below an element, once."""
        for slot in self._slots:
            piece = scrubbed_piece(scrubbed, slot.start, slot.end)
            if slot.is_tail:
                slot.element.tail = (slot.element.tail or "") + piece
            else:
                slot.element.text = (slot.element.text or "") + piece
        target.text = self._element.text
        for name, value in attributes_of(self._element):
            target.set(name, value)
        target.extend(list(self._element))


def open_narrative(
    source: etree._Element, anchor: Callable[[str], str] = lambda each: each
) -> Narrative:
    """Return the narrative of a section.

    Args:
        source: The element `text`.
        anchor: Returns what is written for an identifier within the document.
    """
    walk = _Walk(anchor)
    walk.attributes(source, walk.narrative._element)  # noqa: SLF001 (made here)
    walk.inside(source, walk.narrative._element)  # noqa: SLF001
    walk.narrative.text = walk.shown.text
    return walk.narrative


class _Walk:
    def __init__(self, anchor: Callable[[str], str]) -> None:
        self.narrative = Narrative()
        self.shown = ShownText()
        self._anchor = anchor

    def inside(self, source: etree._Element, target: etree._Element) -> None:
        """Collect what is inside of an element."""
        self._add(source.text, target, None)
        last: etree._Element | None = None
        for child in source:
            last = self._child(child, target, last)
            self._add(child.tail, target, last)

    def _child(
        self, child: etree._Element, target: etree._Element, last: etree._Element | None
    ) -> etree._Element | None:
        """Collect an element; return the last one in the target."""
        name = name_of(child)
        if name not in _KEPT:
            self.narrative.removed["other"] += 1
            return self._not_kept(child, target, last)
        self._begin(name)
        made = etree.SubElement(target, child.tag)
        self.attributes(child, made)
        self.inside(child, made)
        if name in _BLOCKS:
            self.shown.begin_block()
        return made

    def _not_kept(
        self, child: etree._Element, target: etree._Element, last: etree._Element | None
    ) -> etree._Element | None:
        """Collect what is inside of an element that is not kept, in place of it."""
        is_block = name_of(child) in _OTHER_BLOCKS
        last = self._parted(target, last) if is_block else last
        self._add(child.text, target, last)
        for each in child:
            last = self._child(each, target, last)
            self._add(each.tail, target, last)
        return self._parted(target, last) if is_block else last

    def _parted(
        self, target: etree._Element, last: etree._Element | None
    ) -> etree._Element | None:
        """End the line, in what is written as well; return its last element."""
        if self.shown.begin_block():
            return etree.SubElement(target, f"{{{V3}}}br")
        return last

    def _begin(self, name: str) -> None:
        if name in _BREAKS:
            self.shown.break_line()
        elif name in _CELLS:
            self.shown.begin_cell()
        elif name in _BLOCKS:
            self.shown.begin_block()

    def _add(
        self, text: str | None, target: etree._Element, last: etree._Element | None
    ) -> None:
        added = self.shown.add(text)
        if added is None:
            return
        element, is_tail = (target, False) if last is None else (last, True)
        self.narrative._slots.append(_Slot(element, is_tail, *added))  # noqa: SLF001

    def attributes(self, source: etree._Element, target: etree._Element) -> None:
        """Write the attributes that are kept."""
        for key, value in attributes_of(source):
            name = attribute_name_of(key).removeprefix("@")
            written = self._attribute(name, value)
            if written:
                target.set(name, written)
            else:
                known = name in _ATTRIBUTES or name == "styleCode"
                self.narrative.removed[f"text.{name}" if known else "other"] += 1

    def _attribute(self, name: str, value: str) -> str:
        if name in _ANCHORS:
            return " ".join(map(self._anchor, value.split()))
        if name == "styleCode":
            return " ".join(each for each in value.split() if each in _STYLES)
        pattern = _ATTRIBUTES.get(name)
        return value if pattern is not None and pattern.fullmatch(value) else ""
