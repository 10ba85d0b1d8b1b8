"""Feature groups that a word alone decides.

Names and sources: [S] Uzuner's Stat De-id as rebuilt by Tafvizi and Pacula, section 4;
[U] Scheurwegs and others 2013, section 2.3; [W] He and others 2015, Table 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from deid_core.tagger.features import OF_PIECES, PROPERTIES, Values, WordLists

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def _when(name: str, holds: bool) -> list[str]:
    return [name] if holds else []


def _is_mark(character: str) -> bool:
    return not (character.isalnum() or character.isspace())


def _letters(word: str) -> bool:
    return any(map(str.isalpha, word))


def _digits(word: str) -> bool:
    return any(map(str.isdigit, word))


def _marks(word: str) -> bool:
    return any(map(_is_mark, word))


def _listed(word: str, lists: WordLists) -> list[str]:
    return list(lists.names(word))


WORD_GROUPS: Mapping[str, Values] = {
    **{name: of for name, of in PROPERTIES.items() if name not in OF_PIECES},
    # [S] 4.2.2 to 4.2.5: "a single binary indicator feature" each, and the length as
    # "L indicator features where L is the length of the longest word".
    "capitalised": lambda word, _: _when("1", word[:1].isupper()),
    "punctuation": lambda word, _: _when("1", _marks(word)),
    "is_number": lambda word, _: _when("1", _NUMBER.fullmatch(word) is not None),
    "characters": lambda word, _: [str(len(word))],
    # [W] Table 2, lexical and orthographic features.
    "first4": lambda word, _: [word[:4].lower()],
    "last4": lambda word, _: [word[-4:].lower()],
    "has_letter": lambda word, _: _when("1", _letters(word)),
    "has_capital": lambda word, _: _when("1", any(map(str.isupper, word))),
    "all_capitals": lambda word, _: _when("1", word.isalpha() and word.isupper()),
    "has_digit": lambda word, _: _when("1", _digits(word)),
    "all_digits": lambda word, _: _when("1", word.isdigit()),
    "letters_and_digits": lambda word, _: _when(
        "1", word.isalnum() and _letters(word) and _digits(word)
    ),
    "digits_and_punctuation": lambda word, _: _when(
        "1", _digits(word) and _marks(word) and not _letters(word)
    ),
    # [S] 4.4.3, [W]: "whether the lowercase of the token is in the dictionary".
    "dictionary": _listed,
}
"""Every group by its name; a value that is not there makes no feature."""
