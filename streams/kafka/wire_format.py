"""The wire format of schema registries: a zero byte, the schema's id, then the value.

It is Confluent's format of JSON values; the id has four bytes, big-endian.  Values
without it begin otherwise: no message, JSON or XML begins with a zero byte.

The header belongs to the transport alone.  The producer puts it before a value as the
last step: seals, digests and schemas are those of the JSON.  `value_of` in `client`
takes it off again for all that read our topics, so that `reconcile`, `dead-letters`,
`watch`, `status` and `doctor` see the same bytes with a registry and without.  Rows of
tables, `notes` and `dead.letters` never have it.

Inputs are kept as they were received: the digest of an input, and a dead letter with
its replay, include the header.  Only the decoder gets the value without it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output

from .versions import live_name

FRAMED_NAMES = frozenset({"notes.scrubbed", "hl7.scrubbed", "phi.audit"})
"""The topics whose JSON values have it when a registry is set; FRAMED in `topics`."""

SchemaIds = Mapping[str, int]
"""The id of the schema of a topic's values, by topic."""

_HEADER = struct.Struct(">BI")
_MAGIC = 0
_FIRST = bytes([_MAGIC])


class WireFormat:
    """Puts the header of their schema before values that are written.

    Args:
        ids: Without any, values stay as they are.
    """

    def __init__(self, ids: SchemaIds) -> None:
        self._headers = {topic: header(each) for topic, each in ids.items()}

    def value_of(self, output: Output) -> bytes | None:
        """Return the value to write: JSON of a topic with an id gets its header."""
        found = self._headers.get(output.topic)
        # hl7.scrubbed holds HL7 v2 and XML as well.
        if found is None or output.value is None or output.value[:1] != b"{":
            return output.value
        return found + output.value


class InputFormat:
    """Takes the header off values that other programs wrote.

    Args:
        is_known: Returns whether the registry has a schema of an id; None if no
            registry is set.
    """

    def __init__(self, is_known: Callable[[int], bool] | None = None) -> None:
        self._is_known = is_known

    def accepted(self, value: bytes, topic: str) -> bytes:
        """Return a value without its header.

        Args:
            value: As received.
            topic: For messages.

        Raises:
            InvalidRecord: It has the wire format although no registry is set, or a
                header whose id the registry does not know.
            FatalError: The registry does not answer, or refuses to.
        """
        if value[:1] != _FIRST:
            return value
        if self._is_known is None:
            raise _unsupported(
                f"{topic}: the value has the wire format of a schema registry; set "
                "schema_registry.url, or send it without"
            )
        schema_id, rest = split(value)
        if schema_id is None:
            raise _unsupported(
                f"{topic}: the value begins with a zero byte, but not with a schema's "
                "id and a value"
            )
        if not self._is_known(schema_id):
            raise _unsupported(
                f"{topic}: the schema registry does not know the id before the value; "
                "does its sender use another registry?"
            )
        return rest


def header(schema_id: int) -> bytes:
    """Return the five bytes before a value.

    Raises:
        ValueError: No registry gives such an id.
    """
    if not 0 < schema_id < 2**32:
        raise ValueError("a schema's id is a number of 1 to 4294967295")
    return _HEADER.pack(_MAGIC, schema_id)


def split(value: bytes) -> tuple[int | None, bytes]:
    """Return a schema's id and the value behind it; None and all if it has none."""
    if value[:1] != _FIRST or len(value) <= _HEADER.size:
        return None, value
    _magic, schema_id = _HEADER.unpack_from(value)
    return (schema_id, value[_HEADER.size :]) if schema_id else (None, value)


def without_header(topic: str, value: bytes | None) -> bytes | None:
    """Return a value of a topic as it was before its header, if it has one.

    What another program wrote to our topics stays as it is, and is not readable then.
    """
    if value is None or live_name(topic) not in FRAMED_NAMES:
        return value
    return split(value)[1]


def _unsupported(reason: str) -> InvalidRecord:
    return InvalidRecord(ReasonCode.UNSUPPORTED, reason)
