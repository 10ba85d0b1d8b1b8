"""Reads JSON in which no object gives a name twice (RFC 8259, section 4).

Parsers take the last value of such a name and say nothing: the sender means both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson

from . import SchemaError

_SPACED = re.compile(rb'"[ \t\r\n]+:')
_SPACES = (b" :", b"\t:", b"\r:", b"\n:")


def loads(kind: str, value: bytes) -> Any:  # noqa: ANN401 (any JSON value)
    """Return a JSON value.

    Args:
        kind: Of value, for the message.
        value: In UTF-8.

    Raises:
        orjson.JSONDecodeError: It is not JSON.
        SchemaError: An object of it gives a name twice.
    """
    parsed = orjson.loads(value)
    require_unique_names(kind, value, parsed)
    return parsed


def require_unique_names(kind: str, value: bytes, parsed: object) -> None:
    """Check that no object of a JSON value gives a name twice.

    Args:
        kind: Of value, for the message.
        value: JSON.
        parsed: What it holds.

    Raises:
        SchemaError: An object does.
    """
    # Each name ends with a quote and a colon.  As many of these as names in the parsed
    # objects: none was dropped.  Strings may hold more of them.
    if _name_ends(value) != _names(parsed):
        try:
            _read(value, lambda pairs: _unique(kind, pairs))
        except RecursionError:
            raise SchemaError(kind, "value", "must not be nested so deeply") from None


def elements(value: bytes) -> list[bytes] | None:
    """Return the elements of a JSON array as JSON, with names that are given twice.

    Returns:
        None if it is no array.

    Raises:
        orjson.JSONDecodeError: It is not JSON.
    """
    parsed = orjson.loads(value)
    if not isinstance(parsed, list):
        return None
    if _name_ends(value) != _names(parsed):
        try:
            parsed = _read(value, _as_given)
        except RecursionError:
            raise orjson.JSONDecodeError("nested too deeply", "", 0) from None
    return [*map(orjson.dumps, parsed)]


def _read(value: bytes, objects: Callable[[list[tuple[str, Any]]], Any]) -> Any:  # noqa: ANN401 (any JSON value)
    # Python refuses integers of thousands of digits; orjson reads them as floats.
    return json.loads(value, object_pairs_hook=objects, parse_int=orjson.loads)


def _name_ends(value: bytes) -> int:
    count = value.count(b'":')
    if any(each in value for each in _SPACES):
        count += len(_SPACED.findall(value))
    return count


def _names(parsed: object) -> int:
    count, left = 0, [parsed]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            count += len(each)
            left += each.values()
        elif isinstance(each, list):
            left += each
    return count


def _unique(kind: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise SchemaError(kind, "value", "an object gives a name twice; give it once")
    return read


def _as_given(pairs: list[tuple[str, Any]]) -> Any:  # noqa: ANN401 (JSON)
    read = dict(pairs)
    if len(read) == len(pairs):
        return read
    parts = (orjson.dumps(name) + b":" + orjson.dumps(each) for name, each in pairs)
    return orjson.Fragment(b"{" + b",".join(parts) + b"}")
