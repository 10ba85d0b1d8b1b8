"""Keyed pseudonyms of patients and notes, for keys and ids that leave the house."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """HMAC-SHA-256 (RFC 2104) under one secret key, first 128 bits in hex.

    The same value gives the same pseudonym as long as the key stays; without the key
    nobody can tell which value it was, nor link outputs of different keys.
    """

    key: bytes = field(repr=False)

    @property
    def key_id(self) -> str:
        """Which key: eight hex digits of its SHA-256."""
        return hashlib.sha256(self.key).hexdigest()[:8]

    def patient(self, key: bytes) -> str:
        """Return the pseudonym of a patient's Kafka key."""
        return self._of(b"patient", key)

    def note(self, patient: bytes, note_id: str) -> str:
        """Return the pseudonym of a note's id; ids are the sender's, so per patient."""
        return self._of(b"note", patient + b"\0" + note_id.encode())

    def _of(self, kind: bytes, value: bytes) -> str:
        return hmac.digest(self.key, kind + b"\0" + value, "sha256")[:16].hex()
