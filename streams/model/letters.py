"""Dead letters: the record that can't be processed, sealed for the privacy office.

Position, stage, code and reason are in the clear, and bound to the sealed record: it
does not open as that of another letter.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from streams.engine.errors import InvalidRecord
from streams.engine.keys.office import (
    SUITE,
    NotOpened,
    OfficePrivateKey,
    OfficePublicKey,
)
from streams.engine.records import Partition, Record
from streams.kafka.client import MAX_MESSAGE_BYTES
from streams.kafka.topics import DEAD_LETTERS, MIB

FORMAT = 1
"""Of the sealed record, which is compressed; another one is not opened."""
MAX_CONTENT = MAX_MESSAGE_BYTES
"""Of a sealed record before it is compressed: the largest that a client can replay."""
MAX_CIPHERTEXT = DEAD_LETTERS.max_message_bytes - MIB
"""Of a sealed record as text; the rest of the letter, and of its batch, is less."""
_LENGTH = struct.Struct(">I")
_DAMAGED = (struct.error, zlib.error)


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter as it is on the topic.

    Args:
        partition: Of its record on `dead.letters`.
        offset: Of its record on `dead.letters`.
        at_ms: When it was written, in milliseconds since 1970.
        stage: Which stage refused the original.
        code: Why.
        reason: The same in words, without values.
        source: The partition of the original.
        source_offset: The offset of the original.
        body: The whole value.
    """

    partition: int
    offset: int
    at_ms: int
    stage: str
    code: str
    reason: str
    source: Partition
    source_offset: int
    body: Mapping[str, Any] = field(repr=False)

    @property
    def place(self) -> str:
        """Its record on `dead.letters`."""
        return f"{DEAD_LETTERS.name}/{self.partition}/{self.offset}"

    @property
    def into(self) -> str:
        """The version into which `phistream rescrub` wrote; empty of the live feed."""
        return str(self.body.get("into", ""))

    @property
    def source_place(self) -> str:
        """The place of the original."""
        return f"{self.source.topic}/{self.source.index}/{self.source_offset}"

    @property
    def identity(self) -> str:
        """The place of the original, and when the letter was written.

        Topics that were deleted and made again have other letters at the same places.
        """
        return f"{self.source_place}@{self.at_ms}"

    @property
    def key_id(self) -> str:
        """The id of the key that opens it."""
        return str(self.body["sealed"]["key_id"])

    @classmethod
    def decode(cls, record: Record) -> Letter:
        """Return the letter of a record of `dead.letters`.

        Raises:
            ValueError: It is not JSON, or breaks its schema.
        """
        body = orjson.loads(record.value or b"null")
        DEAD_LETTERS.schema.check(body)
        source = body["source"]
        return cls(
            record.partition.index,
            record.offset,
            record.timestamp_ms,
            body["stage"],
            body["code"],
            body["reason"],
            # JSON Schema calls 1.0 an integer.
            Partition(source["topic"], int(source["partition"])),
            int(source["offset"]),
            body,
        )

    def original(self, keys: Mapping[str, OfficePrivateKey]) -> Record:
        """Return the original record.

        Args:
            keys: Private keys by the ids of their public keys.

        Raises:
            NotOpened: The key is another one, the letter was changed, or its original
                is not in it.
        """
        try:
            return self._opened(keys)
        except (ValueError, LookupError, TypeError, AttributeError, *_DAMAGED):
            # The errors of parsers may show a value.
            raise NotOpened("what it holds is no record") from None

    def _opened(self, keys: Mapping[str, OfficePrivateKey]) -> Record:
        sealed = self.body["sealed"]
        if (sealed["format"], sealed["suite"]) != (FORMAT, SUITE):
            raise NotOpened("its format is not known to this version of phistream")
        if sealed["key_id"] not in keys:
            given = ", ".join(keys) or "none"
            raise NotOpened(
                f"it was sealed for key {sealed['key_id']}, and given is: {given}"
            )
        bound = _bound({n: v for n, v in self.body.items() if n != "sealed"}, sealed)
        ciphertext = base64.b64decode(sealed["ciphertext"], validate=True)
        return self._unpacked(keys[sealed["key_id"]].open(ciphertext, bound))

    def _unpacked(self, compressed: bytes) -> Record:
        inflate = zlib.decompressobj()
        content = inflate.decompress(compressed, MAX_CONTENT + 1)
        is_whole = inflate.eof and not inflate.unused_data
        if not is_whole or len(content) > MAX_CONTENT:
            raise NotOpened("its content is cut off, or larger than any record")
        start = _LENGTH.size + _LENGTH.unpack_from(content)[0]
        found = orjson.loads(content[_LENGTH.size : start])
        if left_out := found.get("left_out"):
            raise NotOpened(
                f"its original of {left_out['bytes']} bytes is too large for a letter: "
                f"it is at {self.source_place} alone, as long as that topic keeps it "
                f"(SHA-256 of its value: {left_out['sha256']})"
            )
        return self._record(found, content[start:] if found["has_value"] else None)

    def _record(self, found: Mapping[str, Any], value: bytes | None) -> Record:
        headers = {n: _from_base64(raw) or b"" for n, raw in found["headers"].items()}
        return Record(
            self.source,
            self.source_offset,
            _from_base64(found["key"]),
            value,
            headers,
            int(found["timestamp_ms"]),
        )


def letter_value(
    stage: str,
    record: Record,
    error: InvalidRecord,
    source: Mapping[str, Any],
    office: OfficePublicKey,
    into: str = "",
) -> dict[str, Any]:
    """Return the value of a dead letter, without its schema's version.

    Args:
        stage: Which can't process the record.
        record: Sealed byte for byte, with its key, headers and timestamp.
        error: Why it can't be processed.
        source: The record's place, as the schema has it.
        office: Whoever has the private key may read it.
        into: The version that `phistream rescrub` writes; empty for the live feed.
    """
    content, reason = _packed(record), error.reason[:500]
    compressed = zlib.compress(content, zlib.Z_BEST_SPEED)
    # In base64 the ciphertext grows by a third.
    is_too_large = 4 * len(compressed) > 3 * MAX_CIPHERTEXT
    if is_too_large or len(content) > MAX_CONTENT:
        compressed = zlib.compress(_without_content(record, len(content)))
        reason = (
            f"{error.reason[:400]}; the original of {len(content):,} bytes is too "
            "large for a dead letter: it is at its source alone"
        )
    value: dict[str, Any] = {
        "stage": stage,
        "code": error.code,
        "reason": reason,
        "source": dict(source),
    }
    if into:
        value["into"] = into
    sealed: dict[str, Any] = {"format": FORMAT, "suite": SUITE, "key_id": office.id}
    bound = _bound(DEAD_LETTERS.schema.versioned(value), sealed)
    ciphertext = office.seal(compressed, bound)
    return value | {"sealed": sealed | {"ciphertext": _base64(ciphertext)}}


def _bound(shown: Mapping[str, Any], sealed: Mapping[str, Any]) -> bytes:
    """Return what a sealed record is bound to: all that its letter says besides it."""
    about = {name: sealed[name] for name in ("format", "suite", "key_id")}
    parts = {"topic": DEAD_LETTERS.name, "letter": dict(shown), "sealed": about}
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


def _packed(record: Record) -> bytes:
    # The value follows as it is: in base64 it would grow by a third, twice.
    about = orjson.dumps(
        {
            "key": _base64(record.key),
            "headers": {name: _base64(raw) for name, raw in record.headers.items()},
            "timestamp_ms": record.timestamp_ms,
            "has_value": record.value is not None,
        }
    )
    return _LENGTH.pack(len(about)) + about + (record.value or b"")


def _without_content(record: Record, size: int) -> bytes:
    """Return what shows which record it was: the broker would refuse the whole."""
    digest = hashlib.sha256(record.value or b"").hexdigest()
    about = orjson.dumps({"left_out": {"bytes": size, "sha256": digest}})
    return _LENGTH.pack(len(about)) + about


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _from_base64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
