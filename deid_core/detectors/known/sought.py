"""What a record seeks among the words of a note, as numbers.

Holds PHI, if hashed: nothing has a repr.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .note import Note, code_points
from .note_kernels import seek, set_bits, write_letters
from .people import Names

_BITS = 1 << 14

Bits = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, repr=False)
class Places:
    """The words of a note that may be what is sought, by their places, in order.

    Args:
        keys: May be words of the record.
        near: May be misspelt names.
        pairs: May be a name together with the next word.
    """

    keys: list[int]
    near: list[int]
    pairs: list[int]


@dataclass(frozen=True, slots=True, repr=False)
class Sought:
    """The words of a record: none of a note's that is sought is left out.

    Args:
        keys: A bit for the hash of each word.
        parts: The same of what may be written as two words.
        letters: Of each name that may be misspelt, which letters it has.
        lengths: And how many.
    """

    keys: Bits
    parts: Bits
    letters: Bits
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Collection[str], names: Names) -> Sought:
        """Prepare a record's words, in compared form."""
        tokens, bounds = _joined(names.fuzzy)
        letters = np.empty(len(names.fuzzy), dtype=np.uint64)
        write_letters(tokens, bounds, letters)
        return cls(_bits_of(keys), _bits_of(names.parts), letters, np.diff(bounds))

    def places(self, note: Note, threshold: float) -> Places:
        """Return where what is sought may stand; for the threshold see `misspelt`."""
        found = np.empty((3, len(note)), dtype=np.int32)
        keys, near, pairs = seek(
            *note.form_codes,
            self.keys,
            self.parts,
            self.letters,
            self.lengths,
            threshold,
            found,
        )
        return Places(
            found[0, :keys].tolist(),
            found[1, :near].tolist(),
            found[2, :pairs].tolist(),
        )


def _bits_of(words: Collection[str]) -> Bits:
    bits = np.zeros(_BITS // 64, dtype=np.uint64)
    set_bits(*_joined(words), bits)
    return bits


def _joined(words: Collection[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the code points of words, one after the other, and their bounds."""
    bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return code_points("".join(words)), bounds
