"""Documents in which every attribute and text holds a marker of its own."""

from __future__ import annotations

from itertools import count

from lxml import etree

from streams.formats.ccda.rules import INSTEAD, TEXT, TYPES, Type
from streams.formats.ccda.xml_text import NAMESPACES, SDTC, V3, XSI_TYPE
from streams.formats.values import Verb

LETTERS = "bcdfghjklmnprstvwz"
FOREIGN = "urn:foreign"
DEEPEST_VALUE = 1


class Markers:
    """Makes markers, and keeps them by the path where they are."""

    def __init__(self) -> None:
        self.by_path: dict[str, str] = {}
        self._numbers = count(1)
        self._made: set[tuple[str, str]] = set()

    def marker(self, path: str) -> str:
        """Return a new marker: a word that may be a family name."""
        number = next(self._numbers)
        letters = ""
        while number:
            number, digit = divmod(number, len(LETTERS))
            letters += LETTERS[digit]
        self.by_path[f"{path} ({letters})"] = f"Qua{letters}ux"
        return f"Qua{letters}ux"

    def document(self) -> bytes:
        """Return a document of all elements that have rules, each in each class."""
        root = etree.Element(f"{{{V3}}}ClinicalDocument", nsmap=NAMESPACES)
        self._inside(TYPES["ClinicalDocument"], root, "ClinicalDocument", 0)
        written: bytes = etree.tostring(root)
        return written

    def fill(self, root: etree._Element, *, but: frozenset[str]) -> bytes:
        """Return a document with markers in all attributes and texts but some."""
        for element in root.iter(etree.Element):
            name = etree.QName(element).localname
            for key in element.attrib:
                if etree.QName(key).localname not in but:
                    element.set(key, self.marker(f"{name}@{key}"))
            if len(element) == 0 and (element.text or "").strip():
                element.text = self.marker(name)
            elif "text" not in but:
                element.text = self.marker(f"{name}.text")
            if "tail" not in but and element is not root:
                element.tail = self.marker(f"{name}.tail")
            element.append(etree.Comment(self.marker(f"{name}.comment")))
            pi = etree.ProcessingInstruction("style", self.marker(f"{name}.pi"))
            element.append(pi)
        written: bytes = etree.tostring(root)
        return written

    def _inside(
        self, type_: Type, element: etree._Element, path: str, deep: int
    ) -> None:
        for name, rule in type_.rules.items():
            where = f"{path}.{name}"
            if name == TEXT or rule.verb is Verb.NARRATIVE:
                continue
            if name.startswith("@"):
                key = name[1:].replace("sdtc:", f"{{{SDTC}}}")
                element.set(key, self.marker(where))
            else:
                self._children(type_, element, name, where, deep)
        element.set("unknown", self.marker(f"{path}@unknown"))
        element.set(f"{{{FOREIGN}}}code", self.marker(f"{path}@foreign"))
        etree.SubElement(element, f"{{{V3}}}unknown").text = self.marker(path)
        foreign = etree.SubElement(element, f"{{{FOREIGN}}}code")
        foreign.set("value", self.marker(path))
        foreign.text = self.marker(path)
        element.text = self.marker(f"{path}.text")
        foreign.tail = self.marker(f"{path}.tail")

    def _children(
        self, type_: Type, element: etree._Element, name: str, where: str, deep: int
    ) -> None:
        rule = type_.rules[name]
        local = name.removeprefix("sdtc:")
        tag = f"{{{SDTC if local != name else V3}}}{local}"
        if rule.verb is Verb.REMOVE:
            etree.SubElement(element, tag).text = self.marker(where)
            return
        if rule.verb is not Verb.TYPE:
            return
        is_value = TYPES[rule.type].is_value
        if is_value and deep > DEEPEST_VALUE:
            return
        if not is_value:
            if (type_.name, name) in self._made:
                return
            self._made.add((type_.name, name))
        types = sorted(INSTEAD["ANY"]) if rule.type == "ANY" else [rule.type]
        for each in types:
            child = etree.SubElement(element, tag)
            self._inside(
                TYPES[each], child, f"{where}:{each}", deep + 1 if is_value else 0
            )
            if rule.type == "ANY":
                child.set(XSI_TYPE, each)
