"""A text without its separators, and the way back to its offsets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deid_core.language.fragments import same_length_lower

_LONGEST_GAP = 3
LONG_ID = 8
"""From here on a number is an id whatever is between its digits."""

FREE_STANDING = 6
"""A number of fewer characters touches no letter; a longer one may ("MRN123456")."""

# By code point; the last entry is for all beyond it.
_BEYOND = 0x3001
_KEPT: NDArray[np.bool_] = np.array(
    [chr(code).isalnum() for code in range(128)] + [True] * (_BEYOND - 127)
)
_KEPT[[0xA0, 0x202F, 0x3000, *range(0x2000, 0x2016)]] = False
_ASCII_MARKS = bytes(code for code in range(128) if not chr(code).isalnum())


class WithoutSeparators:
    """A text without its separators, in lower case, and the way back to its offsets."""

    __slots__ = ("_offsets", "characters", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.characters = _without_separators(text)
        self._offsets: NDArray[np.intp] | None = None

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Offset in the text of each character; most notes never need it."""
        if self._offsets is None:
            self._offsets = np.flatnonzero(_kept(_codes(self.text)))
        return self._offsets

    def occurrences(self, key: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the characters that hold the key, overlaps too."""
        start = self.characters.find(key)
        while start >= 0:
            yield start, start + len(key)
            start = self.characters.find(key, start + 1)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the text for a range of the characters."""
        return int(self.offsets[start]), int(self.offsets[end - 1]) + 1

    def is_tight(self, start: int, end: int) -> bool:
        """Return whether no gap in the range is longer than is usual in a number."""
        first, last = self.offsets[start], self.offsets[end - 1]
        if last - first == end - 1 - start:
            return True
        steps = self.offsets[start + 1 : end] - self.offsets[start : end - 1]
        return int(steps.max()) <= _LONGEST_GAP + 1


def is_bounded(
    text: str, start: int, end: int, *, free_standing: int = FREE_STANDING
) -> bool:
    """Return whether a number does not go on at either side.

    A letter next to a digit is an end ("MRN123456"), except for short numbers: those of
    fewer characters than ``free_standing``.
    """
    before = _kind(text[start - 1]) if start else ""
    after = _kind(text[end]) if end < len(text) else ""
    if end - start < free_standing and (before or after):
        return False
    if before == _kind(text[start]) or after == _kind(text[end - 1]):
        return False
    return not _is_decimal_part(text, start, end)


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    # A combining accent belongs to its letter.
    is_letter = character.isalpha() or "\u0300" <= character <= "\u036f"
    return "letter" if is_letter else ""


def _is_decimal_part(text: str, start: int, end: int) -> bool:
    if end - start >= LONG_ID:
        return False
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return (before[-1:] in {".", ","} and before[:1].isdigit()) or (
        after[:1] in {".", ","} and after[1:].isdigit()
    )


def _without_separators(text: str) -> str:
    if text.isascii():
        return text.encode().translate(None, _ASCII_MARKS).decode().lower()
    codes = _codes(text)
    kept = codes[_kept(codes)].tobytes()
    return same_length_lower(kept.decode("utf-32-le", "surrogatepass"))


def _kept(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which code points are no separators."""
    return _KEPT.take(codes, mode="clip")


def _codes(text: str) -> NDArray[np.uint32]:
    # A lone surrogate is a character like any other here.
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype=np.uint32)
