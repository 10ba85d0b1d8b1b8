"""What a record seeks among the words of a note, as numbers.

Holds PHI, if hashed: nothing has a repr.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from .codes import Bits, Ints, digested
from .kernels import LAST_BIT, seek, set_bits
from .note import Note
from .people import Names

_BITS = 1 << 14


@dataclass(frozen=True, slots=True, repr=False)
class Places:
    """The words of a note that may be what is sought, by their places, in order.

    Args:
        keys: May be words of the record.
        near: May be misspelt names.
        pairs: May be a name together with the next word.
        tokens: Which names each of `near` may be, see `Sought.tokens_of`.
    """

    keys: list[int]
    near: list[int]
    pairs: list[int]
    tokens: Bits


@dataclass(frozen=True, slots=True, repr=False)
class Sought:
    """The words of a record: none of a note's that is sought is left out.

    Args:
        keys: A bit for the hash of each word.
        parts: The same of what may be written as two words.
        letters: Of each name that may be misspelt, the shortest first, which letters
            it has.
        lengths: And how many.
        tokens: These names.
    """

    keys: Bits
    parts: Bits
    letters: Bits
    lengths: Ints
    tokens: tuple[str, ...]

    @classmethod
    def of(cls, keys: Collection[str], names: Names) -> Sought:
        """Prepare a record's words, in compared form."""
        tokens = sorted(names.fuzzy, key=len)
        _, letters, lengths = digested(tokens)
        bits = _bits_of(keys), _bits_of(names.parts)
        return cls(*bits, letters, lengths, tuple(tokens))

    def places(self, note: Note, threshold: float) -> Places:
        """Return where what is sought may stand; for the threshold see `misspelt`."""
        found = np.empty((3, len(note)), dtype=np.int32)
        tokens = np.empty(len(note), dtype=np.uint64)
        keys, near, pairs = seek(
            *note.forms_as_numbers,
            self.keys,
            self.parts,
            self.letters,
            self.lengths,
            threshold,
            found,
            tokens,
        )
        return Places(
            found[0, :keys].tolist(),
            found[1, :near].tolist(),
            found[2, :pairs].tolist(),
            tokens[:near],
        )

    def tokens_of(self, bits: int) -> list[str]:
        """Return the names of a set of bits in their own order; see `near_tokens`."""
        found = [
            each for at, each in enumerate(self.tokens[:LAST_BIT]) if bits >> at & 1
        ]
        if bits >> LAST_BIT:
            found += self.tokens[LAST_BIT:]
        return sorted(found)


def _bits_of(words: Collection[str]) -> Bits:
    bits = np.zeros(_BITS // 64, dtype=np.uint64)
    set_bits(digested([*words]).hashes, bits)
    return bits
