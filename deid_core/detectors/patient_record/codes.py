"""Texts and words as numbers: code points, what they are to a word, hashes of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deid_core.language.lexicons.normal import WORD

from .kernels import DIGIT, GAP, LETTER, digest

_ANY = re.compile(f"({WORD})")

_BEYOND = 0x3000

Codes = NDArray[np.uint32]
Ints = NDArray[np.int32]
Bits = NDArray[np.uint64]


def _kind(character: str) -> int:
    is_letter = _ANY.fullmatch(character) is not None
    return DIGIT if character.isdecimal() else LETTER if is_letter else GAP


# By code point.
KINDS: NDArray[np.uint8] = np.array(
    [_kind(chr(code)) for code in range(_BEYOND)], dtype=np.uint8
)
_STAND_INS = {GAP: ord(" "), LETTER: ord("\u00df"), DIGIT: ord("\u0660")}
"""What stands for code points beyond `KINDS`: of their kind, and not of ASCII."""


def code_points(text: str) -> Codes:
    """Return the code points of a text; a lone surrogate is one like any other."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def stand_ins(text: str) -> Codes:
    """Return the code points of a text, or others of their kinds that `KINDS` has."""
    codes = code_points(text)
    if text.isascii() or not (beyond := np.flatnonzero(codes >= _BEYOND)).size:
        return codes
    known = codes.copy()
    known[beyond] = [_STAND_INS[_kind(text[at])] for at in beyond.tolist()]
    # Like what it stands for: what may be written to would be compiled once more.
    known.flags.writeable = False
    return known


class Forms(NamedTuple):
    """The compared forms of a note's words, as numbers; see `note_kernels.cut`.

    Args:
        hashes: Of each.
        letters: Which it has.
        lengths: How many.
    """

    hashes: Bits
    letters: Bits
    lengths: Ints


def digested(words: Sequence[str]) -> Forms:
    """Return words in compared form as numbers."""
    lengths = np.fromiter(map(len, words), np.int32, len(words))
    bounds = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    hashes, letters = np.empty((2, len(words)), dtype=np.uint64)
    digest(code_points("".join(words)), bounds, hashes, letters)
    return Forms(hashes, letters, lengths)
