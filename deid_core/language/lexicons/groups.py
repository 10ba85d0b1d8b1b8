"""Houses, states and countries as word groups, for those who look for whole names."""

from __future__ import annotations

from functools import cache

from .lists import load_list
from .normal import forms_of
from .places import Phrases, by_first_word, countries, states
from .word_classes import WordClass, word_classes


@cache
def houses_of_words() -> Phrases:
    """Return hospitals and firms of two words and more."""
    every = load_list("hospital_brands") | load_list("organizations")
    return by_first_word(tuple(name.split()) for name in every if " " in name)


@cache
def lands_of_words() -> Phrases:
    """Return the states and countries of two words and more."""
    return by_first_word(words for words in _every_land() if len(words) > 1)


@cache
def lands() -> frozenset[str]:
    """Return the states and countries of one word."""
    return frozenset(words[0] for words in _every_land() if len(words) == 1)


def _every_land() -> set[tuple[str, ...]]:
    lands = {forms_of(name) for name in countries()}
    return lands | {words for words in states() if len(" ".join(words)) > 2}


@cache
def single_house_names() -> frozenset[str]:
    """Return hospitals and firms of one word."""
    every = load_list("hospital_brands") | load_list("organizations")
    return frozenset(name for name in every if " " not in name)


@cache
def acronyms() -> frozenset[str]:
    """Return the words that are written in capitals throughout: UCSF, NYC."""
    every = load_list("hospital_brands") | load_list("organizations")
    short = {name for name in every if " " not in name and len(name) <= 4}
    known = {
        word
        for word in short
        if not word_classes(word)
        & (WordClass.WORD | WordClass.GIVEN | WordClass.FAMILY)
    }
    return frozenset(known | {"nyc", "md", "va", "uw", "nyu", "ucsf", "ucla", "cvs"})
