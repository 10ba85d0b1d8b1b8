"""XML of clinical documents: read without DTDs, entities and links, and written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from lxml import etree

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.documents import Unreadable
from streams.formats.documents.plain import decoded

V3 = "urn:hl7-org:v3"
SDTC = "urn:hl7-org:sdtc"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
XSI_TYPE = f"{{{XSI}}}type"
NAMESPACES = {None: V3, "sdtc": SDTC, "xsi": XSI}

MAX_CHARACTERS = 48 << 20
MAX_ELEMENTS = 200_000
MAX_ATTRIBUTES = 64
MAX_DEPTH = 120

_PREFIXES = {f"{{{V3}}}": "", f"{{{SDTC}}}": "sdtc:"}
_DECLARATION = re.compile(
    r"<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']"
)
_DECLARATION_BYTES = 256
_WHOLE_DECLARATION = re.compile(r"\s*<\?xml\s[^>]{0,300}\?>")
_BLANK = re.compile(r"\s*")


def load(value: bytes) -> etree._Element:
    """Return the root element of a clinical document.

    Raises:
        InvalidRecord: It is no well-formed clinical document, has a document type, or
            is too large.
    """
    head = value[:_DECLARATION_BYTES].decode("ascii", "ignore")
    declared = _DECLARATION.search(head)
    charset = declared[1] if declared else ""
    if charset.lower().startswith("utf-16"):
        charset = ""  # by the byte order mark
    try:
        text = decoded(value, charset)
    except Unreadable:
        raise InvalidRecord(
            ReasonCode.UNDECODABLE, "C-CDA: not in the declared encoding; send UTF-8"
        ) from None
    return loads(text)


def loads(text: str) -> etree._Element:
    """Return the root element of a clinical document; see `load`."""
    # At the start only: a search would try every run of blanks in the document.
    if declaration := _WHOLE_DECLARATION.match(text):
        text = text[declaration.end() :]
    if len(text) > MAX_CHARACTERS or text.count("<") > 3 * MAX_ELEMENTS:
        raise _too_large()
    _refuse_document_type(text)
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except (etree.LxmlError, ValueError):
        raise InvalidRecord(
            ReasonCode.BAD_XML, "C-CDA: not well-formed XML; correct the sender"
        ) from None
    if root.tag != f"{{{V3}}}ClinicalDocument":
        raise InvalidRecord(
            ReasonCode.BAD_XML,
            "C-CDA: the root is no ClinicalDocument of urn:hl7-org:v3; correct the "
            "sender",
        )
    _refuse_large(root)
    return root


def dumps(root: etree._Element) -> bytes:
    """Return a document in UTF-8."""
    written: bytes = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return written


def text_of(root: etree._Element) -> str:
    """Return a document as a text."""
    written: str = etree.tostring(root, encoding="unicode")
    return written


def new_document(source: etree._Element) -> etree._Element:
    """Return an empty document; its namespaces have the usual prefixes."""
    # The stubs of lxml have no default namespace.
    namespaces = cast(Mapping[str, str], NAMESPACES)
    return etree.Element(source.tag, nsmap=namespaces)


def attributes_of(element: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an element."""
    for key, value in element.items():
        yield str(key), str(value)


def name_of(element: etree._Element) -> str:
    """Return the name of an element: `code`, `sdtc:raceCode`; else an empty string."""
    return _name(element.tag)


def attribute_name_of(key: str) -> str:
    """Return the name of an attribute as rules have it, or an empty string."""
    if not key.startswith("{"):
        return f"@{key}"
    name = _name(key)
    return f"@{name}" if name.startswith("sdtc:") else ""


def _name(tag: object) -> str:
    if not isinstance(tag, str):
        return ""
    namespace, _, local = tag.rpartition("}")
    prefix = _PREFIXES.get(f"{namespace}}}")
    return "" if prefix is None else prefix + local


def children(element: etree._Element, *path: str) -> list[etree._Element]:
    """Return the descendants at the end of a path of names."""
    found = [element]
    for name in path:
        found = [each for one in found for each in one if name_of(each) == name]
    return found


def _refuse_document_type(text: str) -> None:
    """Refuse a document type: before the document, where alone it may be."""
    at = _end_of_blanks(text, 0)
    while text.startswith(("<?", "<!--"), at):
        end = "?>" if text.startswith("<?", at) else "-->"
        found = text.find(end, at)
        if found < 0:
            break
        at = _end_of_blanks(text, found + len(end))
    if text.startswith("<!", at):
        raise InvalidRecord(
            ReasonCode.BAD_XML,
            "C-CDA: the document has a document type (DTD); remove it",
        )


def _end_of_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _refuse_large(root: etree._Element) -> None:
    depth = count = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "end":
            depth -= 1
            continue
        depth += 1
        count += 1
        is_wide = len(element.attrib) > MAX_ATTRIBUTES
        if depth > MAX_DEPTH or count > MAX_ELEMENTS or is_wide:
            raise _too_large()


def _too_large() -> InvalidRecord:
    return InvalidRecord(
        ReasonCode.TOO_LARGE,
        "C-CDA: the document is too large or nested too deeply; divide it",
    )
