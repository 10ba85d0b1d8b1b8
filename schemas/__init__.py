"""The contract of every topic: one JSON Schema per kind of value and version.

Within a version only optional properties are added; anything else is a new version in a
file of its own.  What subscribers read is open: they ignore unknown properties.  What
phistream reads is closed: an unknown property may hold PHI, so the record is refused.
README.md lists which is which; `streams.kafka.topics` declares each topic's version.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import fastjsonschema
import orjson

FOLDER = resources.files(__package__)

Check = Callable[[Mapping[str, Any]], None]


class SchemaError(ValueError):
    """A value breaks its schema.

    The message names the property and what the schema expects of it, never the value.

    Args:
        kind: Of value.
        path: The property, from the value's root.
        expected: What the schema asks for.
    """

    def __init__(self, kind: str, path: str, expected: str) -> None:
        super().__init__(f"{kind}: {path}: {expected}")
        self.path = path
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of the schema of one kind of value: the file KIND/vVERSION.json."""

    kind: str
    version: int

    def __str__(self) -> str:
        return f"{self.kind}/v{self.version}"

    def definition(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        file = FOLDER.joinpath(self.kind, f"v{self.version}.json")
        loaded: dict[str, Any] = orjson.loads(file.read_bytes())
        return loaded

    def versioned(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a value with the schema's version as its first property."""
        return {"schema_version": self.version, **value}

    def compile(self) -> None:
        """Compile the schema now rather than at its first use."""
        _reader(self)

    def check(self, value: Mapping[str, Any]) -> None:
        """Check a value that was read.

        Raises:
            SchemaError: It breaks the schema.
        """
        _reader(self)(value)

    def check_strictly(self, value: Mapping[str, Any]) -> None:
        """Check a value before it is written; reject undeclared properties as well.

        Readers of a published value ignore unknown properties, but the writer must not
        send what is not declared.

        Raises:
            SchemaError: It breaks the schema.
        """
        _writer(self)(value)


@functools.cache
def _reader(schema: Schema) -> Check:
    return _compiled(schema.kind, schema.definition())


@functools.cache
def _writer(schema: Schema) -> Check:
    return _compiled(schema.kind, closed(schema.definition()))


def _compiled(kind: str, definition: dict[str, Any]) -> Check:
    compiled = fastjsonschema.compile(definition, use_default=False)
    names = frozenset(_property_names(definition))

    def check(value: Mapping[str, Any]) -> None:
        try:
            compiled(value)
        except fastjsonschema.JsonSchemaValueException as error:
            # The original message and chain show the value, which may be PHI.
            # Property names outside the schema are the sender's choice as well.
            path = ".".join(n for n in error.path[1:] if n in names) or "value"
            raise SchemaError(kind, path, _expected(error)) from None

    return check


def closed(node: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return a part of a schema that also refuses undeclared properties."""
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    parts = {name: closed(each) for name, each in node.items()}
    is_object = isinstance(parts.get("properties"), dict)
    return {"additionalProperties": False, **parts} if is_object else parts


def _property_names(node: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    if isinstance(node, list):
        for each in node:
            yield from _property_names(each)
    elif isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"]
        for each in node.values():
            yield from _property_names(each)


_WORDS = {
    "type": "must be of type {}",
    "const": "must be {}",
    "enum": "must be one of {}",
    "pattern": "must match {}",
    "minLength": "must have {} or more characters",
    "maxItems": "must hold {} items at most",
}


def _expected(error: fastjsonschema.JsonSchemaValueException) -> str:
    """Describe what the broken rule asks for, without the value."""
    rule, wanted, value = error.rule, error.rule_definition, error.value
    if rule == "required":
        return f"lacks {', '.join(name for name in wanted if name not in value)}"
    if rule == "additionalProperties":
        known = error.definition["properties"]
        unknown = sum(name not in known for name in value)
        return f"holds {unknown} unknown; known: {', '.join(known)}"
    asked = wanted if isinstance(wanted, list) else [wanted]
    words = _WORDS.get(str(rule), f"breaks {rule} {{}}")
    return words.format(", ".join(map(str, asked)))
