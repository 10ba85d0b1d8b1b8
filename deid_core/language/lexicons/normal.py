"""One written form for all the ways in which a word is written."""

from __future__ import annotations

import re
import unicodedata

# Letters that NFKD leaves whole although people type them without the stroke.
_STROKES = str.maketrans(
    {
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "\N{LATIN SMALL LETTER DOTLESS I}": "i",
    }
)

_ASCII_WORDS = re.compile(r"[A-Za-z]+|[0-9]+")
# Combining marks stay with their letter: decomposed text is common in exports.
# Superscripts and fractions are word characters to Python, but end a word here.
LETTER = r"[^\W\d_\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u218b]"
WORD = rf"(?:{LETTER}+|[\u0300-\u036f]+)+|\d+"
"""Pattern of a word or a number in any text."""

_WORDS = re.compile(WORD)
# The usual marks, and the usual invisible characters.
_LEFT_OUT = re.compile(
    "[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)


def words_of(text: str) -> list[str]:
    """Return the runs of letters and the runs of digits of a text, in order."""
    return (_ASCII_WORDS if text.isascii() else _WORDS).findall(text)


def forms_of(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a short text in compared form, in order."""
    return tuple(words_of(normal(text)))


def normal(word: str) -> str:
    """Return the word without case, diacritics, compatibility forms, soft hyphens.

    ``normal("MÜLLER") == normal("Muller") == "muller"``; it is its own fixed point.
    """
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKD", word.casefold()).translate(_STROKES)
    # The usual ones at once; what is left of most words is ASCII.
    if (bare := _LEFT_OUT.sub("", folded)).isascii():
        return bare.lower()  # "\u33c7" is "Co."
    bare = "".join(each for each in bare if not unicodedata.combining(each))
    # Taking a mark off can bare a letter that itself has another form.
    return bare.lower() if bare.isascii() or bare == word else normal(bare)
