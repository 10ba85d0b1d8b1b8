"""Notes all in capitals or all in small letters, as they would be written otherwise.

Detection reads case: a name is a word that is capitalised where others are not.  A note
without that difference is given it back before detection, letter by letter, so that
every offset stays: names and towns get their capital by the lexicons, months and what
follows a title, too.  The note itself is never changed.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

from .capitals import Capitals

_CAPITALS, _SMALL = ascii_uppercase.encode(), ascii_lowercase.encode()
_LETTERS_LEAST = 24
_BEGINNING = 512
_MOST_SMALL_IN_CAPITALS = 0.1
_MOST_CAPITALS_IN_SMALL = 0.01


def recased(text: str) -> str:
    """Return the text with capitals where they belong, if it tells nothing by case.

    The result has the same length, code point for code point; a text in mixed case is
    returned as it is.  A heading in capitals does not make a note one in capitals.
    """
    if not is_in_one_case(text):
        return text
    return Capitals.of(lowered(text)).result()


def is_in_one_case(text: str) -> bool:
    """Return whether a text tells nothing by case: capitals, or small letters, alone.

    A text of a few letters is taken as it is.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    # Most notes begin with more of both than a share of all their letters could be.
    upper, lower = _capitals_and_small(encoded[:_BEGINNING])
    most = len(encoded)
    if (
        upper > _MOST_CAPITALS_IN_SMALL * most
        and lower > _MOST_SMALL_IN_CAPITALS * most
    ):
        return False
    upper, lower = _capitals_and_small(encoded)
    if not upper + lower:
        # In a text without letters of ASCII, all others count.
        upper, lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
    is_capitals = lower <= _MOST_SMALL_IN_CAPITALS * upper
    is_small = upper <= _MOST_CAPITALS_IN_SMALL * lower
    return upper + lower >= _LETTERS_LEAST and (is_capitals or is_small)


def _capitals_and_small(encoded: bytes) -> tuple[int, int]:
    """Return how many letters are capitals and how many small, of ASCII's alone."""
    upper = len(encoded) - len(encoded.translate(None, _CAPITALS))
    lower = len(encoded) - len(encoded.translate(None, _SMALL))
    return upper, lower


def lowered(text: str) -> str:
    """Return the text in small letters, code point for code point."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
