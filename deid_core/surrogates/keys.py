"""Keyed draws: they depend on key, patient, kind and value, and on no state.

HMAC-SHA-256 (RFC 2104) twice: the project's key gives each patient a key, and the
patient's key gives each value its numbers.  Numbers of other keys or other patients are
unrelated to these.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from deid_core.document import Document
from deid_core.errors import ConfigError

MIN_KEY_BYTES = 32

_PURPOSE = b"phistream surrogates 1"


@dataclass(frozen=True, slots=True)
class Draws:
    """The keyed numbers of one patient."""

    key: bytes = field(repr=False)

    def digest(self, kind: str, value: str, counter: int = 0) -> bytes:
        """Return 32 bytes for a value of a kind; another counter gives others.

        Args:
            kind: Separates equal values of two kinds.
            value: In compared form, equal for values with equal surrogates.
            counter: 0, then 1, 2... while the candidate cannot be taken.
        """
        message = f"{kind}\0{counter}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.key, message, "sha256")

    def number(self, kind: str, value: str, counter: int = 0, *, below: int) -> int:
        """Return a number in ``[0, below)``."""
        return int.from_bytes(self.digest(kind, value, counter)) % below

    def numbers(self, kind: str, value: str, counter: int, *, count: int) -> list[int]:
        """Return ``count`` numbers in ``[0, 65536)``."""
        seed = self.digest(kind, value, counter)
        stream = hashlib.shake_256(seed).digest(2 * count)
        return [int.from_bytes(stream[at : at + 2]) for at in range(0, 2 * count, 2)]


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A project's secret key.

    Raises:
        ConfigError: It holds less than 32 bytes.
    """

    value: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.value) < MIN_KEY_BYTES:
            raise ConfigError(
                f"the key holds less than {MIN_KEY_BYTES} bytes; make one with: "
                "phistream key FILE"
            )

    @property
    def id(self) -> str:
        """The id of the key: eight hex digits of its SHA-256."""
        return hashlib.sha256(self.value).hexdigest()[:8]

    def draws(self, document: Document) -> Draws:
        """Return the draws of a document's patient; without one, of the document."""
        if document.patient:
            scope = f"patient\0{document.patient}"
        else:
            scope = f"document\0{document.id}"
        own = hmac.digest(self.value, _PURPOSE, "sha256")
        patient = scope.encode("utf-8", "surrogatepass")
        return Draws(hmac.digest(own, patient, "sha256"))
