"""What a tagger takes for a part of a name, and is none: forms of address."""

from __future__ import annotations

import re

from ..language.lexicons import load_list
from ..language.lexicons.word_classes import WordClass, word_classes

_LEAD = re.compile(r"([A-Za-z]+)[.:]?[ ]{1,3}(?=[A-Za-z])")
_MOST = 3


def after_address(text: str, start: int, end: int) -> int:
    """Return where a name begins, after the forms of address.

    "Alhaji Sani Danladi" is Sani Danladi.  A single word stays as it is, and so does
    what is a given name, too: "Nana Osei".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the name.
        end: Of the name.
    """
    for _ in range(_MOST):
        found = _LEAD.match(text, start, end)
        if found is None or not _is_address(found[1].lower()):
            break
        start = found.end()
    return start


def _is_address(word: str) -> bool:
    if word not in load_list("courtesies"):
        return False
    return not word_classes(word) & (WordClass.GIVEN | WordClass.WEAK_GIVEN)
