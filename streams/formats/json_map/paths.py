"""Paths of fields in JSON events: `patient.phones[].number`.

Names are separated by dots; `[]` stands for all elements of a list; a name that holds
other characters is quoted: `visit."ward.no"`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ELEMENTS = None
"""The step from a list to its elements."""

Steps = tuple[str | None, ...]
Index = tuple[int, ...]

_BARE = re.compile(r'[^\s."\[\]]+')
_NAME = re.compile(
    rf'(?:"(?P<quoted>[^"]+)"|(?P<bare>{_BARE.pattern}))(?P<lists>(?:\[\])*)'
)


@dataclass(frozen=True, slots=True)
class Path:
    """Where fields of an event are."""

    steps: Steps

    @classmethod
    def parse(cls, text: str) -> Path:
        """Return the path that a text names.

        Raises:
            ValueError: It is none.
        """
        steps: list[str | None] = []
        at = 0
        while found := _NAME.match(text, at):
            steps += [found["quoted"] or found["bare"]]
            steps += [ELEMENTS] * (len(found["lists"]) // 2)
            at = found.end() + 1
            if text[at - 1 : at] != ".":
                break
        if at != len(text) + 1:
            raise ValueError("no path; write e.g. patient.phones[].number")
        return cls(tuple(steps))

    def __str__(self) -> str:
        """Return the path as a map has it."""
        return written(self.steps)

    @property
    def lists(self) -> Steps:
        """The path to the elements of the innermost list; empty if there is none."""
        last = max((n for n, s in enumerate(self.steps, 1) if s is ELEMENTS), default=0)
        return self.steps[:last]

    def values(self, event: object) -> Iterator[tuple[Index, Any]]:
        """Yield the values at the path, each with its places in the lists."""
        found: list[tuple[Index, Any]] = [((), event)]
        for step in self.steps:
            if step is ELEMENTS:
                found = [
                    ((*index, n), each)
                    for index, value in found
                    if isinstance(value, list)
                    for n, each in enumerate(value)
                ]
            else:
                found = [
                    (index, value[step])
                    for index, value in found
                    if isinstance(value, dict) and step in value
                ]
        yield from found


def written(steps: Iterable[str | None]) -> str:
    """Return the text of a path."""
    text = ""
    for step in steps:
        if step is ELEMENTS:
            text += "[]"
        else:
            name = step if _BARE.fullmatch(step) else f'"{step}"'
            text += f".{name}" if text else name
    return text


class Fate(StrEnum):
    """The treatment of a field."""

    MAPPED = "mapped"
    IGNORED = "ignored"
    BLOCKED = "blocked"


@dataclass(slots=True)
class _Node:
    """The fields at or below a path that a map knows."""

    fate: Fate | None = None
    below: dict[str | None, _Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field that a map does not know.

    Args:
        steps: Where it is.
        is_nameable: Whether the map has all names of the path.  Any other name is the
            sender's choice, and may identify a patient.
    """

    steps: Steps = field(repr=False)
    is_nameable: bool


class KnownPaths:
    """The paths of a map.

    Args:
        mapped: The fields that are read.
        ignored: The fields that are dropped, with all that is below them.
    """

    def __init__(self, mapped: Collection[Path], ignored: Collection[Path]) -> None:
        self._root = _Node()
        for fate, paths in ((Fate.MAPPED, mapped), (Fate.IGNORED, ignored)):
            for path in paths:
                node = self._root
                for step in path.steps:
                    node = node.below.setdefault(step, _Node())
                node.fate = fate
        self._names = {s for path in (*mapped, *ignored) for s in path.steps if s}

    def fate(self, steps: Steps) -> Fate:
        """Return what becomes of the field with this path."""
        node: _Node | None = self._root
        for step in steps:
            node = node.below.get(step) if node else None
            if node is not None and node.fate is Fate.IGNORED:
                return Fate.IGNORED
        return (node.fate if node else None) or Fate.BLOCKED

    def unknown(self, event: object) -> Iterator[Unknown]:
        """Yield the fields of an event that are neither mapped nor ignored.

        It goes no deeper than the paths of the map.
        """
        return self._unknown(event, self._root, ())

    def _unknown(self, value: object, node: _Node, steps: Steps) -> Iterator[Unknown]:
        if node.fate is Fate.IGNORED or value is None or value in ({}, []):
            return
        if isinstance(value, dict) and any(step is not ELEMENTS for step in node.below):
            for name, each in value.items():
                found, path = node.below.get(name), (*steps, name)
                if found is None:
                    yield Unknown(path, name in self._names)
                else:
                    yield from self._unknown(each, found, path)
        elif isinstance(value, list) and ELEMENTS in node.below:
            for each in value:
                path = (*steps, ELEMENTS)
                yield from self._unknown(each, node.below[ELEMENTS], path)
        elif isinstance(value, dict | list) or node.fate is not Fate.MAPPED:
            yield Unknown(steps, is_nameable=True)
