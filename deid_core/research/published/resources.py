"""What a model knows beside its training text: dictionaries, and a medical vocabulary.

All of it travels with the model, as plain data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from deid_core.errors import ConfigError
from deid_core.tagger.features import WordLists

Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
"""By first word, word groups and what they are, the longest first."""

_WORD = re.compile(r"\w+")
_CATEGORY = re.compile(r"([A-Z])(\d\d)?[\d.]*\Z")


@dataclass(frozen=True)
class Resources:
    """What feature groups may ask.

    Args:
        language: ISO 639, two letters.
        dictionaries: By name, entries as written, one word or several.
        mesh: By term in small letters, its categories, separated by blanks.
    """

    language: str
    dictionaries: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, repr=False
    )
    mesh: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def lists(self) -> WordLists:
        """Every single word of every entry, in small letters, by dictionary."""
        return WordLists(
            lists={
                name: " ".join(sorted({w for e in entries for w in words_in(e)}))
                for name, entries in self.dictionaries.items()
            }
        )

    @cached_property
    def phrases(self) -> Phrases:
        """The dictionaries' entries as word groups."""
        return _phrases(
            (entry, name)
            for name, entries in self.dictionaries.items()
            for entry in entries
        )

    @cached_property
    def mesh_phrases(self) -> Phrases:
        """The vocabulary's terms as word groups."""
        return _phrases(self.mesh.items())

    def as_json(self) -> dict[str, Any]:
        """Return the values that `read` reads."""
        return {
            "language": self.language,
            "dictionaries": {n: list(each) for n, each in self.dictionaries.items()},
            "mesh": dict(self.mesh),
        }

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        """Return the resources of a model's file."""
        entries = {name: tuple(each) for name, each in value["dictionaries"].items()}
        return cls(value["language"], entries, value["mesh"])


def words_in(entry: str) -> list[str]:
    """Return the words of an entry, in small letters."""
    return _WORD.findall(entry.lower())


def longest(phrases: Phrases, words: list[str], at: int, most: int) -> tuple[int, str]:
    """Return how many words from a place on are a word group, and what it is.

    Args:
        phrases: What to look for.
        words: Of a sentence, in small letters.
        at: The place.
        most: Longer groups are not looked for.
    """
    for group, name in phrases.get(words[at], ()):
        size = len(group)
        if size <= most and tuple(words[at : at + size]) == group:
            return size, name
    return 0, ""


def read_mesh(path: Path) -> dict[str, str]:
    """Return the terms of a file of lines ``term<tab>tree number``.

    The tree number ``C14.280.647`` gives the categories C and C14.  MeSH itself is the
    National Library of Medicine's; its descriptors come as such pairs.

    Raises:
        ConfigError: It cannot be read, or a line is none of these.
    """
    found: dict[str, set[str]] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from None
    for number, line in enumerate(lines, start=1):
        term, _, tree = line.partition("\t")
        if not term or not _CATEGORY.match(tree.strip()):
            raise ConfigError(f"{path}:{number}: not TERM<tab>TREE NUMBER")
        found.setdefault(term.lower(), set()).add(tree.strip())
    return {term: categories(trees) for term, trees in found.items()}


def categories(trees: Iterable[str]) -> str:
    """Return the categories of tree numbers, sorted: of ``C14.280`` C and C14.

    The paper has "an indicator feature for each MeSH ID type", of which there are 15
    and their subcategories (Tafvizi and Pacula, 4.4.2).
    """
    found = set[str]()
    for tree in trees:
        if category := _CATEGORY.match(tree):
            found |= {category[1], category[1] + (category[2] or "")}
    return " ".join(sorted(found))


def _phrases(entries: Iterable[tuple[str, str]]) -> Phrases:
    table: dict[str, set[tuple[tuple[str, ...], str]]] = {}
    for entry, name in entries:
        if words := tuple(words_in(entry)):
            table.setdefault(words[0], set()).add((words, name))
    return {
        first: tuple(sorted(each, key=lambda one: (-len(one[0]), one[1])))
        for first, each in table.items()
    }
