"""Decodes values of a schema into dataclasses, and checks values that are written.

pydantic-core parses, checks and makes the objects in one compiled step, from a
description that is derived from the JSON Schema and the dataclasses.  Python code for
each step takes three to five times as long.  A value that is refused is checked once
more by `Schema`, whose message says why without showing the value.  An integer must be
written as one: 1.0 is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, Generic, TypeVar

import orjson
from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as core

from . import Schema, SchemaError, closed

T = TypeVar("T")
Node = Mapping[str, Any]

SILENT = {"$schema", "$id", "title", "description", "definitions"}
"""Keywords that restrict nothing."""
CONFIG: core.CoreConfig = {"cache_strings": "none"}
"""The parser must not keep short strings, which may be PHI, in the whole process."""

_MOST = 2**64 - 1
"""Beyond it orjson writes no integer."""


class Decoder(Generic[T]):
    """Makes objects of JSON values that keep a schema.

    Args:
        schema: Of the values.
        root: The dataclass of a value.  A property that it does not have is checked,
            and dropped.
        types: The dataclass of each definition, or property that holds an object, by
            name; an object without one becomes a dict.

    Raises:
        LookupError: The schema uses a keyword that is not supported here.
    """

    def __init__(
        self, schema: Schema, root: type[T], types: Mapping[str, type[Any]]
    ) -> None:
        self._schema = schema
        definition = schema.definition()
        described = _Description(definition, {"": root, **types})
        self._validator = SchemaValidator(described.of(definition, ""), CONFIG)

    def decode(self, value: bytes) -> T:
        """Return the object of a value.

        Raises:
            orjson.JSONDecodeError: The value is not JSON.
            SchemaError: It breaks the schema.
        """
        with suppress(ValidationError):
            decoded: T = self._validator.validate_json(value, strict=True)
            return decoded
        parsed = orjson.loads(value)
        self._schema.check(parsed)
        # JSON Schema calls 1.0 an integer.
        with suppress(ValidationError, TypeError):
            encoded = orjson.dumps(_with_integers(parsed))
            decoded = self._validator.validate_json(encoded, strict=True)
            return decoded
        raise SchemaError(self._schema.kind, "value", "can't be decoded")


def _with_integers(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    """Return a parsed value whose whole numbers are integers."""
    if isinstance(value, dict):
        return {key: _with_integers(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(_with_integers, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_encoded(schema: Schema, value: bytes) -> None:
    """Check an encoded value before it is written, as `Schema.check_strictly` does.

    Raises:
        SchemaError: It breaks the schema, or holds an undeclared property.
    """
    with suppress(ValidationError):
        _writer(schema).validate_json(value, strict=True)
        return
    schema.check_strictly(orjson.loads(value))
    raise SchemaError(schema.kind, "value", "can't be decoded")


def check_item(schema: Schema, name: str, value: bytes) -> None:
    """Check one encoded item of a list property, likewise.

    Raises:
        SchemaError: It breaks the schema, or holds an undeclared property.
    """
    with suppress(ValidationError):
        _writer(schema, name).validate_json(value, strict=True)
        return
    raise SchemaError(schema.kind, name, "holds an item that breaks the schema")


@cache
def _writer(schema: Schema, items_of: str = "") -> SchemaValidator:
    node = definition = closed(schema.definition())
    if items_of:
        node = definition["properties"][items_of]["items"]
    return SchemaValidator(_Description(definition, {}).of(node, ""), CONFIG)


class _Description:
    """Describes the parts of a JSON Schema to pydantic-core."""

    def __init__(self, root: Node, types: Mapping[str, type[Any]]) -> None:
        self._definitions: Node = root.get("definitions", {})
        self._types = types

    def of(self, node: Node, name: str) -> core.CoreSchema:
        """Return the description of a node.

        Args:
            node: Of the schema.
            name: Of its definition or property.
        """
        rules = {key: each for key, each in node.items() if key not in SILENT}
        if "$ref" in rules:
            target = str(rules["$ref"]).removeprefix("#/definitions/")
            return self.of(self._definitions[target], target)
        kind = rules.pop("type", None)
        if kind == "object":
            return self._object(rules, name)
        if kind == "array":
            described = core.tuple_variable_schema(
                self.of(rules.pop("items"), name),
                min_length=rules.pop("minItems", None),
                max_length=rules.pop("maxItems", None),
            )
            _require_none(rules)
            return described
        if isinstance(kind, list) and kind[1:] == ["null"]:
            return core.nullable_schema(_scalar(kind[0], rules))
        return _scalar(kind, rules)

    def _object(self, rules: dict[str, Any], name: str) -> core.CoreSchema:
        required = set(rules.pop("required", ()))
        others = rules.pop("additionalProperties", True)
        if isinstance(others, dict):
            _require_none(rules)
            return core.dict_schema(core.str_schema(), self.of(others, name))
        parts = {key: self.of(n, key) for key, n in rules.pop("properties").items()}
        _require_none(rules)
        extra: core.ExtraBehavior = "ignore" if others else "forbid"
        made = self._types.get(name)
        if made is None:
            optional = {
                key: core.typed_dict_field(part, required=key in required)
                for key, part in parts.items()
            }
            return core.typed_dict_schema(optional, extra_behavior=extra)
        known = {each.name: each for each in fields(made)}
        return core.dataclass_schema(
            made,
            core.dataclass_args_schema(
                made.__name__,
                [
                    core.dataclass_field(
                        key,
                        part if key in required else _optional(part, known.get(key)),
                        init_only=key not in known,
                    )
                    for key, part in parts.items()
                ],
                collect_init_only=True,
                extra_behavior=extra,
            ),
            list(known),
            slots=True,
        )


def _scalar(kind: str | None, rules: dict[str, Any]) -> core.CoreSchema:
    described: core.CoreSchema
    if kind == "string":
        described = core.str_schema(
            pattern=rules.pop("pattern", None),
            min_length=rules.pop("minLength", None),
            max_length=rules.pop("maxLength", None),
        )
    elif kind == "integer":
        described = core.int_schema(ge=rules.pop("minimum", None), le=_MOST)
    elif kind == "number":
        described = core.float_schema(
            ge=rules.pop("minimum", None), le=rules.pop("maximum", None)
        )
    elif kind == "boolean":
        described = core.bool_schema()
    elif "enum" in rules:
        described = core.literal_schema(rules.pop("enum"))
    elif isinstance(only := rules.pop("const", None), int):
        # A literal would accept true for 1.
        described = core.int_schema(ge=only, le=only)
    else:
        raise LookupError(f"type {kind} of a schema is not supported")
    _require_none(rules)
    return described


def _optional(part: core.CoreSchema, known: Field[Any] | None) -> core.CoreSchema:
    """Return the description of a property that may be absent; a text is then empty."""
    if known is None:
        return core.with_default_schema(part, default=None)
    if known.default is not MISSING:
        return core.with_default_schema(part, default=known.default)
    if known.default_factory is not MISSING:
        return core.with_default_schema(part, default_factory=known.default_factory)
    if part["type"] == "str":
        return core.with_default_schema(part, default="")
    raise LookupError(f"{known.name} has no default, but may be absent")


def _require_none(rules: Mapping[str, Any]) -> None:
    if rules:
        raise LookupError(f"not supported in a schema: {', '.join(rules)}")
