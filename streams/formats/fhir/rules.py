"""The rules of resources.toml, datatypes.toml and extensions.toml.

Their words are those of `streams.formats.values`, and these:

    resource, extension      as the rules of its type, or of its URL, say
    instant                  a day, at midnight; absent where only the year is shown
    concept                  a concept as it was entered
    display                  the name of what a reference points to
    query, full-url          an address that holds a reference
    http-status, media-type  kept if it is one
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deid_core.runtime.toml_files import table_of
from streams.formats.values import Rule, Verb, Vocabulary

NO_TYPES = frozenset({"mandatory", "instead", "patient", "lists"})
"""Tables that are about types."""
DATA_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"


class Word(StrEnum):
    """The words of rules that only FHIR has."""

    RESOURCE = "resource"
    EXTENSION = "extension"
    INSTANT = "instant"
    CONCEPT = "concept"
    DISPLAY = "display"
    QUERY = "query"
    FULL_URL = "full-url"
    HTTP_STATUS = "http-status"
    MEDIA_TYPE = "media-type"


COMPLEX = frozenset({Verb.TYPE, Word.RESOURCE, Word.EXTENSION})
"""Verbs of elements that hold elements."""
_VOCABULARY = Vocabulary(
    (*(each for each in Verb if each is not Verb.TYPE), *Word),
    lists={
        name: frozenset(words)
        for name, words in table_of(__package__, "datatypes")["lists"].items()
    },
)


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
    if isinstance(given, dict):
        return Rule(Verb.TYPE, path)
    return _VOCABULARY.rule(given, f"FHIR rules: {path}")


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
            rules["extension"] = Rule(Word.EXTENSION, argument=url)
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
RESOURCE_TYPES = TYPES["Reference"].rules["type"].words
"""All resource types of the standard."""
