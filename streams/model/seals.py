"""Seals: keyed digests that tie an output to its input, and both to an audit event.

Every record that a stage writes, but rows of tables, has a header `seal` over its key,
value, headers and input record.  The audit event holds the digests of the input and of
all its outputs, and is sealed as well.  So `reconcile` finds what was forged, changed,
swapped or replaced (decision 22).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from streams.engine.errors import ConfigError
from streams.engine.keys.sources import read_key
from streams.engine.records import Output, Record
from streams.kafka.topics import PHI_AUDIT
from streams.kafka.versions import live_name

from .outputs import HELD, source_header

SEAL = "seal"
"""Header: id of the audit key, digest of the input record, digest of this record."""

AUDIT_KEY = b"phistream audit key "
"""What a file begins with that holds an audit key, not a pseudonym key."""

_PURPOSE = b"phistream audit 1"
KEY_BYTES = 32
_BYTES = 16
_SEAL = re.compile(rb"([0-9a-f]{8})/([0-9a-f]{32})/([0-9a-f]{32})")


def audit_key(secret: bytes) -> bytes:
    """Return the key of the seals: HKDF-SHA-256 (RFC 5869) of the pseudonym key.

    Raises:
        ConfigError: It is an audit key itself, which would make other pseudonyms.
    """
    if secret.startswith(AUDIT_KEY):
        raise ConfigError(
            "pseudonym_key_file: holds an audit key, which is for reconcile "
            "--key-file; name the file of the pseudonym key"
        )
    return HKDF(SHA256(), length=KEY_BYTES, salt=None, info=_PURPOSE).derive(secret)


def read_audit_key(path: Path, where: str) -> bytes:
    """Return the audit key of a file: of its pseudonym key, or as it is there.

    Args:
        path: A file written by ``phistream key``, with or without ``--for-audit``.
        where: The setting or option, for messages.

    Raises:
        ConfigError: The file is unreadable, or holds no key.
    """
    secret = read_key(path, where)
    if not secret.startswith(AUDIT_KEY):
        return audit_key(secret)
    try:
        key = bytes.fromhex(secret.removeprefix(AUDIT_KEY).decode())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(
            f"{where}: holds no whole audit key; make one with: "
            "phistream key FILE --for-audit PSEUDONYM_KEY_FILE"
        )
    return key


def audit_key_text(secret: bytes) -> str:
    """Return what a file with the audit key of a pseudonym key holds."""
    return AUDIT_KEY.decode() + audit_key(secret).hex()


@dataclass(frozen=True, slots=True)
class Seal:
    """The content of a header `seal`.

    Args:
        key_id: Which audit key: eight hex digits of its SHA-256.
        input: Digest of the input record.
        own: Digest of the record that has the header.
    """

    key_id: str
    input: bytes
    own: bytes

    @classmethod
    def read(cls, raw: bytes) -> Seal | None:
        """Return the seal that a header's value holds; None if it is malformed."""
        match = _SEAL.fullmatch(raw)
        if match is None:
            return None
        key_id, input, own = (each.decode() for each in match.groups())
        return cls(key_id, bytes.fromhex(input), bytes.fromhex(own))

    def __bytes__(self) -> bytes:
        return f"{self.key_id}/{self.input.hex()}/{self.own.hex()}".encode()


class Seals:
    """Makes and checks seals: HMAC-SHA-256 (RFC 2104), first 128 bits.

    Args:
        key: Of `audit_key`.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.key_id = hashlib.sha256(key).hexdigest()[:8]

    def of_input(self, record: Record) -> bytes:
        """Return the digest of an input record: its position, key and value."""
        return self._digest(b"input", source_header(record), record.key, record.value)

    def of_output(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes]],
        input: bytes,
    ) -> Seal:
        """Return the seal of an output.

        Args:
            topic: It is written to.
            key: Of the output.
            value: Of the output.
            headers: Of the output; the one of the seal does not matter.
            input: Digest of its input record.
        """
        named = sorted((n.encode(), raw) for n, raw in headers if n != SEAL)
        flat = (part for pair in named for part in pair)
        own = self._digest(b"output", topic.encode(), key, value, input, *flat)
        return Seal(self.key_id, input, own)

    def sealed(self, outputs: Iterable[Output]) -> list[Output]:
        """Return the outputs of one record, or of none, with their seals.

        The rows of tables have none: their topics are compacted.
        """
        outputs = list(outputs)
        promises: dict[bytes, _Promise] = {}
        found = [self._with_seal(each, promises) for each in outputs]
        # Last: an audit event holds the digests of the outputs of its input.
        return [self._with_promise(each, promises) for each in found]

    def sealed_alone(self, output: Output) -> Output:
        """Return an output of no input record, with its seal."""
        return self._seal(output, bytes(_BYTES))[0]

    def _with_seal(self, output: Output, promises: dict[bytes, _Promise]) -> Output:
        source = output.source
        if source is None or _is_audit(output):
            return output
        promise = self._promise(source, promises)
        output, seal = self._seal(output, promise.input)
        # A released note is no output of the audit event that says that it is held.
        if HELD not in output.headers:
            promise.outputs.setdefault(output.topic, []).append(seal.own.hex())
        return output

    def _with_promise(self, output: Output, promises: dict[bytes, _Promise]) -> Output:
        source = output.source
        if source is None or not _is_audit(output):
            return output
        promise = self._promise(source, promises)
        digests = orjson.dumps(
            {
                "key_id": self.key_id,
                "input": promise.input.hex(),
                "outputs": promise.outputs,
            }
        )
        # The event is encoded, and checked, already: an object with properties.
        value = b'%b,"digests":%b}' % ((output.value or b"{}")[:-1], digests)
        return self._seal(replace(output, value=value), promise.input)[0]

    def _promise(self, source: Record, promises: dict[bytes, _Promise]) -> _Promise:
        place = source_header(source)
        if place not in promises:
            promises[place] = _Promise(self.of_input(source))
        return promises[place]

    def _seal(self, output: Output, input: bytes) -> tuple[Output, Seal]:
        headers = output.headers
        seal = self.of_output(
            output.topic, output.key, output.value, headers.items(), input
        )
        return replace(output, headers={**headers, SEAL: bytes(seal)}), seal

    def _digest(self, kind: bytes, *parts: bytes | None) -> bytes:
        message = [kind]
        for part in parts:
            # Lengths keep the parts apart, and null from an empty value.
            message.append(b"\0-" if part is None else b"\0%d:%b" % (len(part), part))
        return hmac.digest(self._key, b"".join(message), "sha256")[:_BYTES]


def _is_audit(output: Output) -> bool:
    return live_name(output.topic) == PHI_AUDIT.name


@dataclass(frozen=True, slots=True)
class _Promise:
    """The digests that an audit event holds: of its input, and of outputs by topic."""

    input: bytes
    outputs: dict[str, list[str]] = field(default_factory=dict)
