"""Prefilter: which words of a note may match the patient's record.

Holds PHI in hashed form: nothing has a repr.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from .hashed_words import LAST_BIT, Bits, Ints, digested, find_candidates, set_bits
from .note import Note
from .people import Names

_BITS = 1 << 14


@dataclass(frozen=True, slots=True, repr=False)
class Positions:
    """The candidates among the words of a note, by position, in order.

    Args:
        keys: May be words of the record.
        near: May be fuzzy matches of names.
        pairs: May be a name together with the next word.
        tokens: Which names each of `near` may be, see `Prefilter.tokens_of`.
    """

    keys: list[int]
    near: list[int]
    pairs: list[int]
    tokens: Bits


@dataclass(frozen=True, slots=True, repr=False)
class Prefilter:
    """The words of a record as numbers; no match in a note is missed.

    Args:
        keys: A bit for the hash of each word.
        parts: The same of what may be written as two words.
        letters: The letters of each name that may have fuzzy matches, the shortest
            first.
        lengths: How many they are.
        tokens: These names.
    """

    keys: Bits
    parts: Bits
    letters: Bits
    lengths: Ints
    tokens: tuple[str, ...]

    @classmethod
    def of(cls, keys: Collection[str], names: Names) -> Prefilter:
        """Prepare a record's words, in compared form."""
        tokens = sorted(names.fuzzy, key=len)
        hashes, letters, lengths = digested((*keys, *names.parts, *tokens))
        key_bits, part_bits = np.zeros((2, _BITS // 64), dtype=np.uint64)
        set_bits(hashes[: len(keys)], key_bits)
        set_bits(hashes[len(keys) : len(keys) + len(names.parts)], part_bits)
        near = len(hashes) - len(tokens)
        return cls(key_bits, part_bits, letters[near:], lengths[near:], tuple(tokens))

    def positions(self, note: Note, threshold: float) -> Positions:
        """Return the candidates in a note; for the threshold see `fuzzy_matches`."""
        found = np.empty((3, len(note)), dtype=np.int32)
        tokens = np.empty(len(note), dtype=np.uint64)
        keys, near, pairs = find_candidates(
            *note.forms_as_numbers,
            self.keys,
            self.parts,
            self.letters,
            self.lengths,
            threshold,
            found,
            tokens,
        )
        return Positions(
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
