"""Facilities and employers: the whole name, and what people call them for short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, is_ordinary, load_list

from .phrases import Needs, Phrase, canonical, is_placeholder, phrase_of, variants

_LEGAL_FORM = re.compile(
    r"[\s,]+(?:inc|llc|ltd|corp|corporation|co|plc|gmbh|lp|llp|pc)[.\s]*$",
    re.IGNORECASE,
)
_SHORTEST = 4


def institution(value: str, label: Label, rule: str) -> tuple[Phrase, ...]:
    """Return the phrases that name an institution; none for a placeholder.

    Its legal form may be left out, and so may what says of what kind it is: "Acme" for
    Acme Manufacturing, Inc.  That short name needs a capital, one that is a common word
    besides "works at".
    """
    core = _LEGAL_FORM.sub("", value.strip())
    words = forms_of(core)
    if is_placeholder(words) or sum(map(len, words)) < 3:
        return ()
    phrases: list[Phrase] = []
    all_ordinary = _are_ordinary(words)
    if len(words) > 1 or not all_ordinary:
        needs = Needs.CAPITAL if all_ordinary else Needs.NOTHING
        phrases += variants(core, label, rule, needs)
    return tuple(dict.fromkeys((*phrases, *_short(words, label, rule))))


def _are_ordinary(words: tuple[str, ...]) -> bool:
    return all(is_ordinary(word) for word in words if word.isalpha())


def _short(words: tuple[str, ...], label: Label, rule: str) -> Iterator[Phrase]:
    name = list(words)
    while name and (name[-1] in _kinds() or not canonical(name[-1])):
        name.pop()
    letters = [word for word in name if word.isalpha()]
    is_whole = len(name) == len(words) and len(name) > 1
    if not letters or is_whole or max(map(len, letters)) < _SHORTEST:
        return
    if is_placeholder(letters) or not load_list("eponyms").isdisjoint(letters):
        return
    if len(name) > 1 or not is_ordinary(name[0]):
        yield phrase_of(name, label, rule, Needs.CAPITAL)
    elif rule == "employer":
        yield phrase_of(name, label, rule, Needs.WORK)


@cache
def _kinds() -> frozenset[str]:
    """Return the words that say of what kind an institution is."""
    names = ("institution_kinds", "institution_words")
    return frozenset().union(*map(load_list, names))
