"""The rules of classes.toml and datatypes.toml.

A rule is a verb, and what it applies to: a type, a label, a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deid_core import Label
from deid_core.runtime.toml_files import table_of

TEXT = "#text"
_SETTINGS = frozenset({"essential", "required", "labels"})
_LABELS = {each.name: each for each in Label}


class Verb(StrEnum):
    """The treatment of an attribute, an element or a text."""

    REMOVE = "remove"
    TYPE = "type"  # an element that has rules of its own
    NARRATIVE = "narrative"
    LIST = "list"  # kept, if it is in a list
    LISTED = "listed"  # in the list that the element's rule names
    BOOLEAN = "boolean"  # kept, as in the next ones, if it is one
    NUMBER = "number"
    NUMBERS = "numbers"
    VERSION = "version"
    TEMPLATE = "template"
    CODE = "code"
    CODE_SYSTEM = "code-system"
    DISPLAY = "display"
    UNIT = "unit"
    QUANTITY = "quantity"  # a number, or an age as the policy writes it
    DATE = "date"
    SURROGATE = "surrogate"
    TERM = "term"  # scrubbed as one line of all terms of the part
    DOCUMENT = "document"  # opened, and scrubbed as a note of its own
    SET = "set"  # written with the document
    TELECOM = "telecom"
    ROOT = "root"
    EXTENSION = "extension"
    ANCHOR = "anchor"  # an identifier within the document, renumbered
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for an attribute, an element or a text.

    Args:
        verb: What is done.
        type: Of an element.
        argument: The name of a list.
        label: What it, or a name in it, is; None if the element around it says so.
        words: What is kept.
    """

    verb: Verb
    type: str = ""
    argument: str = ""
    label: Label | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Type:
    """The rules of a class or a data type.

    Args:
        name: As in counts: `Patient`, `TS`.
        rules: By element, attribute (`@code`) or `#text`.
        is_value: It is a data type, which may say that a value is masked.
        essential: The attribute without which it does.
        required: The attribute without which it is removed.
        labels: What names in it are, by @classCode; of others by `*`.
    """

    name: str
    rules: Mapping[str, Rule]
    is_value: bool
    essential: str = ""
    required: str = ""
    labels: Mapping[str, Label | None] = field(default_factory=dict)


LISTS: Mapping[str, frozenset[str]] = {
    name: frozenset(words)
    for name, words in table_of(__package__, "code_systems")["lists"].items()
}


def _rule(given: object) -> Rule:
    if isinstance(given, list):
        return Rule(Verb.LIST, words=frozenset(given))
    first, _, argument = str(given).partition(" ")
    label = _LABELS.get(argument)
    words = LISTS.get(argument, frozenset())
    if first[0].isupper():
        return Rule(Verb.TYPE, first, "" if label else argument, label, words)
    return Rule(Verb(first), "", "" if label else argument, label, words)


def _type(name: str, table: dict[str, Any], common: dict[str, Any]) -> Type:
    rules = {
        each: _rule(given)
        for each, given in (common | table).items()
        if each not in _SETTINGS
    }
    labels = {
        code: Label[label] if label else None
        for code, label in table.get("labels", {}).items()
    }
    return Type(
        name,
        rules,
        is_value="@classCode" not in rules,
        essential=table.get("essential", ""),
        required=table.get("required", ""),
        labels=labels,
    )


def _types() -> dict[str, Type]:
    classes = dict(table_of(__package__, "classes"))
    values = dict(table_of(__package__, "datatypes"))
    of_classes, of_values = classes.pop("Class"), values.pop("Value")
    same, _ = values.pop("same"), values.pop("instead")
    found = {name: _type(name, each, of_classes) for name, each in classes.items()}
    found |= {name: _type(name, each, of_values) for name, each in values.items()}
    return found | {name: found[other] for name, other in same.items()}


TYPES: Mapping[str, Type] = _types()
INSTEAD: Mapping[str, frozenset[str]] = {
    name: frozenset(types)
    for name, types in table_of(__package__, "datatypes")["instead"].items()
}
"""The types that xsi:type may name in place of another one."""
