"""Dictionaries and a medical vocabulary, which are stored with the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from deid_core.tagger.features import WordLists

Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
"""Phrases by their first word, each with its name, the longest first."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Resources:
    """Resources of feature groups.

    Args:
        language: ISO 639, two letters.
        dictionaries: Entries by dictionary, of one word or several.
        mesh: By term in lower case, its categories, separated by spaces.
    """

    language: str
    dictionaries: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, repr=False
    )
    mesh: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def lists(self) -> WordLists:
        """The words of all entries in lower case, by dictionary."""
        return WordLists(
            lists={
                name: " ".join(sorted({w for e in entries for w in words_in(e)}))
                for name, entries in self.dictionaries.items()
            }
        )

    @cached_property
    def phrases(self) -> Phrases:
        """The entries of the dictionaries as phrases."""
        return _phrases(
            (entry, name)
            for name, entries in self.dictionaries.items()
            for entry in entries
        )

    @cached_property
    def mesh_phrases(self) -> Phrases:
        """The terms of the vocabulary as phrases."""
        return _phrases(self.mesh.items())

    def as_json(self) -> dict[str, Any]:
        """Return the resources as JSON values; `read` reads them."""
        return {
            "language": self.language,
            "dictionaries": {n: list(each) for n, each in self.dictionaries.items()},
            "mesh": dict(self.mesh),
        }

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        """Return the resources that `as_json` returned."""
        entries = {name: tuple(each) for name, each in value["dictionaries"].items()}
        return cls(value["language"], entries, value["mesh"])


def words_in(entry: str) -> list[str]:
    """Return the words of an entry in lower case."""
    return _WORD.findall(entry.lower())


def longest_phrase(
    phrases: Phrases, words: list[str], at: int, most: int
) -> tuple[int, str]:
    """Return the length and the name of the longest phrase that starts at a word.

    Args:
        phrases: The phrases.
        words: Of a sentence, in lower case.
        at: The index of the word.
        most: The longest phrases to find, in words.
    """
    for group, name in phrases.get(words[at], ()):
        size = len(group)
        if size <= most and tuple(words[at : at + size]) == group:
            return size, name
    return 0, ""


def _phrases(entries: Iterable[tuple[str, str]]) -> Phrases:
    table: dict[str, set[tuple[tuple[str, ...], str]]] = {}
    for entry, name in entries:
        if words := tuple(words_in(entry)):
            table.setdefault(words[0], set()).add((words, name))
    return {
        first: tuple(sorted(each, key=lambda one: (-len(one[0]), one[1])))
        for first, each in table.items()
    }
