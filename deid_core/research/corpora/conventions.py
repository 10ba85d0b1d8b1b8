"""Conventions of a corpus: its tags as our labels, and its parts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deid_core.errors import ConfigError
from deid_core.labels import Label

PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Rows:
    """Documents of a corpus by position, from 1, inclusive.

    Args:
        last: None for all that follow.
    """

    first: int
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> Rows:
        """Return the rows in ``44-87``, ``44-`` or ``44``.

        Raises:
            ConfigError: The text has another form.
        """
        found = re.fullmatch(r"(\d+)(-)?(\d+)?", text, re.ASCII)
        if not found or (found[3] and not found[2]) or int(found[1]) < 1:
            raise ConfigError(f"rows {text!r}: not FIRST-LAST, counted from 1")
        first = int(found[1])
        last = int(found[3]) if found[3] else None if found[2] else first
        if last is not None and last < first:
            raise ConfigError(f"rows {text!r}: the last is before the first")
        return cls(first, last)

    def of(self, count: int) -> range:
        """Return the positions, from 0, in a corpus of so many documents."""
        return range(
            self.first - 1, count if self.last is None else min(self.last, count)
        )

    def within(self, count: int) -> str:
        """Return the rows as text, with the number of the last document."""
        return f"{self.first}-{self.of(count).stop}"


@dataclass(frozen=True, slots=True)
class Conventions:
    """The annotation conventions of a corpus.

    Args:
        name: Of the corpus.
        tags: The labels of each tag; the first is the one that it is scored as.  A tag
            can have none.
        neutral: Tags that are no identifiers.
        all_sought: Whether ages under 90 and years alone must be found, too.
        parts: Rows by part; without any, the corpus is halved.
        unmarked: Labels that were not annotated: their predictions are neither right
            nor wrong.
        titles_are_neutral: Whether a title in a name may stay, and one beside a name
            may be redacted: annotators differ.
    """

    name: str
    tags: Mapping[str, tuple[Label, ...]]
    neutral: frozenset[str] = frozenset()
    all_sought: bool = False
    parts: Mapping[str, Rows] = field(default_factory=dict)
    unmarked: frozenset[Label] = frozenset()
    titles_are_neutral: bool = True

    def label_of(self, tag: str) -> Label | None:
        """Return the label that a tag is scored as, or None.

        Raises:
            ConfigError: The tag is unknown.
        """
        if tag not in self.tags:
            known = ", ".join(self.tags)
            raise ConfigError(
                f"corpus {self.name!r}: tag {tag!r} is unknown; known: {known}; "
                "add it to corpora.toml, or name the corpus whose tags these are"
            )
        return next(iter(self.tags[tag]), None)

    def map_label(self, label: Label) -> Label:
        """Return the label that a prediction is scored as: the corpus's coarser one."""
        labels = self.tags.get(self.tag_of(label), ())
        return next(iter(labels), label)

    def tag_of(self, label: Label) -> str:
        """Return the corpus's tag of a label, or the label if there is none."""
        tags = [tag for tag, labels in self.tags.items() if label in labels]
        # A tag whose first label this is comes before others that allow it.
        return min(
            tags, key=lambda tag: self.tags[tag].index(label), default=label.value
        )

    def rows(self, part: str, count: int) -> Rows:
        """Return the rows of a part: ``dev``, ``test`` or ``all``.

        A corpus without parts is halved by position; with an odd number of documents,
        dev has one more.

        Raises:
            ConfigError: There is no such part.
        """
        half = (count + 1) // 2
        halves = {"dev": Rows(1, half), "test": Rows(half + 1)}
        parts = {**(self.parts or halves), "all": Rows(1)}
        if part not in parts:
            known = ", ".join(parts)
            raise ConfigError(f"part {part!r} is unknown; known: {known}")
        return parts[part]

    def holds_out(self, rows: Rows, count: int) -> bool:
        """Return whether any of the rows is in the test part of the corpus."""
        test = self.parts.get("test")
        if test is None:
            return False
        return not set(rows.of(count)).isdisjoint(test.of(count))


def conventions_for(path: Path, name: str | None = None) -> Conventions:
    """Return the conventions of the corpus at a path.

    Args:
        path: The corpus; if no folder in the path has the name of a known corpus, its
            tags are our labels.
        name: The name of a corpus, whatever the path.

    Raises:
        ConfigError: No corpus has that name.
    """
    known = _all()
    if name is not None:
        if name not in known:
            raise ConfigError(f"corpus {name!r} is unknown; known: {', '.join(known)}")
        return known[name]
    folders = (path.stem, path.name, *(each.name for each in path.resolve().parents))
    return known[next((each for each in folders if each in known), PLAIN)]


@cache
def _all() -> Mapping[str, Conventions]:
    text = (files(__package__) / "corpora.toml").read_text("utf-8")
    found = tomllib.loads(text)
    tables = {
        name: _read(name, found[table.get("tags_of", name)])
        for name, table in found.items()
    }
    return MappingProxyType({PLAIN: _plain(), **tables})


def _read(name: str, table: dict[str, Any]) -> Conventions:
    tags = {tag: tuple(map(Label, labels)) for tag, labels in table["tags"].items()}
    parts = {part: Rows.parse(rows) for part, rows in table.get("parts", {}).items()}
    return Conventions(
        name,
        MappingProxyType(tags),
        frozenset(table.get("neutral", ())),
        table.get("all_sought", False),
        MappingProxyType(parts),
        frozenset(map(Label, table.get("unmarked", ()))),
        table.get("titles_are_neutral", True),
    )


def _plain() -> Conventions:
    # Both forms of a label: NAME:PATIENT, and i2b2's PATIENT alone.
    tags = {label.value: (label,) for label in Label}
    short = {label.name: (label,) for label in Label}
    return Conventions(PLAIN, MappingProxyType({**short, **tags}))
