"""The key pair of the privacy office: whoever has the public key can only seal.

Hybrid public-key encryption (HPKE, RFC 9180) as the cryptography package has it: a data
key for each message by X25519 and HKDF-SHA256, the message under it by AES-256-GCM.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from streams.engine.errors import ConfigError

from .files import read_private, read_public, write_private

SUITE = "HPKE-X25519-HKDF-SHA256-AES-256-GCM"
MAKE = "phistream keys pair FILE"
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


class NotOpened(Exception):
    """A sealed message does not open with this key; the message says why."""


@dataclass(frozen=True, slots=True)
class OfficePublicKey:
    """Seals messages that only the privacy office can open.

    Args:
        key: The public key.
        id: The first 16 hex digits of its SHA-256.
    """

    key: X25519PublicKey = field(repr=False)
    id: str

    @classmethod
    def of(cls, key: X25519PublicKey) -> OfficePublicKey:
        """Return a key with its id."""
        return cls(key, hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16])

    @classmethod
    def read(cls, path: Path, where: str) -> OfficePublicKey:
        """Return the public key of a file.

        Args:
            path: A file in PEM.
            where: The setting or option, for messages.

        Raises:
            ConfigError: It is unreadable, no public key of X25519, a private key, or
                one that seals nothing.
        """
        content = read_public(path, where, MAKE)
        if b"PRIVATE KEY" in content:
            raise ConfigError(
                f"{where}: holds a private key, which no worker may have; name the "
                "file of the public key (.pub)"
            )
        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, X25519PublicKey):
            raise ConfigError(
                f"{where}: no public key of X25519 in PEM; make a pair with: {MAKE}"
            )
        office = cls.of(key)
        try:
            office.seal(b"", b"")
        except ValueError:
            # Of small order, e.g. all zero (RFC 7748, section 6.1).
            raise ConfigError(
                f"{where}: nothing can be sealed with this key; make a pair with: "
                f"{MAKE}"
            ) from None
        return office

    def seal(self, content: bytes, bound: bytes) -> bytes:
        """Return content that only the private key opens.

        Args:
            content: To be sealed.
            bound: What must be given again to open it; it is not part of the result.
        """
        return _SUITE.encrypt(content, self.key, bound)


@dataclass(frozen=True, slots=True)
class OfficePrivateKey:
    """Opens what was sealed for the privacy office."""

    key: X25519PrivateKey = field(repr=False)

    @property
    def public(self) -> OfficePublicKey:
        """The public key of the pair."""
        return OfficePublicKey.of(self.key.public_key())

    @classmethod
    def read(
        cls, path: Path, where: str, passphrase: bytes | None = None
    ) -> OfficePrivateKey:
        """Return the private key of a file that others can't read.

        Raises:
            ConfigError: It is unreadable, no private key of X25519, or the passphrase
                is missing, wrong or not needed.
        """
        content = read_private(path, where, MAKE)
        if b"PRIVATE KEY" not in content:
            raise ConfigError(f"{where}: no private key; the public one opens nothing")
        try:
            key = load_pem_private_key(content, passphrase)
        except TypeError:
            has = "has a passphrase, give it" if passphrase is None else "has none"
            raise ConfigError(f"{where}: passphrase: the key {has}") from None
        except ValueError:
            raise ConfigError(
                f"{where}: the passphrase is wrong, or the file is damaged"
            ) from None
        except UnsupportedAlgorithm:
            key = None
        if not isinstance(key, X25519PrivateKey):
            raise ConfigError(f"{where}: no key of X25519; make a pair with: {MAKE}")
        return cls(key)

    def open(self, sealed: bytes, bound: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            NotOpened: It was changed, or sealed for another key or place.
        """
        try:
            return _SUITE.decrypt(sealed, self.key, bound)
        except (InvalidTag, ValueError):
            raise NotOpened(
                "it was changed, or is not what its topic, schema, code and source say"
            ) from None


def make_pair(path: Path, passphrase: bytes | None = None) -> OfficePublicKey:
    """Write a new pair: the private key to a file, the public one to FILE.pub.

    Raises:
        ConfigError: One of them exists, or can't be written.
    """
    private = OfficePrivateKey(X25519PrivateKey.generate())
    public_path = public_file(path)
    if public_path.exists():
        raise ConfigError(f"{public_path}: exists; no key was written")
    encryption = (
        NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    )
    write_private(
        path,
        private.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption),
    )
    public_path.write_bytes(
        private.public.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    # Workers run as other users, and may read it.
    public_path.chmod(0o644)
    return private.public


def has_passphrase(content: bytes) -> bool:
    """Return whether the file of a private key needs a passphrase."""
    return b"ENCRYPTED PRIVATE KEY" in content


def public_file(path: Path) -> Path:
    """Return the file of the public key next to that of a private key."""
    return path.with_name(path.name + ".pub")
