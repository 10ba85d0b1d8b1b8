"""Writes a document without identifiers: every element by its rule, or not at all."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lxml import etree

from deid_core import Label, ScrubbedDocument
from deid_core.document import OffsetMap
from deid_core.surrogates.tag import tag_of
from streams.formats.free_texts import Texts
from streams.formats.terminology import is_unit
from streams.formats.values import (
    IN_A_YEAR,
    LONGEST_TERM,
    OTHER,
    Known,
    PartWriter,
    Rule,
    Verb,
    as_term,
    identifier,
    replaced,
    shown_age,
    shown_date,
)
from streams.model.parts import Values

from .datatypes import ENCODED, data_of, day_of, media_type_of, telecom_of
from .narrative import open_narrative
from .rules import INSTEAD, TEXT, TYPES, Type, Word
from .terminology import (
    is_code,
    is_code_system,
    is_display,
    is_language,
    is_public_root,
    is_template,
    is_version,
    type_of_root,
)
from .xml_text import XSI_TYPE, attribute_name_of, attributes_of, name_of, new_document

MASKED = "MSK"

_ANY = "ANY"
_INSTANCE = "instance"
"""The kind of identifiers of acts, documents, persons and institutions."""
_BOOLEAN = frozenset({"true", "false"})
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_NUMBERS = re.compile(r"\s*-?\d{1,7}(?:\s+-?\d{1,7})*\s*", re.ASCII)
_PARTIAL_DAY = re.compile(r"(\d{4})(\d\d)?", re.ASCII)
_MOST_WORDS = 6
"""Of a section's title that is as good as a code."""
_TEXT_TYPES = frozenset({"", "text/plain"})
_BLANK = ScrubbedDocument("", "", (), OffsetMap())
_REPRESENTATIONS = frozenset({ENCODED, "TXT"})
_LABELS_OF_ROOTS = {
    "SS": Label.SSN,
    "DL": Label.LICENSE,
    "NPI": Label.LICENSE,
    "MC": Label.HEALTHPLAN,
    "DEV": Label.DEVICE,
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is.

    Args:
        source: The element that has it.
        target: What is written of the element.
        of_element: The rule of the element.
        label: What a name in it is; None for that of a product.
        note_type: The code of the section, or of the document.
    """

    source: etree._Element = field(repr=False)
    target: etree._Element = field(repr=False)
    of_element: Rule
    label: Label | None
    note_type: str


@dataclass(frozen=True, slots=True)
class _Around:
    label: Label | None = Label.PATIENT
    note_type: str = ""


class Writer(PartWriter):
    """Writes a document.

    Args:
        texts: Gathers free texts or gives scrubbed ones.
        values: Of the patient.
        known: What the header says.
    """

    def __init__(self, texts: Texts, values: Values, known: Known) -> None:
        super().__init__(texts, values, known)
        self._anchors: dict[str, str] = {}
        self._verbs: Mapping[StrEnum, Callable[[Rule, str, _Place], str | None]] = {
            Verb.REMOVE: lambda rule, value, place: None,
            Word.SET: lambda rule, value, place: None,
            Verb.LIST: _listed,
            Word.LISTED: lambda rule, value, place: _listed(
                place.of_element, value, place
            ),
            Verb.BOOLEAN: _if(lambda value: value in _BOOLEAN),
            Verb.NUMBER: self._number,
            Word.NUMBERS: _if(_NUMBERS.fullmatch),
            Word.VERSION: _if(is_version),
            Word.TEMPLATE: _if(is_template),
            Verb.CODE: self._code,
            Verb.SYSTEM: self._system,
            Verb.MEANING: self._meaning,
            Verb.UNIT: _if(is_unit),
            Verb.QUANTITY: self._quantity,
            Verb.DATE: self._date,
            Verb.REPLACE: self._replace,
            Verb.TERM: self._term,
            Verb.DOCUMENT: self._document,
            Verb.TELECOM: self._telecom,
            Verb.NAMESPACE: self._namespace,
            Verb.IDENTIFIER: self._identifier,
            Verb.ID: lambda rule, value, place: self._anchored(value.strip()),
            Verb.REFERENCE: self._reference,
        }

    def document(self, source: etree._Element) -> etree._Element:
        """Return a document without identifiers."""
        target = new_document(source)
        rule = Rule(Verb.TYPE, "ClinicalDocument")
        self._inside(TYPES[rule.type], rule, source, target, _Around())
        return target

    def _inside(
        self,
        type_: Type,
        rule: Rule,
        source: etree._Element,
        target: etree._Element,
        around: _Around,
    ) -> None:
        """Write the attributes, the elements and the text of an element."""
        around = _Around(
            _label_of(type_, rule, source, around.label),
            note_type_of(source) or around.note_type
            if type_.name in ("ClinicalDocument", "Section")
            else around.note_type,
        )
        place = _Place(source, target, rule, around.label, around.note_type)
        self._attributes(type_, place)
        for child in source:
            self._child(type_, child, target, around)
        self._text(type_, place)

    def _attributes(self, type_: Type, place: _Place) -> None:
        for key, value in attributes_of(place.source):
            if key == XSI_TYPE:
                continue
            name = attribute_name_of(key)
            written = self._value(type_, name, value, place)
            if written:
                place.target.set(key, written)

    def _child(
        self,
        parent: Type,
        source: etree._Element,
        target: etree._Element,
        around: _Around,
    ) -> None:
        name = name_of(source)
        rule = parent.rules.get(name)
        if rule is None or rule.verb is Verb.REMOVE:
            self.removed[f"{parent.name}.{name}" if rule else OTHER] += 1
            return
        if rule.verb is Verb.NARRATIVE:
            self._narrative(source, etree.SubElement(target, source.tag), around)
            return
        type_, named = self._type_of(rule, source)
        if rule.type == _ANY and not named:
            self.removed[f"{parent.name}.{name}"] += 1
            return
        made = etree.SubElement(target, source.tag)
        if named:
            made.set(XSI_TYPE, named)
        self._inside(type_, rule, source, made, around)
        if type_.required and type_.required not in made.attrib:
            target.remove(made)
        elif type_.is_value:
            _mask(type_, source, made)

    def _type_of(self, rule: Rule, source: etree._Element) -> tuple[Type, str]:
        """Return the type of an element, and its name if xsi:type says it."""
        given = source.get(XSI_TYPE)
        if given is None:
            return TYPES[rule.type], ""
        name = given.strip().rpartition(":")[2]
        if name in INSTEAD.get(rule.type, ()):
            return TYPES[name], name
        if name != rule.type:
            self.removed[OTHER] += 1
        return TYPES[rule.type], ""

    def _text(self, type_: Type, place: _Place) -> None:
        texts = [place.source.text, *(each.tail for each in place.source)]
        text = " ".join(each for each in texts if each)
        if not text.strip():
            return
        rule = type_.rules.get(TEXT)
        is_beside_parts = (
            rule is not None and rule.verb is Verb.REPLACE and len(place.target) > 0
        )
        if is_beside_parts:
            self.removed[OTHER] += 1
            return
        written = self._value(type_, TEXT, text, place)
        if written:
            place.target.text = written

    def _value(self, type_: Type, name: str, value: str, place: _Place) -> str | None:
        """Return what is written of an attribute or a text; count what is removed."""
        if not value.strip():
            return None
        rule = type_.rules.get(name)
        if rule is None:
            self.removed[OTHER] += 1
            return None
        written = self._verbs[rule.verb](rule, value, place)
        if written and rule.verb is not Verb.DOCUMENT and self._values.is_leak(written):
            written = None
        if not written and rule.verb not in (Word.SET, Verb.DOCUMENT):
            shown = name.replace("@", "").replace(TEXT, "text")
            self.removed[f"{type_.name}.{shown}"] += 1
        return written or None

    # Values of the patient.

    def _date(self, rule: Rule, value: str, place: _Place) -> str | None:
        written = day_of(value)
        if not written:
            found = _PARTIAL_DAY.fullmatch(value.strip())
            written = "-".join(filter(None, found.groups())) if found else ""
        return shown_date(self._values, written).replace("-", "") if written else None

    def _replace(self, rule: Rule, value: str, place: _Place) -> str | None:
        label = rule.label or place.label
        if label is None:
            return self._term(rule, value, place)
        return replaced(self._values, label, " ".join(value.split()))

    def _telecom(self, rule: Rule, value: str, place: _Place) -> str | None:
        telecom = telecom_of(value)
        shown = self._values.replaced(telecom.label, telecom.value)
        if shown == tag_of(telecom.label):
            return None  # no address may be a tag
        return telecom.scheme + shown.replace(" ", "")

    def _quantity(self, rule: Rule, value: str, place: _Place) -> str | None:
        written, unit = self._number(rule, value, place), place.source.get("unit", "")
        if written is None or unit not in IN_A_YEAR:
            return written
        shown = shown_age(self._values, written, unit)
        return None if shown.endswith("+") else shown

    # Codes and numbers.

    def _number(self, rule: Rule, value: str, place: _Place) -> str | None:
        written = value.strip()
        if not _NUMBER.fullmatch(written) or self._known.has_number(written):
            return None
        return written

    def _code(self, rule: Rule, value: str, place: _Place) -> str | None:
        code = value.strip()
        if not is_code(place.source.get("codeSystem", ""), code):
            return None
        return None if self._known.has_code(code) else code

    def _system(self, rule: Rule, value: str, place: _Place) -> str | None:
        code = place.source.get("code")
        if code is not None and self._code(rule, code, place) is None:
            return None
        return value if is_code_system(value) else None

    def _meaning(self, rule: Rule, value: str, place: _Place) -> str | None:
        """Keep what a code means; one in which something is replaced is wrong."""
        system = place.source.get("codeSystem", "")
        if not is_code_system(system):
            return None
        shown = " ".join(value.split())
        if is_display(system, shown):
            return shown
        text = as_term(shown)
        return shown if self._texts.term(text, is_vocabulary=True) == shown else None

    # Free text.

    def _term(self, rule: Rule, value: str, place: _Place) -> str | None:
        text = as_term(value)
        if len(text) <= LONGEST_TERM:
            return self._texts.term(text)
        scrubbed = self._texts.scrubbed(text, place.note_type)
        return scrubbed.text if scrubbed else None

    def _narrative(
        self, source: etree._Element, target: etree._Element, around: _Around
    ) -> None:
        narrative = open_narrative(source, self._anchored)
        self.removed.update(narrative.removed)
        scrubbed: ScrubbedDocument | None = _BLANK
        if narrative.text.strip():
            scrubbed = self._texts.scrubbed(narrative.text, around.note_type)
        if scrubbed is not None:
            narrative.write(target, scrubbed)

    def _document(self, rule: Rule, value: str, place: _Place) -> str | None:
        """Write a text, or a document in it, and what says how it is written."""
        source, target = place.source, place.target
        media_type = media_type_of(source)
        representation = source.get("representation", "")
        is_encoded = representation == ENCODED
        if not is_encoded and media_type in _TEXT_TYPES and len(value) <= LONGEST_TERM:
            _say_how(target, media_type, representation)
            text = as_term(value)
            if _is_title_of_code(source, text):
                return self._texts.term(text, is_vocabulary=True)
            return self._texts.term(text, place.note_type)
        rebuilt = self._rebuilt(
            lambda: data_of(source, value), media_type, place.note_type
        )
        if rebuilt is None:
            return None
        written_type = rebuilt.media_type.partition(";")[0]
        is_said = media_type or written_type not in _TEXT_TYPES
        _say_how(target, written_type if is_said else "", representation)
        if is_encoded:
            return base64.b64encode(rebuilt.data).decode("ascii")
        return rebuilt.data.decode()

    # Identifiers.

    def _namespace(self, rule: Rule, value: str, place: _Place) -> str | None:
        root = value.strip()
        if "extension" in place.source.attrib or "nullFlavor" in place.source.attrib:
            return root if is_public_root(root) else self._uuid("system", _urn(root))
        # The root alone is the identifier; the letter case of a UUID means nothing.
        return self._uuid(_INSTANCE, root.lower())

    def _identifier(self, rule: Rule, value: str, place: _Place) -> str | None:
        value = value.strip()
        of_root = type_of_root(place.source.get("root", ""))
        label = (
            _LABELS_OF_ROOTS.get(of_root)
            or self._known.labels.get(value)
            or place.of_element.label
        )
        # The same identifier is the same thing, whatever refers to it.
        if label is None:
            return self._values.pseudonym(_INSTANCE, value)
        return identifier(self._values, label, value, _INSTANCE)

    def _uuid(self, kind: str, value: str) -> str:
        return str(uuid.UUID(hex=self._values.pseudonym(kind, value)))

    def _anchored(self, value: str) -> str:
        """Return a number for an identifier within the document."""
        return self._anchors.setdefault(value, f"n{len(self._anchors) + 1}")

    def _reference(self, rule: Rule, value: str, place: _Place) -> str | None:
        name = value.strip().removeprefix("#")
        is_within = value.strip().startswith("#") and name
        return f"#{self._anchored(name)}" if is_within else None


def note_type_of(holder: etree._Element) -> str:
    """Return the code of a document or a section, if it is of a known system."""
    codes = (each for each in holder if name_of(each) == "code")
    code = next(codes, None)
    if code is None:
        return ""
    found = code.get("code", "")
    return found if is_code(code.get("codeSystem", ""), found) else ""


def _is_title_of_code(source: etree._Element, text: str) -> bool:
    """Return whether a text is the title of a section that a public system names."""
    section = source.getparent()
    if section is None or name_of(section) != "section" or name_of(source) != "title":
        return False
    codes = (each.get("codeSystem", "") for each in section if name_of(each) == "code")
    return len(text.split()) <= _MOST_WORDS and any(map(is_code_system, codes))


def _label_of(
    type_: Type, rule: Rule, source: etree._Element, around: Label | None
) -> Label | None:
    if rule.label is not None:
        return rule.label
    if not type_.labels:
        return around
    return type_.labels.get(source.get("classCode", ""), type_.labels["*"])


def _mask(type_: Type, source: etree._Element, made: etree._Element) -> None:
    """Say that a value is masked where it was removed."""
    if "nullFlavor" in made.attrib:
        return
    is_empty, was_empty = _is_empty(made), _is_empty(source)
    essential = type_.essential
    lacks = essential and essential in source.attrib and essential not in made.attrib
    if lacks or (is_empty and not was_empty):
        made.set("nullFlavor", MASKED)


def _is_empty(element: etree._Element) -> bool:
    return not (len(element) or element.text or set(element.keys()) - {XSI_TYPE})


def _urn(root: str) -> str:
    return f"urn:oid:{root}"


def _say_how(target: etree._Element, media_type: str, representation: str) -> None:
    """Say how a text is written."""
    if media_type:
        target.set("mediaType", media_type)
    if representation in _REPRESENTATIONS:
        target.set("representation", representation)


def _listed(rule: Rule, value: str, place: _Place) -> str | None:
    """Keep a word, or each of several words; languages are those of a code system."""
    if rule.argument == "language" and is_language(value.strip()):
        return value.strip()
    if value.strip() in rule.words:
        return value.strip()
    kept = [each for each in value.split() if each in rule.words]
    return " ".join(kept) if kept and len(kept) == len(value.split()) else None


def _if(
    is_kept: Callable[[str], object],
) -> Callable[[Rule, str, _Place], str | None]:
    """Return a verb that keeps a value if it is of its form."""
    return lambda rule, value, place: value if is_kept(value) else None
