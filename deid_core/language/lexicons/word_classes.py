"""The classes of a word, by all lists and counts; build.py works them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from .lists import load_list
from .normal import normal
from .places import states
from .vocabulary import (
    VOCABULARY_ZIPF,
    is_common_name,
    is_ordinary,
    is_vocabulary,
    name_score,
    zipf,
)
from .word_table import Listed, prebuilt_arrays, word_table


class WordClass:
    """Kinds that a word can be of, several at once: bits of a number.

    Plain numbers: an `IntFlag` takes a microsecond for each operation.
    """

    GIVEN = 1
    """A given name, and foremost that: Anna, Camila."""
    WEAK_GIVEN = 2
    """A given name that is a word, too: Will, Grace, Mark."""
    FAMILY = 4
    """A surname, and foremost that: Smith, Kowalski."""
    WEAK_FAMILY = 8
    """A surname that is a word, too: Young, Price."""
    CITY = 16
    """A large town, and foremost that: Seattle, Houston."""
    TOWN = 32
    """A town of any size, with a cue: Reading, Jackson."""
    UNKNOWN = 64
    """In no list at all: a rare name, a brand, a misspelling."""
    WORD = 128
    """An English or clinical word."""
    EPONYM = 256
    """Somebody after whom a disease, sign or device is named."""
    DRUG = 512
    """A part of a drug's name."""
    RARE = 1024
    """In English text, but so seldom that next to a given name it is a surname."""


KINDS: Mapping[str, int] = {
    "GIVEN": WordClass.GIVEN,
    "WEAK_GIVEN": WordClass.WEAK_GIVEN,
    "FAMILY": WordClass.FAMILY,
    "WEAK_FAMILY": WordClass.WEAK_FAMILY,
    "CITY": WordClass.CITY,
    "TOWN": WordClass.TOWN,
    "UNKNOWN": WordClass.UNKNOWN,
    "WORD": WordClass.WORD,
    "EPONYM": WordClass.EPONYM,
    "DRUG": WordClass.DRUG,
    "RARE": WordClass.RARE,
}
"""All kinds by their names."""

NO_KIND = 0
_ANY_NAME = (
    WordClass.GIVEN
    | WordClass.WEAK_GIVEN
    | WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.UNKNOWN
    | WordClass.RARE
)

GIVEN_SCORE = 0.5
"""From this `name_score` on, a given name that is also a word stays a given name."""

RARE_ZIPF = 3.4
"""Below this, a given name of no census is a name whatever else it means."""

RARE_WORD_ZIPF = 2.6

_NAME_OF_SOME = -1.0
# Hardly names by the counts, but before a surname they are nothing else.
_WORDS_TOO = frozenset({"will", "may", "art", "hope", "faith", "guy", "case"})
_SHORTEST_NAME = 3
_GIVEN_PER_FAMILY = 0.05
_GIVEN = Listed.GIVEN | Listed.GIVEN_OF_THE_WORLD
_FAMILY = Listed.FAMILY | Listed.FAMILY_OF_THE_WORLD
_OF_THE_WORLD = Listed.GIVEN_OF_THE_WORLD | Listed.FAMILY_OF_THE_WORLD


def is_listed(word: str) -> bool:
    """Return whether a word, in any case, is in the lexicons: it is no secret."""
    return _lists(normal(word)) != 0


def is_family(word: str) -> bool:
    """Return whether a word, in compared form, is a surname."""
    return bool(_lists(word) & _FAMILY)


def is_mostly_given(word: str) -> bool:
    """Return whether a given name, in compared form, is not far more a surname.

    Smith, Mayo and Jackson are given names, too: at least one in twenty must be.
    """
    table = word_table()
    row = table.row(word)
    if table.given[row] >= table.family[row] * _GIVEN_PER_FAMILY:
        return True
    return table.lists[row] & _OF_THE_WORLD == Listed.GIVEN_OF_THE_WORLD


def _lists(word: str) -> int:
    table = word_table()
    return table.lists[table.row(word)]


def word_classes(word: str) -> int:
    """Return the kinds of a word in compared form."""
    kinds = _by_row()[word_table().row(word)]
    return kinds if len(word) >= _SHORTEST_NAME else kinds & ~WordClass.UNKNOWN


@cache
def _by_row() -> Sequence[int]:
    """Return the kinds by row of `word_table`; of a word in no list, UNKNOWN."""
    return cast(Sequence[int], prebuilt_arrays("word_classes")["kinds"].data)


def kinds_by_lists(word: str) -> int:
    """Return the kinds of a word from lists and counts, for build.py."""
    lists = _lists(word)
    kinds = _as_given(word, lists) | _as_family(word, lists) | _as_place(word, lists)
    if word in load_list("eponyms"):
        kinds |= WordClass.EPONYM
    if word in load_list("drugs") and not is_common_name(word):
        kinds |= WordClass.DRUG
    if is_vocabulary(word) or word in load_list("institution_words"):
        kinds |= WordClass.WORD
        if zipf(word) < RARE_WORD_ZIPF and not kinds & WordClass.DRUG:
            kinds |= WordClass.RARE
    elif not kinds and zipf(word) < VOCABULARY_ZIPF and len(word) >= _SHORTEST_NAME:
        kinds |= WordClass.UNKNOWN
    return kinds


def is_mere_word(word: str) -> bool:
    """Return whether a word in compared form is a frequent one, and nobody's name."""
    return word_classes(word) & (WordClass.WORD | _ANY_NAME) == WordClass.WORD


def is_state(words: tuple[str, ...]) -> bool:
    """Return whether words in compared form are a state of the US, or its code."""
    return words in states()


def may_begin_state(word: str) -> bool:
    """Return whether a state, or its code, begins with the word in compared form."""
    return word in _first_words_of_states()


@cache
def _first_words_of_states() -> frozenset[str]:
    return frozenset(words[0] for words in states())


def _as_given(word: str, lists: int) -> int:
    if not lists & _GIVEN or len(word) < _SHORTEST_NAME:
        return NO_KIND
    if is_ordinary(word):
        is_borne = name_score(word) > _NAME_OF_SOME or word in _WORDS_TOO
        return WordClass.WEAK_GIVEN if is_borne else NO_KIND
    is_name = name_score(word) >= GIVEN_SCORE or zipf(word) < RARE_ZIPF
    if is_name and is_mostly_given(word):
        return WordClass.GIVEN
    return WordClass.WEAK_GIVEN


def _as_family(word: str, lists: int) -> int:
    if not lists & _FAMILY or len(word) < 2:
        return NO_KIND
    score = name_score(word)
    if is_ordinary(word):
        bears = is_common_name(word) or score > _NAME_OF_SOME
        return WordClass.WEAK_FAMILY if bears else NO_KIND
    if score >= GIVEN_SCORE or zipf(word) < VOCABULARY_ZIPF:
        return WordClass.FAMILY
    return WordClass.WEAK_FAMILY


def _as_place(word: str, lists: int) -> int:
    if not lists & Listed.TOWN:
        return NO_KIND
    is_name = name_score(word) >= GIVEN_SCORE or word in load_list("word_places")
    if is_name or not lists & Listed.CITY:
        return WordClass.TOWN
    return WordClass.CITY | WordClass.TOWN
