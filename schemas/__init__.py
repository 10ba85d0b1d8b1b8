"""The contract of every topic: one JSON Schema per value and version.

Compatibility: within a version only optional properties are added; anything else is a
new version in a file of its own.  What subscribers read is open: they ignore properties
that they do not know.  What phistream reads is closed: a property that it does not know
may hold PHI, so the record is refused.  README.md lists which is which.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any

import fastjsonschema
import orjson

KINDS = (
    "note_event",
    "notes",
    "patients",
    "notes.scrubbed",
    "phi.audit",
    "dead.letters",
)

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


def schema(kind: str, version: int = 1) -> dict[str, Any]:
    """Return the JSON Schema of a kind of value."""
    file = resources.files(__package__).joinpath(kind, f"v{version}.json")
    loaded: dict[str, Any] = orjson.loads(file.read_bytes())
    return loaded


@functools.cache
def checker(kind: str, version: int = 1) -> Check:
    """Return a reader's check: it raises SchemaError for what breaks the schema."""
    return _compiled(kind, schema(kind, version))


@functools.cache
def strict_checker(kind: str, version: int = 1) -> Check:
    """Return the writer's check: it refuses undeclared properties at every level, too.

    Readers of a published value ignore what they do not know; the writer must not send
    what nobody has declared.
    """
    closed: dict[str, Any] = _closed(schema(kind, version))
    return _compiled(kind, closed)


def _compiled(kind: str, definition: dict[str, Any]) -> Check:
    compiled = fastjsonschema.compile(definition, use_default=False)
    names = frozenset(_property_names(definition))

    def check(value: Mapping[str, Any]) -> None:
        try:
            compiled(value)
        except fastjsonschema.JsonSchemaValueException as error:
            # Its message shows the value, which may be PHI; so does its chain.
            path = ".".join(_known(error.path[1:], names)) or "value"
            raise SchemaError(kind, path, _expected(error)) from None

    return check


def _closed(node: Any) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    closed = {name: _closed(each) for name, each in node.items()}
    is_object = isinstance(closed.get("properties"), dict)
    return {"additionalProperties": False, **closed} if is_object else closed


def _property_names(node: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    if isinstance(node, list):
        for each in node:
            yield from _property_names(each)
    elif isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"]
        for each in node.values():
            yield from _property_names(each)


def _known(path: list[str], names: frozenset[str]) -> Iterator[str]:
    # Property names that the schema does not know are values of the sender's choice.
    return (part for part in path if part in names)


_WORDS = {
    "type": "must be of type {}",
    "const": "must be {}",
    "enum": "must be one of {}",
    "pattern": "must match {}",
    "minLength": "must have {} or more characters",
    "maxItems": "must hold {} items at most",
}


def _expected(error: fastjsonschema.JsonSchemaValueException) -> str:
    """Say what a rule of the schema asks for, in words; the value is not shown."""
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
