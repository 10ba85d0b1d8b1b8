"""The keys of pseudonyms, in the order in which they come into force.

The key of an output is decided by when its message came to hl7.raw, never by the clock
of a worker: whoever processes a record, and however often, gives the same output.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from streams.engine.errors import ConfigError

from .sources import directory_of, read_directory, read_source


def key_id_of(key: bytes) -> str:
    """Return which key it is: eight hex digits of its SHA-256."""
    return hashlib.sha256(key).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class PseudonymKey:
    """A secret key of pseudonyms, surrogates and date shifts.

    Args:
        value: 32 bytes or more.
        from_ms: Messages that came to hl7.raw then or later have it, in milliseconds
            since 1970; 0 for the first key.
        source: Where it is kept, for operators.
    """

    value: bytes = field(repr=False)
    from_ms: int = 0
    source: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        """The id of the key: eight hex digits of its SHA-256."""
        return key_id_of(self.value)


class PseudonymKeys:
    """Keys in the order in which they come into force.

    Args:
        keys: The first is in force from the beginning.

    Raises:
        ConfigError: There is none, they are not in order, or two are the same.
    """

    def __init__(self, keys: Sequence[PseudonymKey]) -> None:
        self._keys = tuple(keys)
        self._starts = [each.from_ms for each in keys]
        if not keys or keys[0].from_ms:
            raise ConfigError(
                "pseudonym_keys: the first key must have no from: it is in force for "
                "all messages before the second"
            )
        if sorted(set(self._starts)) != self._starts:
            raise ConfigError("pseudonym_keys: from must increase from key to key")
        if len({each.id for each in keys}) < len(keys):
            raise ConfigError("pseudonym_keys: two entries have the same key")

    @classmethod
    def of(cls, key: bytes) -> PseudonymKeys:
        """Return a single key."""
        return cls([PseudonymKey(key)])

    def __iter__(self) -> Iterator[PseudonymKey]:
        return iter(self._keys)

    def at(self, at_ms: int) -> PseudonymKey:
        """Return the key in force for what came to hl7.raw at a time.

        Args:
            at_ms: Milliseconds since 1970.
        """
        return self._keys[max(0, bisect_right(self._starts, at_ms) - 1)]

    def by_id(self, key_id: str) -> PseudonymKey:
        """Return the key with an id.

        Raises:
            ConfigError: It is none of them; the message lists the known.
        """
        for each in self._keys:
            if each.id == key_id:
                return each
        known = ", ".join(each.id for each in self._keys)
        raise ConfigError(f"key {key_id}: unknown; the settings name: {known}")


def read_keys(
    entries: Sequence[tuple[str, datetime | None]], environment: Mapping[str, str]
) -> PseudonymKeys:
    """Return the keys of the setting `pseudonym_keys`.

    Args:
        entries: Sources, and from when on their keys are in force.
        environment: The process's variables.

    Raises:
        ConfigError: A source is unreadable, or the keys are not in order.
    """
    where = "pseudonym_keys, entry {}"
    folder = directory_of(entries[0][0]) if len(entries) == 1 else None
    if folder is not None:
        found = read_directory(folder, where.format(1))
        keys = [
            PseudonymKey(key, _ms(start), str(folder)) for start, key in found.items()
        ]
        return PseudonymKeys(sorted(keys, key=lambda each: each.from_ms))
    return PseudonymKeys(
        [
            PseudonymKey(
                read_source(source, where.format(number), environment),
                _ms(start),
                source,
            )
            for number, (source, start) in enumerate(entries, start=1)
        ]
    )


def _ms(start: datetime | None) -> int:
    return 0 if start is None else int(start.timestamp() * 1000)
