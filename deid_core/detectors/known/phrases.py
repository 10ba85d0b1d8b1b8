"""Phrases: words that identify only together, however they are joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...labels import Label
from ...lexicons import forms_of, load_list
from ...lexicons.lists import load_pairs
from .note import Note, Word

_CACHE_SIZE = 16_384
_LEFT_OUT = frozenset({"and", "of", "the"})
_APOSTROPHES = re.compile("['\u2019`\u00b4]")


class Phrase(NamedTuple):
    """Words that identify only together.

    Args:
        before: The compared forms before the key, run together.
        key: The word that is sought first.
        after: The compared forms after the key, run together.
        label: What it is.
        rule: ``address``, ``facility`` or ``employer``.
        needs_capital: Every word is ordinary, so written small it is no name.
        needs_place: It is ambiguous, and counts only beside another part.
    """

    before: str
    key: str
    after: str
    label: Label
    rule: str
    needs_capital: bool = False
    needs_place: bool = False

    def __repr__(self) -> str:
        return "Phrase()"

    def extent(self, note: Note, key: Word) -> tuple[int, int] | None:
        """Return the range of the whole phrase around its key, if it is all there."""
        end = consume(note, key, self.after, forward=True)
        start = consume(note, key, self.before, forward=False)
        if start is None or end is None:
            return None
        if self.needs_capital and note.text[start].islower():
            return None
        return start, end


def canonical(word: str) -> str:
    """Return the form in which words of addresses and institutions are compared.

    It is "" for the words that some leave out: "Hale & Sons", "Hale and Sons".
    """
    if word in _LEFT_OUT:
        return ""
    return load_pairs("street_words").get(word, word)


def consume(note: Note, key: Word, wanted: str, *, forward: bool) -> int | None:
    """Return where a phrase ends (starts) beyond its key, or None if it does not.

    Runs of letters are compared run together, so that "St. Mary's" is "St Marys".
    """
    edge = key.end if forward else key.start
    while wanted:
        gap, word = note.after(edge) if forward else note.before(edge)
        if word is None or len(gap) > 4 or "\n\n" in gap:
            return None
        form = canonical(word.normal)
        if forward and wanted.startswith(form):
            wanted, edge = wanted[len(form) :], word.end
        elif not forward and wanted.endswith(form):
            wanted, edge = wanted[: len(wanted) - len(form)], word.start
        else:
            return None
    return edge


def is_placeholder(words: Sequence[str]) -> bool:
    """Return whether nothing but placeholders stands in a field."""
    return all(word in load_list("placeholders") for word in words)


@lru_cache(maxsize=_CACHE_SIZE)
def variants(
    value: str,
    label: Label,
    rule: str,
    *,
    needs_capital: bool = False,
    needs_place: bool = False,
) -> tuple[Phrase, ...]:
    """Return a value as a phrase, and as one where its apostrophes are left out."""
    plain = _APOSTROPHES.sub("", value)
    both = dict.fromkeys((forms_of(value), forms_of(plain)))
    parts = (_around_key(words) for words in both if any(map(canonical, words)))
    return tuple(
        Phrase(*each, label, rule, needs_capital, needs_place) for each in parts
    )


def _around_key(words: tuple[str, ...]) -> tuple[str, str, str]:
    forms = tuple(map(canonical, words))
    # The longest word that has one form only is the rarest to meet by chance.
    pairs = zip(forms, words, strict=True)
    weights = [(form == word, len(word)) for form, word in pairs]
    at = weights.index(max(weights))
    return "".join(forms[:at]), words[at], "".join(forms[at + 1 :])
