"""The contract of every topic: one JSON Schema per value and version.

Compatibility: within a version only optional properties are added; anything else is a
new version in a file of its own.  Readers ignore properties that they don't know.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
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


class SchemaError(ValueError):
    """A value breaks its schema; the message names path and rule, never the value."""

    def __init__(self, kind: str, path: str, rule: str) -> None:
        super().__init__(f"{kind}: {path}: breaks {rule}")
        self.path = path
        self.rule = rule


def schema(kind: str, version: int = 1) -> dict[str, Any]:
    """Return the JSON Schema of a kind of value."""
    file = resources.files(__package__).joinpath(kind, f"v{version}.json")
    loaded: dict[str, Any] = orjson.loads(file.read_bytes())
    return loaded


@functools.cache
def checker(kind: str, version: int = 1) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that raises SchemaError for a value that breaks the schema."""
    compiled = fastjsonschema.compile(schema(kind, version), use_default=False)

    def check(value: Mapping[str, Any]) -> None:
        try:
            compiled(value)
        except fastjsonschema.JsonSchemaValueException as error:
            # Its message shows the value, which may be PHI; so does its chain.
            raise SchemaError(kind, _path(error), str(error.rule)) from None

    return check


def _path(error: fastjsonschema.JsonSchemaValueException) -> str:
    # Property names that the schema does not know are values of the sender's choice.
    known = [
        part for part in error.path if isinstance(part, int) or part.isidentifier()
    ]
    return ".".join(str(part) for part in known[1:]) or "value"
