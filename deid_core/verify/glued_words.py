"""Words inside of which a change of letter case may part two words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

# What no name ends with, before a capital.
_PREFIXES = ("Mc", "Mac", "Fitz")
_CHANGES = ("aA", "AAa")
_CAPITALISED, _SMALL = re.compile("a(?=A)|A(?=Aa)"), re.compile("a(?=A)|AA(?=a)")


def _case(code: int) -> str:
    character = chr(code)
    return "a" if character.islower() else "A" if character.isupper() else " "


# By code point; the last entry is for all beyond it, where hardly a letter has a case.
_CASES = np.frombuffer("".join(map(_case, range(0x2001))).encode(), np.uint8)


def glued_words(text: str) -> Iterator[str]:
    """Yield the words inside of which the letter case changes, some twice."""
    cases = _cases(text)
    for change in _CHANGES:
        at = cases.find(change)
        while at >= 0:
            start, end = cases.rfind(" ", 0, at) + 1, cases.find(" ", at)
            end = len(text) if end < 0 else end
            yield text[start:end]
            at = cases.find(change, end)


def parted(text: str) -> tuple[str, str]:
    """Return a text with a blank wherever the letter case changes, in two ways.

    "SMITHJones" is parted before the last capital, or "SMITHjones" behind it;
    "SmithJones" both times, and "McDonald" never.
    """
    cases = _cases(text)
    return _parted(text, _CAPITALISED, cases), _parted(text, _SMALL, cases)


def _cases(text: str) -> str:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _CASES.take(codes, mode="clip").tobytes().decode()


def _parted(text: str, change: re.Pattern[str], cases: str) -> str:
    pieces, start = [], 0
    for each in change.finditer(cases):
        end = each.end()
        if not text.endswith(_PREFIXES, start, end):
            pieces.append(text[start:end])
            start = end
    return " ".join((*pieces, text[start:]))
