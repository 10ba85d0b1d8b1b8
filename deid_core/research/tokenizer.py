"""Split text into tokens with their offsets, for scoring.

A token is a run of letters, a run of digits, or a single mark, so that text without
spaces is split, too: ``Since6/03/04`` is ``Since 6 / 03 / 04``.  Apostrophes and
hyphens are tokens of their own (``O ' Brien``, ``Smith - Jones``).  Combining accents
belong to their letter.  White space and control characters are in no token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    [^\W\d_][^\W\d_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W\d_]*)*   # letters
    | \d+
    | [^\s\x00-\x1f]                                               # one mark
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token; ``text[token.start:token.end]`` is its text."""

    start: int
    end: int
    text: str = field(repr=False)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of the text, left to right, disjoint.

    Between two tokens there is nothing but white space or control characters.
    """
    return [Token(*found.span(), found[0]) for found in _TOKEN.finditer(text)]
