"""A text as a reader sees it, as `verify` reads it: nothing hides in odd characters.

Only for `verify`.  It does what `language.reading` does for the detectors and shares
none of its code, on purpose: it goes by Unicode's categories and names, keeps no
offsets, and so misses nothing that the other's lists may miss.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")
# Printable ASCII, white space, the letters of Latin-1: most notes have nothing else.
_ODD = re.compile("[^\t\n\r -~\u00a1-\u00ac\u00ae-\u00b3\u00b5-\u00b7\u00b9-\u00ff]")
_WHITE_SPACE = "\t\n\x0b\x0c\r\x85"
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn"})
_UNSEEN_NAMES = re.compile(
    "VARIATION SELECTOR|FILLER|GRAPHEME JOINER|VOWEL INHERENT|^TAG "
)
# Soft hyphen, joiners: they stand inside words.  Another format character may not.
_INSIDE_WORDS = "\u00ad\u034f\u200c\u200d\u2060\u2061\u2062\u2063\u2064"
_TAGS = range(0xE0020, 0xE007F)
_HYPHENATED = re.compile(r"(?<=[^\W\d_])\u00ad[ \t]*+\r?\n[ \t]*+(?=[^\W\d_])")
_REAL_HYPHEN = re.compile(r"(?<=[^\W_])\u00ad(?=[^\W_])(?![a-z\u00df-\u00ff])")


class _Plain(dict[int, str | None]):
    """A table for `str.translate` that is filled as characters come.

    Args:
        separator: For what is unseen and may separate words.
    """

    def __init__(self, separator: str | None) -> None:
        super().__init__()
        self._separator = separator

    def __missing__(self, code: int) -> str | None:
        self[code] = plain = self._plain(chr(code), code)
        return plain

    def _plain(self, character: str, code: int) -> str | None:
        if _is_unseen(character):
            if self._separator and code in _TAGS:
                return chr(code & 0x7F)
            is_inside = character in _INSIDE_WORDS or _is_mark(character)
            return None if is_inside else self._separator
        category = unicodedata.category(character)
        if category in {"Zs", "Pd", "Nd"}:
            return {"Zs": " ", "Pd": "-"}.get(category) or _digit(character)
        form = unicodedata.normalize("NFKC", character)
        is_plain = form.isalnum() or (len(form) == 1 and form.isascii())
        return form if is_plain else character


_JOINED, _SEPARATED = _Plain(None), _Plain(" ")


def views_of(pieces: Sequence[str]) -> list[Sequence[str]]:
    """Return the pieces of a text in each way in which they may be read.

    Without what is unseen; and, where that differs, with a blank in place of what may
    separate words.  Pieces that read as they are written are returned as they are.
    """
    if not _is_odd("".join(pieces)):
        return [pieces]
    joined, separated = list(map(plain, pieces)), list(map(_with_separators, pieces))
    return [joined] if joined == separated else [joined, separated]


def without_cuts(pieces: Sequence[str]) -> Sequence[str]:
    """Return the pieces of a text without line ends that may cut a word or a number.

    Those are behind a hyphen, which goes as well between letters, and between digits.
    The very same pieces are returned where there is none.
    """
    joined = [_without_cuts(piece) if "\n" in piece else piece for piece in pieces]
    return pieces if joined == [*pieces] else joined


def _without_cuts(text: str) -> str:
    first, *others = text.split("\n")
    parts: list[str] = []
    before = first.rstrip()
    for line in others:
        after = line.lstrip()
        if not _is_cut(before, after):
            parts += before, "\n"
        elif before[-1] == "-" and after[0].isalpha():
            parts.append(before[:-1])
        else:
            parts.append(before)
        before = after.rstrip()
    return "".join((*parts, before))


def _is_cut(before: str, after: str) -> bool:
    if not (before and after and after[0].isalnum()):
        return False
    last = before[-1]
    return last == "-" or (after[0].isdigit() and (last.isdigit() or last in "./)"))


def plain(text: str) -> str:
    """Return a text without what is unseen, in compatibility form."""
    if (text.isascii() and text.isprintable()) or not _is_odd(text):
        return text
    whole = _HYPHENATED.sub("", text) if "\u00ad" in text else text
    return unicodedata.normalize("NFC", whole.translate(_JOINED))


def _with_separators(text: str) -> str:
    if not _is_odd(text):
        return text
    parted = _REAL_HYPHEN.sub("-", text) if "\u00ad" in text else text
    return unicodedata.normalize("NFC", parted.translate(_SEPARATED))


def _is_odd(text: str) -> bool:
    """Return whether a text may read otherwise than it is written."""
    if text.isascii():
        return len(text.encode().translate(None, _CONTROLS)) < len(text)
    return _ODD.search(text) is not None


def _is_unseen(character: str) -> bool:
    if unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return character not in _WHITE_SPACE
    return bool(_UNSEEN_NAMES.search(unicodedata.name(character, "")))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in {"Mn", "Lo"}


def _digit(character: str) -> str:
    return str(unicodedata.decimal(character))
