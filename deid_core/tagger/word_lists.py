"""What a model knows of single words: cue classes and lists, as plain data.

Both are of one language or one house, so they come from a recipe and travel with the
model, whatever lists a later version of a package holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Entries = Mapping[str, str]
"""By name, the words in small letters, separated by blanks."""


@dataclass(frozen=True)
class WordLists:
    """Cue classes and lists of words.

    Args:
        cues: By class, words that announce an identifier (``tel``, ``calle``); the
            first class that holds a word is its class.
        cue_patterns: By class, what a word must be as a whole; asked before `cues`.
        lists: By name, words that are often part of one (given names, towns).
    """

    cues: Entries = field(default_factory=dict)
    cue_patterns: Mapping[str, str] = field(default_factory=dict)
    lists: Entries = field(default_factory=dict)

    @property
    def cue_classes(self) -> list[str]:
        """The cue classes, each once."""
        return list(dict.fromkeys((*self.cue_patterns, *self.cues)))

    def cue(self, word: str) -> str:
        """Return the cue class of a word, or nothing."""
        for name, pattern in self._patterns:
            if pattern.fullmatch(word):
                return name
        return self._cue_of.get(word.lower(), "")

    def names(self, word: str) -> tuple[str, ...]:
        """Return the names of the lists that hold a word."""
        return self._lists_of.get(word.lower(), ())

    def as_json(self) -> dict[str, Any]:
        """Return the lists as plain values, sorted so that they hash alike."""
        return {
            "cues": dict(self.cues),
            "cue_patterns": dict(self.cue_patterns),
            "lists": dict(self.lists),
        }

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        return [(name, re.compile(each)) for name, each in self.cue_patterns.items()]

    @cached_property
    def _cue_of(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, words in self.cues.items():
            for word in words.split():
                found.setdefault(word, name)
        return found

    @cached_property
    def _lists_of(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name, words in self.lists.items():
            for word in words.split():
                found[word] = (*found.get(word, ()), name)
        return found
