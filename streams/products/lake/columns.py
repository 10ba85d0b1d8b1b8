"""Columns of a table, derived from the JSON Schemas of a topic.

Every column may be null: within a version properties are added, and rows that were
written before have none.  An object whose names are data becomes a map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from pyiceberg.schema import Schema as Columns
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
)

Node = Mapping[str, Any]
Convert = Callable[[Any], Any]

TOPIC, PARTITION, OFFSET, DAY = (
    "record_topic",
    "record_partition",
    "record_offset",
    "day",
)
OWN: Mapping[str, PrimitiveType] = {
    TOPIC: StringType(),
    PARTITION: IntegerType(),
    OFFSET: LongType(),
    DAY: DateType(),
}
"""Columns that every table has before those of its values."""

_SCALARS: Mapping[object, PrimitiveType] = {
    "string": StringType(),
    "integer": LongType(),
    "number": DoubleType(),
    "boolean": BooleanType(),
}


def columns(properties: Mapping[str, IcebergType]) -> Columns:
    """Return the columns of a table: its own, then these.

    Raises:
        LookupError: A property has the name of an own column.
    """
    taken = sorted(OWN.keys() & properties.keys())
    if taken:
        raise LookupError(f"a property has the name of a lake's column: {taken[0]}")
    ids = count(1)
    return Columns(*_fields({**OWN, **properties}, ids))


def properties_of(definitions: Iterable[Node]) -> dict[str, IcebergType]:
    """Return the types of all properties of the versions of a schema, oldest first.

    Raises:
        LookupError: A schema has a form that no column has, or two versions differ in
            the type of a property.
    """
    found: dict[str, IcebergType] = {}
    for definition in definitions:
        for name, node in definition["properties"].items():
            made = _type(node, name, definition.get("definitions", {}))
            found[name] = _united(found[name], made, name) if name in found else made
    return found


def converter(kind: IcebergType) -> Convert | None:
    """Return what makes Arrow's form of a JSON value; None where JSON's is the same.

    Arrow takes a map as pairs.
    """
    if isinstance(kind, MapType):
        inner = converter(kind.value_type)
        if inner is None:
            return lambda value: None if value is None else [*value.items()]
        return lambda value: (
            None if value is None else [(k, inner(v)) for k, v in value.items()]
        )
    if isinstance(kind, ListType):
        item = converter(kind.element_type)
        if item is None:
            return None
        return lambda value: None if value is None else [item(e) for e in value]
    if isinstance(kind, StructType):
        parts = converters({each.name: each.field_type for each in kind.fields})
        if not parts:
            return None
        return lambda value: None if value is None else converted(value, parts)
    return None


def converters(properties: Mapping[str, IcebergType]) -> dict[str, Convert]:
    """Return the converters of those properties that need one."""
    found = {name: converter(kind) for name, kind in properties.items()}
    return {name: each for name, each in found.items() if each is not None}


def converted(value: Node, parts: Mapping[str, Convert]) -> dict[str, Any]:
    """Return an object with some of its properties converted."""
    changed = {name: make(value[name]) for name, make in parts.items() if name in value}
    return {**value, **changed}


def _type(node: Node, name: str, definitions: Node) -> IcebergType:
    if "$ref" in node:
        target = str(node["$ref"]).removeprefix("#/definitions/")
        return _type(definitions[target], name, definitions)
    kind = node.get("type") or _kind_of_constants(node)
    if isinstance(kind, list):
        [kind] = [each for each in kind if each != "null"] or [None]
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array" and isinstance(node.get("items"), Mapping):
        item = _type(node["items"], name, definitions)
        return ListType(0, item, element_required=False)
    if kind == "object" and node.get("properties"):
        inner = {n: _type(e, n, definitions) for n, e in node["properties"].items()}
        return StructType(*_fields(inner, count(0)))
    if kind == "object" and isinstance(node.get("additionalProperties"), Mapping):
        value = _type(node["additionalProperties"], name, definitions)
        return MapType(0, StringType(), 0, value, value_required=False)
    raise LookupError(f"{name}: no column has the form of its schema")


def _kind_of_constants(node: Node) -> str | None:
    values = [node["const"]] if "const" in node else node.get("enum", [])
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    kinds = {names.get(type(each)) for each in values}
    return kinds.pop() if len(kinds) == 1 else None


def _united(one: IcebergType, other: IcebergType, name: str) -> IcebergType:
    """Return a type that holds the values of both versions."""
    if isinstance(one, StructType) and isinstance(other, StructType):
        fields = {each.name: each.field_type for each in one.fields}
        for each in other.fields:
            known = fields.get(each.name)
            kind = each.field_type
            fields[each.name] = kind if known is None else _united(known, kind, name)
        return StructType(*_fields(fields, count(0)))
    if isinstance(one, ListType) and isinstance(other, ListType):
        item = _united(one.element_type, other.element_type, name)
        return ListType(0, item, element_required=False)
    if isinstance(one, MapType) and isinstance(other, MapType):
        value = _united(one.value_type, other.value_type, name)
        return MapType(0, StringType(), 0, value, value_required=False)
    if type(one) is not type(other):
        raise LookupError(f"{name}: two versions of the schema differ in its type")
    return one


def _fields(types: Mapping[str, IcebergType], ids: count[int]) -> list[NestedField]:
    """Return optional fields; the catalog gives the final ids."""
    return [
        NestedField(next(ids), name, _numbered(kind, ids), required=False)
        for name, kind in types.items()
    ]


def _numbered(kind: IcebergType, ids: count[int]) -> IcebergType:
    """Return a type whose parts have ids of their own."""
    if isinstance(kind, StructType):
        return StructType(*_fields({e.name: e.field_type for e in kind.fields}, ids))
    if isinstance(kind, ListType):
        number = next(ids)
        item = _numbered(kind.element_type, ids)
        return ListType(number, item, element_required=False)
    if isinstance(kind, MapType):
        key, value = next(ids), next(ids)
        item = _numbered(kind.value_type, ids)
        return MapType(key, StringType(), value, item, value_required=False)
    return kind
