"""The rules of resources.toml, datatypes.toml and extensions.toml.

A rule is a verb, and what it applies to: a label, a data type, a kind of pseudonym.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deid_core import Label
from deid_core.runtime.toml_files import table_of

NO_TYPES = frozenset({"mandatory", "instead", "patient"})
"""Tables that are about types."""
DATA_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"


class Verb(StrEnum):
    """The treatment of an element."""

    REMOVE = "remove"
    CODES = "codes"  # kept if it is one of a list
    BOOLEAN = "boolean"  # kept, as in the next two, if it is one
    NUMBER = "number"
    TIME = "time"
    DATE = "date"  # a day or a year, as the policy writes dates
    INSTANT = "instant"  # likewise, at midnight; absent where only the year is shown
    SCRUB = "scrub"  # as a note of its own, unless it is short
    TERM = "term"  # scrubbed as one line of all terms of the part
    SURROGATE = "surrogate"
    PSEUDONYM = "pseudonym"
    ID = "id"  # the pseudonym of a resource
    TYPE = "type"  # a data type with rules of its own
    RESOURCE = "resource"
    EXTENSION = "extension"
    # The next ones depend on other elements beside them.
    SYSTEM = "system"
    CODED = "coded"
    MEANING = "meaning"
    CONCEPT = "concept"
    NAMESPACE = "namespace"
    IDENTIFIER = "identifier"
    UNIT = "unit"
    QUANTITY = "quantity"
    AGE = "age"
    TELECOM = "telecom"
    REFERENCE = "reference"
    DISPLAY = "display"
    QUERY = "query"
    FULL_URL = "full-url"
    HTTP_STATUS = "http-status"
    MEDIA_TYPE = "media-type"
    DOCUMENT = "document"
    DIV = "div"


COMPLEX = frozenset({Verb.TYPE, Verb.RESOURCE, Verb.EXTENSION})
"""Verbs of elements that hold elements."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for an element.

    Args:
        verb: What is done.
        argument: A data type, or a kind of pseudonym.
        label: What it, or a name in it, is; None if the element around it says so.
        codes: What is kept.
    """

    verb: Verb
    argument: str = ""
    label: Label | None = None
    codes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Elements:
    """The rules of a resource, a data type or an extension.

    Args:
        name: Of the type; a part of a resource is `Patient.contact`.
        rules: By element.
        mandatory: Elements that say why they are absent if they are removed.
        instead: Other elements that say so for them.
    """

    name: str
    rules: Mapping[str, Rule]
    mandatory: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)


def _rule(given: object, path: str) -> Rule:
    if isinstance(given, list):
        return Rule(Verb.CODES, codes=frozenset(given))
    if isinstance(given, dict):
        return Rule(Verb.TYPE, path)
    verb, _, argument = str(given).partition(" ")
    if verb[0].isupper():
        return Rule(Verb.TYPE, verb, Label[argument] if argument else None)
    if verb == Verb.SURROGATE:
        return Rule(Verb.SURROGATE, label=Label[argument] if argument else None)
    return Rule(Verb(verb), argument)


def _types(tables: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Elements]:
    """Return the types of a file, and the parts of them that have tables of their own.

    Args:
        tables: By name.
        common: The rules that all of the parts share.
    """
    found: dict[str, Elements] = {}
    mandatory, instead = tables.get("mandatory", {}), tables.get("instead", {})
    open_ = {name: each for name, each in tables.items() if name not in NO_TYPES}
    while open_:
        name, table = open_.popitem()
        rules = {
            each: _rule(given, f"{name}.{each}")
            for each, given in (common | table).items()
        }
        open_ |= {
            f"{name}.{each}": given
            for each, given in table.items()
            if isinstance(given, dict)
        }
        needed = tuple(mandatory.get(name, ()))
        found[name] = Elements(name, rules, needed, instead.get(name, {}))
    return found


def _all_types() -> dict[str, Elements]:
    data = dict(table_of(__package__, "datatypes"))
    resources = dict(table_of(__package__, "resources"))
    element = data.pop("Element")
    any_, domain = resources.pop("Resource"), resources.pop("DomainResource")
    for name in resources.keys() - NO_TYPES:
        common = any_ if name in ("Binary", "Bundle") else any_ | domain
        resources[name] = common | resources[name]
    found = _types(data, element) | _types(resources, element)
    return found | {"Element": Elements("Element", _types({"": element}, {})[""].rules)}


def _extensions() -> dict[str, Elements]:
    """Return the rules of extensions, by URL; nested ones by both URLs."""
    found: dict[str, Elements] = {}
    for url, table in table_of(__package__, "extensions").items():
        nested = table.get("extension", {})
        rules = {n: _rule(v, url) for n, v in table.items() if n != "extension"}
        if nested:
            rules["extension"] = Rule(Verb.EXTENSION, url)
        found[url] = Elements("Extension", rules)
        for own, inner in nested.items():
            inner_rules = {n: _rule(v, own) for n, v in inner.items()}
            found[f"{url}#{own}"] = Elements("Extension", inner_rules)
    return found


TYPES: Mapping[str, Elements] = _all_types()
EXTENSIONS: Mapping[str, Elements] = _extensions()
SUBJECTS: Mapping[str, str] = table_of(__package__, "resources")["patient"]
"""The element that says whose a resource is, by resource type."""
SUPPORTED = frozenset(table_of(__package__, "resources")) - {
    *("Resource", "DomainResource"),
    *NO_TYPES,
}
"""The resource types that have rules."""
RESOURCE_TYPES = TYPES["Reference"].rules["type"].codes
"""All resource types of the standard."""
