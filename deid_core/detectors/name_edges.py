"""What a tagger takes for a name or part of it, and is none."""

from __future__ import annotations

import re

from ..language.lexicons import load_list
from ..language.lexicons.word_classes import WordClass, is_mere_word, word_classes

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


def is_drug(word: str) -> bool:
    """Return whether a word, folded, is a drug or salt and nobody's name: "Potassium".

    Alone on its line, as the name of a result, nothing else tells it from a name.
    """
    lower = word.lower()
    return lower in load_list("drugs") and is_mere_word(lower)


def _is_address(word: str) -> bool:
    if word not in load_list("courtesies"):
        return False
    return not word_classes(word) & (WordClass.GIVEN | WordClass.WEAK_GIVEN)
