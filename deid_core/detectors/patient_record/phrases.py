"""Phrases: values that identify only as a whole; facilities and employers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache
from typing import NamedTuple

from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, is_ordinary, load_list
from deid_core.language.lexicons.lists import load_pairs

from .note import Note, Word

_LEGAL_FORM = re.compile(
    r"[\s,]+(?:inc|llc|ltd|corp|corporation|co|plc|gmbh|lp|llp|pc)[.\s]*$",
    re.IGNORECASE,
)
_SHORTEST = 4
_LEFT_OUT = frozenset({"and", "of", "the"})
_APOSTROPHES = re.compile("['\u2019`\u00b4]")
_AT_WORK = frozenset({"at", "for", "by", "with", "from", "employer", "company"})
_WORK = frozenset(
    {"work", "works", "worked", "working", "employed", "employee", "job", "employer"}
    | {"retired", "laid"}
)
_WORK_REACH = 5


class Needs(IntEnum):
    """Evidence that a phrase needs besides its words, which may mean something else."""

    NOTHING = 0
    CAPITAL = 1
    PLACE = 2
    WORK = 3


class Phrase(NamedTuple):
    """Words that identify only together.

    Args:
        before: The compared forms before the key, run together.
        key: The word that is looked up first.
        after: The compared forms after the key, run together.
        label: What it is.
        rule: ``address``, ``facility`` or ``employer``.
        needs: A capital, since every word is ordinary; another part of the address
            next to it; "works at" before it.
    """

    before: str
    key: str
    after: str
    label: Label
    rule: str
    needs: Needs = Needs.NOTHING

    def __repr__(self) -> str:
        return "Phrase()"

    def extent(self, note: Note, key: Word) -> tuple[int, int] | None:
        """Return the first and the last word of the phrase, if it is all there."""
        last = consume(note, key.at, self.after, forward=True)
        first = consume(note, key.at, self.before, forward=False)
        if first is None or last is None:
            return None
        if self.needs is Needs.CAPITAL and not _has_capital(note, first, last):
            return None
        if self.needs is Needs.WORK and not _is_work(note, first):
            return None
        return first, last


def _has_capital(note: Note, first: int, last: int) -> bool:
    # Where nothing has a capital, two words in a row are enough.
    return note.surface(first)[0].isupper() or (note.is_caseless and last > first)


def _is_work(note: Note, first: int) -> bool:
    before = note.forms(first - _WORK_REACH, first)
    is_name = note.is_caseless or note.surface(first)[0].isupper()
    is_there = bool(before) and before[-1] in _AT_WORK
    return is_name and is_there and not _WORK.isdisjoint(before)


def canonical(word: str) -> str:
    """Return the form in which words of addresses and institutions are compared.

    It is "" for the words that some leave out: "Hale & Sons", "Hale and Sons".
    """
    if word in _LEFT_OUT:
        return ""
    return load_pairs("street_words").get(word, word)


def consume(note: Note, at: int, wanted: str, *, forward: bool) -> int | None:
    """Return the last (first) word of a phrase from its key on, or None.

    Runs of letters are compared run together, so that "St. Mary's" is "St Marys".
    """
    while wanted:
        gap, word = note.after(at) if forward else note.before(at)
        if word is None or len(gap) > 4 or "\n\n" in gap:
            return None
        form = canonical(word.normal)
        if forward and wanted.startswith(form):
            wanted = wanted[len(form) :]
        elif not forward and wanted.endswith(form):
            wanted = wanted[: len(wanted) - len(form)]
        else:
            return None
        at = word.at
    return at


def is_placeholder(words: Sequence[str]) -> bool:
    """Return whether a field holds nothing but placeholders."""
    return load_list("placeholders").issuperset(words)


def variants(
    value: str, label: Label, rule: str, needs: Needs = Needs.NOTHING
) -> tuple[Phrase, ...]:
    """Return a value as a phrase, and as one where its apostrophes are left out."""
    plain = _APOSTROPHES.sub("", value)
    both = [forms_of(value)] if plain == value else [forms_of(value), forms_of(plain)]
    return tuple(
        phrase_of(words, label, rule, needs)
        for words in dict.fromkeys(both)
        if any(map(canonical, words))
    )


def phrase_of(
    words: Sequence[str], label: Label, rule: str, needs: Needs = Needs.NOTHING
) -> Phrase:
    """Return words in compared form as a phrase, looked up by its rarest word."""
    forms = tuple(map(canonical, words))
    # The longest word that has one form only is the rarest to meet by chance.
    pairs = zip(forms, words, strict=True)
    weights = [(form == word, len(word)) for form, word in pairs]
    at = weights.index(max(weights))
    before, after = "".join(forms[:at]), "".join(forms[at + 1 :])
    return Phrase(before, words[at], after, label, rule, needs)


def without_legal_form(value: str) -> str:
    """Return the name of an institution without "Inc." and the like."""
    return _LEGAL_FORM.sub("", value.strip())


def institution(value: str, label: Label, rule: str) -> tuple[Phrase, ...]:
    """Return the phrases that name an institution; none for a placeholder.

    Its legal form may be left out, and so may what says of what kind it is: "Acme" for
    Acme Manufacturing, Inc.  That short name needs a capital, one that is a common word
    after "works at".
    """
    core = without_legal_form(value)
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
    while name and (name[-1] in kinds_of_institutions() or not canonical(name[-1])):
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
def kinds_of_institutions() -> frozenset[str]:
    """Return the words that say of what kind an institution is."""
    names = ("institution_kinds", "institution_words")
    return frozenset().union(*map(load_list, names))
