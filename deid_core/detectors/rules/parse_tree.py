"""A regular expression as a tree of a few kinds of nodes, read from Python's parser.

Characters are those of folded text (`fragments.to_ascii`): ASCII, and one for all
others, none of which is a letter or a digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from re import _constants as codes  # type: ignore[attr-defined]  # not in the stubs
from re import _parser as parser  # type: ignore[attr-defined]  # not in the stubs
from typing import Any

from .pattern import LazyPattern

# What Python's parser gives has no types.
Parsed = Any
_OTHER = 128
_ASCII = tuple(map(chr, range(_OTHER)))


def _mask(characters: Iterable[str]) -> int:
    return sum({1 << min(ord(each), _OTHER) for each in characters})


_ALL = (1 << _OTHER + 1) - 1
_LETTERS = _mask(filter(str.isalpha, _ASCII))
_DIGITS = _mask(filter(str.isdigit, _ASCII))
_SPACES = _mask(filter(str.isspace, _ASCII)) | 1 << _OTHER
_WORD = _LETTERS | _DIGITS | _mask("_") | 1 << _OTHER
_CATEGORIES = {
    codes.CATEGORY_DIGIT: _DIGITS,
    codes.CATEGORY_SPACE: _SPACES,
    codes.CATEGORY_WORD: _WORD,
    codes.CATEGORY_NOT_DIGIT: _ALL & ~_DIGITS,
    codes.CATEGORY_NOT_SPACE: _ALL & ~_SPACES | 1 << _OTHER,
    codes.CATEGORY_NOT_WORD: _ALL & ~_WORD | 1 << _OTHER,
}


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A part of a pattern.

    Args:
        least: How many code points it matches at least.
        most: How many at most; may be infinite.
        reach: How many code points past its start it may look at.
    """

    least: int
    most: float
    reach: float


@dataclass(frozen=True, slots=True, eq=False)
class Characters(Node):
    """One character out of a set.

    Args:
        shapes: In lower case, 0 for each digit; None if the set is open, as `[^a]`.
        has_letters: Whether there is a letter in the set.
        has_all_letters: Whether every letter of both cases is.
    """

    shapes: frozenset[str] | None
    has_letters: bool
    has_all_letters: bool


@dataclass(frozen=True, slots=True, eq=False)
class Series(Node):
    """One part after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Node):
    """One of several parts; of none of them if nothing can match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(Node):
    """A part again and again, `first` to `last` times."""

    part: Node
    first: int
    last: float


@dataclass(frozen=True, slots=True, eq=False)
class Group(Node):
    """A part that a reference may repeat."""

    part: Node
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Reference(Node):
    """A backreference: the text that a group matched, once more."""

    part: Node
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Look(Node):
    """A part that must or must not match ahead or behind."""

    part: Node
    is_ahead: bool
    is_positive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Edge(Node):
    """A place: "start" or "end" of a text or line, "word" boundary, or "other"."""

    kind: str


_EDGES = {
    codes.AT_BEGINNING: "start",
    codes.AT_BEGINNING_STRING: "start",
    codes.AT_END: "end",
    codes.AT_END_STRING: "end",
    codes.AT_BOUNDARY: "word",
}
_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}


def parse(pattern: re.Pattern[str] | LazyPattern) -> Node:
    """Return the tree of a pattern."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    return _Reader().series(parsed, pattern.flags)


def _one_of(mask: int) -> Characters:
    members = [each for n, each in enumerate(_ASCII) if mask >> n & 1]
    shapes = frozenset("0" if each.isdigit() else each.lower() for each in members)
    is_open = bool(mask >> _OTHER)
    has_letters, has_all = bool(mask & _LETTERS), not _LETTERS & ~mask
    return Characters(1, 1, 1, None if is_open else shapes, has_letters, has_all)


def series(parts: Iterable[Node]) -> Series:
    """Return the parts one after the other."""
    parts = tuple(parts)
    least, most, reach = 0, 0.0, 0.0
    for each in parts:
        reach = max(reach, most + each.reach)
        least, most = least + each.least, most + each.most
    return Series(least, most, reach, parts)


def choice(parts: Iterable[Node]) -> Choice:
    """Return one of the parts, without those that never match."""
    parts = tuple(each for each in parts if not _is_never(each))
    return Choice(
        min((each.least for each in parts), default=0),
        max((each.most for each in parts), default=0),
        max((each.reach for each in parts), default=0),
        parts,
    )


def repeat(part: Node, first: int, last: float) -> Repeat:
    """Return a part again and again."""
    if not last or not part.reach:
        return Repeat(0, 0, 0 if not last else part.reach, part, first, last)
    most = part.most * last if part.most else 0
    reach = (part.most * (last - 1) if part.most else 0) + part.reach
    return Repeat(part.least * first, most, reach, part, first, last)


def _is_never(node: Node) -> bool:
    if isinstance(node, Choice):
        return not node.parts
    return isinstance(node, Series) and any(map(_is_never, node.parts))


class _Reader:
    """Reads what Python's parser gives: pairs of a code and its argument."""

    def __init__(self) -> None:
        self._groups: dict[int, Node] = {}

    def series(self, parsed: Parsed, flags: int) -> Node:
        return series(self._node(code, argument, flags) for code, argument in parsed)

    def _node(self, code: Parsed, argument: Parsed, flags: int) -> Node:
        if code in _REPEATS:
            first, last, part = argument
            last = inf if last is codes.MAXREPEAT else last
            return repeat(self.series(part, flags), first, last)
        if code is codes.SUBPATTERN:
            return self._group(argument, flags)
        if code is codes.BRANCH:
            return choice(self.series(each, flags) for each in argument[1])
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            return self._look(argument, flags, is_positive=code is codes.ASSERT)
        if code is codes.GROUPREF:
            inner = self._groups[argument]
            return Reference(inner.least, inner.most, inner.reach, inner, argument)
        if code is codes.GROUPREF_EXISTS:
            return choice(self.series(each or (), flags) for each in argument[1:])
        if code is codes.ATOMIC_GROUP:
            return self.series(argument, flags)
        return _leaf(code, argument, flags)

    def _group(self, argument: Parsed, flags: int) -> Node:
        number, more, fewer, part = argument
        inner = self.series(part, flags & ~fewer | more)
        if number is None:
            return inner
        self._groups[number] = inner
        return Group(inner.least, inner.most, inner.reach, inner, number)

    def _look(self, argument: Parsed, flags: int, *, is_positive: bool) -> Node:
        direction, part = argument
        if not part and not is_positive:
            return choice(())
        inner = self.series(part, flags)
        is_ahead = direction > 0
        return Look(0, 0, inner.reach if is_ahead else 0, inner, is_ahead, is_positive)


def _leaf(code: Parsed, argument: Parsed, flags: int) -> Node:
    if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
        return _one_of(_members(code, argument, flags))
    if code is codes.AT:
        return Edge(0, 0, 1, _EDGES.get(argument, "other"))
    if code is codes.FAILURE:
        return choice(())
    raise ValueError(f"unknown part of a pattern: {code}")


def _members(code: Parsed, argument: Parsed, flags: int) -> int:
    if code is codes.ANY:
        return _ALL if flags & re.DOTALL else _ALL & ~_mask("\n")
    if code is codes.IN:
        is_negated = argument[0][0] is codes.NEGATE
        mask = 0
        for kind, each in argument[is_negated:]:
            mask |= _item(kind, each)
    else:
        is_negated = code is codes.NOT_LITERAL
        mask = _mask(chr(argument))
    if flags & re.IGNORECASE:
        mask |= _mask(each.swapcase() for n, each in enumerate(_ASCII) if mask >> n & 1)
    return _ALL & ~mask | 1 << _OTHER if is_negated else mask


def _item(kind: Parsed, argument: Parsed) -> int:
    if kind is codes.CATEGORY:
        return _CATEGORIES[argument]
    if kind is codes.RANGE:
        return _mask(map(chr, range(argument[0], min(argument[1], _OTHER) + 1)))
    return _mask(chr(argument))
