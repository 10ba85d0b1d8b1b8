"""The rules of classes.toml and datatypes.toml.

Their words are those of `streams.formats.values`, and these:

    listed             kept if it is in the list that the element's rule names
    numbers            kept if they are some
    version, template  kept if it is one that is published
    set                written with the document
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deid_core import Label
from deid_core.runtime.toml_files import table_of
from streams.formats.values import Rule, Verb, Vocabulary

TEXT = "#text"
_SETTINGS = frozenset({"essential", "required", "labels", "like"})


class Word(StrEnum):
    """The words of rules that only C-CDA has."""

    LISTED = "listed"
    NUMBERS = "numbers"
    VERSION = "version"
    TEMPLATE = "template"
    SET = "set"


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


_VOCABULARY = Vocabulary(
    (*(each for each in Verb if each is not Verb.TYPE), *Word), lists=LISTS
)


def _type(name: str, table: dict[str, Any], common: dict[str, Any]) -> Type:
    rules = {
        each: _VOCABULARY.rule(given, f"C-CDA rules: {name}.{each}")
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
    found = {
        name: _type(name, tables.get(each.get("like"), {}) | each, common)
        for tables, common in ((classes, of_classes), (values, of_values))
        for name, each in tables.items()
    }
    return found | {name: found[other] for name, other in same.items()}


TYPES: Mapping[str, Type] = _types()
INSTEAD: Mapping[str, frozenset[str]] = {
    name: frozenset(types)
    for name, types in table_of(__package__, "datatypes")["instead"].items()
}
"""The types that xsi:type may name in place of another one."""
