"""Writes a resource without identifiers: every element by its rule, or not at all."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from deid_core import Label
from deid_core.language.lexicons import is_vocabulary, normal
from streams.formats import values as shared
from streams.formats.documents import Unreadable, from_base64, shown_in
from streams.formats.free_texts import Texts
from streams.formats.terminology import (
    MEDIA_TYPES,
    is_code,
    is_code_system,
    is_display,
    is_namespace,
    is_unit,
)
from streams.formats.values import (
    LONGEST_TERM,
    OTHER,
    PartWriter,
    Rule,
    Verb,
    as_term,
    identifier,
    replaced,
    shown_age,
    shown_date,
    telecom_label,
    text_of,
)
from streams.model.parts import Values

from . import references
from .json_text import Number
from .narrative import open_div
from .references import Target, canonical, target_of
from .rules import (
    COMPLEX,
    DATA_ABSENT,
    EXTENSIONS,
    RESOURCE_TYPES,
    SUPPORTED,
    TYPES,
    Elements,
    Word,
)

MASKED = {"extension": [{"url": DATA_ABSENT, "valueCode": "masked"}]}
LABELS = {
    **dict.fromkeys(("Patient", "RelatedPerson", "Person"), Label.PATIENT),
    **dict.fromkeys(("Practitioner", "PractitionerRole"), Label.DOCTOR),
    **dict.fromkeys(("Organization", "Location"), Label.HOSPITAL),
}
"""What the name of a resource is, by its type."""
ESSENTIAL = {"Narrative": "div", "Bundle.entry": "resource"}
"""Without this element nothing is written of a type."""
_TELECOM_LABELS = {
    **dict.fromkeys(("phone", "pager", "sms"), Label.PHONE),
    "fax": Label.FAX,
    "email": Label.EMAIL,
    "url": Label.URL,
}

_DATE = re.compile(
    r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?"
    r"(?:Z|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)
_TIME = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?", re.ASCII)
_NUMBER = re.compile(
    r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?(?:[eE][+-]?\d{1,2})?", re.ASCII
)
_NOTE_TYPE = re.compile(r"[A-Za-z0-9^._/-]{0,64}")
_STATUS = re.compile(r"[1-5]\d\d(?!\d)", re.ASCII)
_YEARS = frozenset({"a", "year", "years", "yr", "yrs", "y"})
_AGE_CODES = ("30525-0", "21611-9", "21612-7", "29553-5")
"""Of LOINC: age, stated, reported and calculated."""
_MOST_WORDS = 4
"""Of a concept beside its code; a longer one may be a sentence."""

_NUMBERS = frozenset({Verb.NUMBER, Verb.QUANTITY, Verb.AGE})
_WHOLE_TEXTS = frozenset({Verb.SCRUB, Verb.NARRATIVE})

Written = str | bool


@dataclass(frozen=True, slots=True)
class Known(shared.Known):
    """Information in a part on what is named in several places.

    Args:
        types: The resource type of what references point to: `Patient/123`, `urn/...`.
    """

    types: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a reference: what it is, the type of its resource, if that is known."""

    label: Label
    type: str
    name: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is.

    Args:
        name: `Patient.photo`; the names are those of the standard.
        siblings: The elements beside it, and itself.
        written: What was written of them; some verbs write more than their value.
        label: What a name is, if the element around it says so.
    """

    name: str
    siblings: Mapping[str, Any] = field(repr=False)
    written: dict[str, Any] = field(repr=False)
    label: Label | None


class Writer(PartWriter):
    """Writes the resources of a part.

    Args:
        texts: Gathers free texts or gives scrubbed ones.
        values: Of the patient.
        known: What the part says elsewhere.
    """

    _known: Known

    def __init__(self, texts: Texts, values: Values, known: Known) -> None:
        super().__init__(texts, values, known)
        self.named: list[Named] = []
        self._contained: Mapping[str, str] = {}
        self._note_type = ""
        self._verbs: Mapping[StrEnum, Callable[[Rule, str, _Place], str | None]] = {
            Verb.REMOVE: lambda rule, value, place: None,
            Verb.LIST: lambda rule, value, place: (
                value if value in rule.words else None
            ),
            Verb.NUMBER: self._number,
            Verb.TIME: lambda rule, value, place: (
                value if _TIME.fullmatch(value) else None
            ),
            Verb.SYSTEM: self._system,
            Verb.CODE: self._code,
            Word.HTTP_STATUS: _http_status,
            Word.MEDIA_TYPE: _media_type,
            Verb.DATE: self._date,
            Word.INSTANT: self._instant,
            Verb.SCRUB: self._scrub,
            Verb.TERM: self._term,
            Verb.MEANING: self._meaning,
            Word.CONCEPT: self._concept,
            Verb.IDENTIFIER: lambda rule, value, place: self._identifier(value),
            Verb.REPLACE: self._replace,
            Verb.PSEUDONYM: lambda rule, value, place: self._values.pseudonym(
                rule.argument, value.strip()
            ),
            Verb.ID: lambda rule, value, place: references.pseudonym(
                value, self._values
            ),
            Verb.NAMESPACE: lambda rule, value, place: self._namespace(value),
            Verb.UNIT: self._unit,
            Verb.QUANTITY: self._quantity,
            Verb.AGE: self._age,
            Verb.TELECOM: self._telecom,
            Verb.REFERENCE: self._reference,
            Word.DISPLAY: self._display,
            Word.QUERY: self._query,
            Word.FULL_URL: self._full_url,
            Verb.NARRATIVE: self._narrative,
        }

    def resource(self, value: object) -> dict[str, Any] | None:
        """Return a resource without identifiers; None if its type has no rules."""
        if not isinstance(value, dict):
            return None
        type_ = value.get("resourceType")
        if not isinstance(type_, str) or type_ not in SUPPORTED:
            known = isinstance(type_, str) and type_ in RESOURCE_TYPES
            self.removed[str(type_) if known else OTHER] += 1
            return None
        around = self._note_type, self._contained
        self._note_type = note_type_of(value) or self._note_type
        self._contained = {
            f"#{canonical(each['id'])}": str(each.get("resourceType"))
            for each in dicts(value.get("contained"))
            if isinstance(each.get("id"), str)
        } or self._contained
        body = {name: each for name, each in value.items() if name != "resourceType"}
        written = {"resourceType": type_, **self._elements(TYPES[type_], body, None)}
        self._note_type, self._contained = around
        return written

    def _inner(self, value: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a resource in another one; a Bundle may be that of any patient."""
        if value.get("resourceType") == "Bundle":
            self.removed["Bundle"] += 1
            return None
        return self.resource(value)

    def _elements(
        self, elements: Elements, value: Mapping[str, Any], label: Label | None
    ) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for name in dict.fromkeys(each.removeprefix("_") for each in value):
            rule = elements.rules.get(name)
            if rule is None:
                self.removed[OTHER] += 1
                continue
            place = _Place(f"{elements.name}.{name}", value, written, label)
            if rule.verb in COMPLEX:
                self._complex(rule, name, place)
            else:
                self._primitive(rule, name, place)
        if (essential := ESSENTIAL.get(elements.name)) and essential not in written:
            return {}
        for name in elements.mandatory:
            _say_absent(elements, name, value, written)
        return written

    def _complex(self, rule: Rule, name: str, place: _Place) -> None:
        if f"_{name}" in place.siblings:
            self.removed[OTHER] += 1
        given = place.siblings.get(name)
        items = given if isinstance(given, list) else [given]
        made = [self._part(rule, each, place) for each in items]
        kept = [each for each in made if each]
        if kept:
            place.written[name] = kept if isinstance(given, list) else kept[0]

    def _part(self, rule: Rule, value: object, place: _Place) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            if value is not None:
                self.removed[place.name] += 1
            return None
        if rule.verb is Word.RESOURCE:
            return self._inner(value)
        if rule.verb is Word.EXTENSION:
            return self._extension(rule, value, place)
        label = rule.label or place.label
        return self._elements(TYPES[rule.type], value, label)

    def _extension(
        self, rule: Rule, value: Mapping[str, Any], place: _Place
    ) -> dict[str, Any] | None:
        url = value.get("url")
        key = f"{rule.argument}#{url}" if rule.argument else url
        elements = EXTENSIONS.get(key) if isinstance(key, str) else None
        if elements is None:
            self.removed[place.name] += 1
            return None
        body = {name: each for name, each in value.items() if name != "url"}
        written = self._elements(elements, body, place.label)
        return {"url": url, **written} if written else None

    def _primitive(self, rule: Rule, name: str, place: _Place) -> None:
        """Write a value, or a list of them, and the extensions of each (2.6.2.3)."""
        given, more = place.siblings.get(name), place.siblings.get(f"_{name}")
        if not isinstance(given, list) and not isinstance(more, list):
            value, extras = self._value(rule, given, place), self._extras(more)
            if value is not None:
                place.written[name] = value
            if extras:
                place.written[f"_{name}"] = extras
            return
        pairs = zip_longest(_listed(given), _listed(more))
        made = [(self._value(rule, one, place), self._extras(of)) for one, of in pairs]
        made = [pair for pair in made if pair != (None, None)]
        if any(value is not None for value, _ in made):
            place.written[name] = [value for value, _ in made]
        if any(extras for _, extras in made):
            place.written[f"_{name}"] = [extras for _, extras in made]

    def _value(self, rule: Rule, value: object, place: _Place) -> Written | None:
        if value is None or value == "":
            return None
        if rule.verb is Verb.DOCUMENT:  # it is counted as unreadable
            return self._document(value, place)
        written = self._written(rule, value, place)
        if written is not None and rule.verb not in _WHOLE_TEXTS:
            written = None if self._values.is_leak(str(written)) else written
        if written is None or written == "":
            self.removed[place.name] += 1
            return None
        return written

    def _written(self, rule: Rule, value: object, place: _Place) -> Written | None:
        """Return what is written of a value of the kind that its rule is about."""
        if isinstance(value, bool):
            return value if rule.verb is Verb.BOOLEAN else None
        if not isinstance(value, str) or rule.verb is Verb.BOOLEAN:
            return None
        is_number = isinstance(value, Number)
        # A code that is sent as a number is one.
        is_kind = is_number is (rule.verb in _NUMBERS) or rule.verb is Verb.CODE
        return self._verbs[rule.verb](rule, value, place) if is_kind else None

    def _extras(self, value: object) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            if value is not None:
                self.removed[OTHER] += 1
            return None
        return self._elements(TYPES["Element"], value, None) or None

    # Values of the patient.

    def _date(self, rule: Rule, value: str, place: _Place) -> str | None:
        if not _DATE.fullmatch(value):
            return None
        return shown_date(self._values, value[: len("YYYY-MM-DD")])

    def _instant(self, rule: Rule, value: str, place: _Place) -> str | None:
        # A year alone would read as its first day.
        is_day = len(value) >= len("YYYY-MM-DD")
        shown = self._date(rule, value, place) if is_day else ""
        is_shown = shown and len(shown) == len("YYYY-MM-DD")
        return f"{shown}T00:00:00Z" if is_shown else None

    def _replace(self, rule: Rule, value: str, place: _Place) -> str | None:
        label = rule.label or place.label
        if label is None:
            return None
        return self._replaced(label, value, _string(place.siblings.get("state")))

    def _telecom(self, rule: Rule, value: str, place: _Place) -> str | None:
        label = _TELECOM_LABELS.get(_string(place.siblings.get("system")))
        return self._replaced(label or telecom_label(value), value)

    def _replaced(self, label: Label, value: str, state: str = "") -> str | None:
        value = value.strip()
        return replaced(self._values, label, value, state) if value else None

    def _age(self, rule: Rule, value: str, place: _Place) -> str | None:
        if not self._is_number(value) or float(value) < 0:
            return None
        code, unit = place.siblings.get("code"), place.siblings.get("unit")
        shown = shown_age(self._values, value, _string(code) or _string(unit))
        if shown.endswith("+"):
            if "comparator" in place.siblings:
                return None
            place.written["comparator"] = ">="
        return Number(shown.removesuffix("+")) if shown else None

    def _quantity(self, rule: Rule, value: str, place: _Place) -> str | None:
        units = place.siblings.get("code"), place.siblings.get("unit")
        if any(_string(each).lower() in _YEARS for each in units):
            return self._age(rule, value, place)
        return self._number(rule, value, place)

    # Codes and numbers.

    def _number(self, rule: Rule, value: str, place: _Place) -> str | None:
        if not self._is_number(value):
            return None
        if not _is_age(place.siblings.get("code")):
            return value
        is_shown = float(value) >= 0 and shown_age(self._values, value) == value
        return value if is_shown else None

    def _is_number(self, value: str) -> bool:
        return bool(_NUMBER.fullmatch(value)) and not self._known.has_number(value)

    def _system(self, rule: Rule, value: str, place: _Place) -> str | None:
        code = place.siblings.get("code")
        return value if self._code(rule, code, place) is not None else None

    def _code(self, rule: Rule, value: object, place: _Place) -> str | None:
        if not is_code(place.siblings.get("system"), value):
            return None
        return None if self._known.has_code(str(value)) else str(value)

    # Free text.

    def _scrub(self, rule: Rule, value: str, place: _Place) -> str | None:
        text = shown_in(value.replace("\r\n", "\n").replace("\r", "\n"))
        if not text.strip():
            return None
        if len(text) <= LONGEST_TERM and "\n" not in text:
            return self._texts.term(" ".join(text.split()), self._note_type)
        return text_of(self._texts.scrubbed(text, self._note_type))

    def _term(self, rule: Rule, value: str, place: _Place) -> str | None:
        text = as_term(value)
        if len(text) > LONGEST_TERM:
            return self._scrub(rule, value, place)
        return self._texts.term(text) if text else None

    def _meaning(self, rule: Rule, value: str, place: _Place) -> str | None:
        """Write what a code means; only the record is looked for in vocabulary."""
        system = place.siblings.get("system")
        if is_display(system, value):
            return value
        return self._meant(rule, value, place, is_public=is_code_system(system))

    def _concept(self, rule: Rule, value: str, place: _Place) -> str | None:
        """Write a concept as it was entered.

        A few words beside a public code are vocabulary, and so is a single word that is
        English or clinical, and nobody's name.
        """
        is_coded = any(
            is_code_system(each.get("system"))
            for each in dicts(place.siblings.get("coding"))
        )
        is_term = (
            len(value.split()) <= _MOST_WORDS
            if is_coded
            else is_vocabulary(normal(value.strip()))
        )
        return self._meant(rule, value, place, is_public=is_term)

    def _meant(
        self, rule: Rule, value: str, place: _Place, *, is_public: bool
    ) -> str | None:
        if not is_public or len(value) > LONGEST_TERM:
            return self._term(rule, value, place)
        text = as_term(value)
        return self._texts.term(text, is_vocabulary=True) if text else None

    def _unit(self, rule: Rule, value: str, place: _Place) -> str | None:
        return value if is_unit(value) else self._term(rule, value, place)

    def _narrative(self, rule: Rule, value: str, place: _Place) -> str | None:
        try:
            div = open_div(value)
        except Unreadable as error:
            self.unreadable[error.kind.value] += 1
            return None
        if div is None or not div.text.strip():
            return None
        scrubbed = self._texts.scrubbed(div.text, self._note_type)
        if scrubbed is None or not scrubbed.text.strip():
            return None
        return div.rebuilt(scrubbed)

    def _document(self, value: object, place: _Place) -> str | None:
        if not isinstance(value, str | bool):
            return None
        is_text = isinstance(value, str) and not isinstance(value, Number)
        text = str(value) if is_text else "?"
        declared = _string(place.siblings.get("contentType"))
        rebuilt = self._rebuilt(lambda: from_base64(text), declared, self._note_type)
        if rebuilt is None:
            return None
        place.written["contentType"] = rebuilt.media_type
        return base64.b64encode(rebuilt.data).decode("ascii") or None

    # Identifiers and references.

    def _identifier(self, value: str) -> str | None:
        value = value.strip()
        label = self._known.labels.get(value, Label.IDNUM)
        return identifier(self._values, label, value) if value else None

    def _namespace(self, value: str) -> str:
        if is_namespace(value):
            return value
        return references.namespace(value, self._values)

    def _reference(self, rule: Rule, value: str, place: _Place) -> str | None:
        target = target_of(value)
        if target is None:
            return None
        if target.form == "search":
            return self._search(target)
        id_ = references.pseudonym(target.id, self._values)
        forms = {"urn": f"urn:uuid:{id_}", "contained": f"#{id_}"}
        return forms.get(target.form, f"{target.type}/{id_}")

    def _search(self, target: Target) -> str | None:
        value = self._identifier(target.id)
        if not target.system:
            return f"{target.type}?identifier={value}"
        system = self._namespace(target.system)
        return f"{target.type}?identifier={system}|{value}"

    def _display(self, rule: Rule, value: str, place: _Place) -> str | None:
        type_ = self._type_of(place.siblings)
        label = LABELS.get(type_)
        if type_ and label is None:
            return self._term(rule, value, place)
        label = label or place.label
        if label is None:
            return None
        self.named.append(Named(label, type_, value.strip()))
        return self._replaced(label, value)

    def _type_of(self, reference: Mapping[str, Any]) -> str:
        """Return the type of what a reference points to, or an empty string."""
        target = target_of(reference.get("reference"))
        if target is not None and target.type:
            return target.type
        if target is not None:
            name = f"urn/{target.id}" if target.form == "urn" else f"#{target.id}"
            if found := self._known.types.get(name) or self._contained.get(name):
                return found
        type_ = _string(reference.get("type"))
        return type_ if type_ in RESOURCE_TYPES else ""

    def _query(self, rule: Rule, value: str, place: _Place) -> str | None:
        written = self._reference(rule, value, place)
        if written is not None:
            return written
        type_ = _string(value).partition("?")[0].rpartition("/")[2]
        return type_ if type_ in RESOURCE_TYPES else None

    def _full_url(self, rule: Rule, value: str, place: _Place) -> str | None:
        target = target_of(value)
        if target is None or target.form not in ("id", "urn"):
            return None
        id_ = references.pseudonym(target.id, self._values)
        if target.form == "urn":
            return f"urn:uuid:{id_}"
        return f"{references.BASE}/{target.type}/{id_}"


def note_type_of(resource: Mapping[str, Any]) -> str:
    """Return the code of what a resource is, as a note's type."""
    concept = resource.get("type")
    if resource.get("resourceType") in ("DiagnosticReport", "Observation"):
        concept = resource.get("code")
    if not isinstance(concept, dict):
        return ""
    codings = list(dicts(concept.get("coding")))
    known = (each for each in codings if is_code(each.get("system"), each.get("code")))
    code = _string(next(known, {}).get("code"))
    return code if _NOTE_TYPE.fullmatch(code) else ""


def dicts(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, or the one that a value is."""
    items = value if isinstance(value, list) else [value]
    yield from (each for each in items if isinstance(each, dict))


def _say_absent(
    elements: Elements, name: str, value: Mapping[str, Any], written: dict[str, Any]
) -> None:
    """Put a data-absent-reason in place of a mandatory element that was removed."""
    key = f"_{name}"
    if name in written or key in written or not {name, key} & value.keys():
        return
    given = value.get(name, value.get(key))
    absent = [MASKED] if isinstance(given, list) else MASKED
    if other := elements.instead.get(name):
        is_complex = elements.rules[other].verb in COMPLEX
        written[other] = absent if is_complex else "masked"
    else:
        written[name if elements.rules[name].verb in COMPLEX else key] = absent


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_age(code: object) -> bool:
    """Return whether a concept is the age of a person."""
    codings = dicts(code.get("coding")) if isinstance(code, dict) else ()
    return any(
        each.get("system") == "http://loinc.org" and each.get("code") in _AGE_CODES
        for each in codings
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _http_status(rule: Rule, value: str, place: _Place) -> str | None:
    found = _STATUS.match(value)
    return found[0] if found else None


def _media_type(rule: Rule, value: str, place: _Place) -> str | None:
    if "contentType" in place.written:  # that of the document as it is put back
        return _string(place.written["contentType"])
    base = value.partition(";")[0].strip().lower()
    return base if is_code(MEDIA_TYPES, base) else None
