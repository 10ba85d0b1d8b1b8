"""The words of a note and the tokens of a name.

The paper does not define a word.  Here it begins with a letter and is a run of letters
and digits, with the hyphens and apostrophes inside it, in a note as in a name:
"Tan-Lim" and "O'Brien" are one word each, so that the O of "O/E" is not near O'Brien.
The possessive is left off.  Comparison ignores case: the record of a hospital is often
in capitals, its notes ("PMHX", "Pt alert") are not, and the paper, which prints its
honorifics in small letters alone, finds every patient's name.  Diacritics are letters
of their own: a missing one costs one edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from deid_core.document import KnownIdentifiers

_ALNUM = r"[^\W_]"
WORD = rf"(?<!{_ALNUM})[^\W\d_]{_ALNUM}*(?:['\u2019-]{_ALNUM}+)*"
"""Pattern of a word, possessive included; linear."""

_WORD = re.compile(WORD)
_POSSESSIVE = re.compile(r"(?<=.)['\u2019]s\Z", re.IGNORECASE)


class Word(NamedTuple):
    """A word of a note at its place, without possessive; ``form`` is in small letters.

    Args:
        honorific: The title before it, in small letters; "" if there is none.
    """

    start: int
    end: int
    text: str
    form: str
    honorific: str = ""

    def __repr__(self) -> str:
        return f"Word([{self.start}, {self.end}))"


def words_in(text: str) -> Iterator[Word]:
    """Yield the words of a note, in order."""
    for found in _WORD.finditer(text):
        bare = _POSSESSIVE.sub("", found[0])
        yield Word(found.start(), found.start() + len(bare), bare, bare.lower())


def name_tokens(known: KnownIdentifiers) -> tuple[str, ...]:
    """Return the tokens of the patient's full names, in small letters.

    "The full name is first split into individual name tokens" (section 3.1): given,
    middle and family name, initials included, of every name that the record has.
    """
    parts = (
        part
        for name in known.patient_names
        for part in (name.given, name.middle, name.family)
    )
    return tuple(sorted({word.form for part in parts for word in words_in(part)}))
