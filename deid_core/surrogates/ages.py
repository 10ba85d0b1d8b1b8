"""Read ages, and write those over 89 as one category.

Source: 45 CFR 164.514(b)(2)(i)(C).
"""

from __future__ import annotations

import re

from deid_core.language.fragments import words
from deid_core.language.lexicons import forms_of

OLDEST = 89
"""Ages above form one category."""

_OVER = "90+"
_AGE = re.compile(
    r"(?i)\s*(?P<years>\d{1,3})(?P<unit>[- ]{0,2}(?:y|yo|y/o|y\.o\.?|yrs?|years?)"
    r"(?:[- ]{0,2}(?:old|of[- ]age))?)?\s*"
)
_YOUNG = re.compile(
    r"(?i)\s*\d{1,3}[- ]{0,2}(?:m|mo|mos|months?|w|wks?|weeks?|d|days?)"
    r"(?:[- ]{0,2}old)?\s*"
)
_UNITS = words("zero one two three four five six seven eight nine")
_TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
_TEENS = words(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_NUMBER_WORDS = {
    **{word: n for n, word in enumerate((*_UNITS, *_TEENS))},
    **{word: 10 * n for n, word in enumerate(_TENS, start=2)},
}
_OVER_89 = re.compile(
    r"(?i)\s*(?:super)?(?:nonagenarian|centenarian|nineties|9\ds|9\d'?s|1\d\ds|1\d\d'?s"
    r"|ninetieth|(?:9\d|1\d\d)(?:st|nd|rd|th)|(?:(?:a|one)[ -])?hundred"
    r"(?:[ -](?:and[ -])?[a-z]+)?)\s*"
)


def capped(text: str) -> str | None:
    """Return "90+" for an age over 89, a younger one unchanged; None for no age."""
    if _OVER_89.fullmatch(text):
        return _OVER
    if _YOUNG.fullmatch(text):
        return text
    found = _AGE.fullmatch(text)
    if found is None:
        years = _in_words(text)
        return None if years is None else _capped(years, text, _OVER)
    return _capped(int(found["years"]), text, _OVER + (found["unit"] or ""))


def is_over_89(text: str) -> bool:
    """Return whether a text is an age over 89."""
    return (capped(text) or "").startswith(_OVER)


def _capped(years: int, text: str, over: str) -> str:
    return over if years > OLDEST else text


def _in_words(text: str) -> int | None:
    """Return the number of words such as "ninety-nine"."""
    parts = forms_of(text)
    values = [_NUMBER_WORDS[word] for word in parts if word in _NUMBER_WORDS]
    if not values or len(values) < len(parts) or len(values) > 2:
        return None
    if len(values) == 2 and not (values[0] in range(20, 100, 10) and values[1] < 10):
        return None
    return sum(values)
