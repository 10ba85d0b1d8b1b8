"""What is neither sought nor forbidden: ages under 90, years alone, titles.

45 CFR 164.514(b)(2)(i)(C) makes identifiers of ages over 89 and of the elements of
dates but the year.  Whether "Dr." belongs to a name, corpora disagree.
"""

from __future__ import annotations

import re

from deid_core.labels import Label

_OLDEST = 89
_OLD_WORDS = frozenset({"ninety", "hundred", "nineties", "noventa", "cien"})
_YEAR = re.compile(r"(?:19|20)[0-9]{2}s?|(?<=['\u2019])[0-9]{2}s?")
_YEAR_WORDS = frozenset(
    ("a", "and", "del", "el", "en", "from", "in", "of", "or", "since", "the", "to")
) | {"year", "years"}
# "Do" and "Don" are names, "Jr." tells two people of one name apart: not among them.
_TITLES = frozenset(
    (
        *("dr", "dra", "drs", "doctor", "prof", "professor"),
        *("mr", "mrs", "ms", "miss", "mister", "mx", "sr", "sra", "srta", "do\u00f1a"),
        *("md", "phd", "rn", "np", "pa"),
    )
)
_WORD = re.compile(r"[^\W_]+")


def is_neutral(label: Label, text: str) -> bool:
    """Return whether what stands under a label is no identifier by its text.

    Args:
        label: What it is said to be.
        text: All of an annotation, or of a gold span.
    """
    if label is Label.AGE:
        return _is_under_90(text)
    return label is Label.DATE and _is_year_alone(text)


def _is_under_90(text: str) -> bool:
    numbers = [int(number) for number in re.findall(r"[0-9]+", text)]
    words = set(_WORD.findall(text.casefold()))
    return max(numbers, default=0) <= _OLDEST and not words & _OLD_WORDS


def _is_year_alone(text: str) -> bool:
    rest, years = _YEAR.subn(" ", text)
    return years > 0 and set(_WORD.findall(rest.casefold())) <= _YEAR_WORDS


def is_title(word: str) -> bool:
    """Return whether a word is a title, as ``Dr.``, ``M.D.`` and ``Mrs`` are."""
    return "".join(_WORD.findall(word)).casefold() in _TITLES
