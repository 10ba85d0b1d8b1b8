"""JSON as FHIR has it: a name occurs once, a number stays as it is written.

`orjson` decides what JSON is (UTF-8, no lone surrogates, no NaN); the standard library
reads it, since only that shows every name and every digit.
"""

from __future__ import annotations

import codecs
import json
from typing import Any

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

MAX_DEPTH = 64


class Number(str):
    """A number as it is written: 1.50 is not 1.5 (FHIR R4, 2.24.0.1, decimal)."""

    __slots__ = ()


def loads(value: bytes | str) -> dict[str, Any]:
    """Return a JSON object; its numbers are `Number`.

    Raises:
        InvalidRecord: It is none, gives a name twice, or is nested too deeply.
    """
    if isinstance(value, bytes):
        value = value.removeprefix(codecs.BOM_UTF8)
    try:
        orjson.loads(value)
        read = json.loads(
            value,
            object_pairs_hook=_object,
            parse_float=Number,
            parse_int=Number,
        )
    except (orjson.JSONDecodeError, json.JSONDecodeError, RecursionError):
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "FHIR: the value is not JSON; send UTF-8"
        ) from None
    if not isinstance(read, dict):
        raise InvalidRecord(ReasonCode.SCHEMA, "FHIR: the value is not a resource")
    _check_depth(read)
    return read


def dumps(value: object) -> bytes:
    """Return compact JSON in UTF-8."""
    return orjson.dumps(
        value, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise InvalidRecord(
            ReasonCode.SCHEMA, "FHIR: an object gives a name twice; give it once"
        )
    return read


def _as_written(value: object) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.encode())
    raise TypeError(type(value).__name__)


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list):
                below += each
        level = [each for each in below if isinstance(each, dict | list)]
        if not level:
            return
    raise InvalidRecord(
        ReasonCode.SCHEMA, f"FHIR: nested over {MAX_DEPTH} levels; send a flatter one"
    )
