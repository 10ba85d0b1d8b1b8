"""Cut text into tokens without losing where they were.

A token is a run of letters, a run of digits, or a single mark, so that run-together
text comes apart: ``Since6/03/04`` is ``Since 6 / 03 / 04``.  Apostrophes and hyphens
are marks of their own (``O ' Brien``, ``Smith - Jones``); combining accents stay with
their letter; white space and control characters are in no token.
"""

from __future__ import annotations

import re

from ..document import Token

_TOKEN = re.compile(
    r"""
    [^\W\d_][^\W\d_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W\d_]*)*   # letters
    | \d+
    | [^\s\x00-\x1f]                                               # one mark
    """,
    re.VERBOSE,
)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of the text, left to right, disjoint.

    For every token ``text[token.start:token.end] == token.text``, and all that lies
    between two tokens is white space or control characters.
    """
    return [Token(*found.span(), found[0]) for found in _TOKEN.finditer(text)]
