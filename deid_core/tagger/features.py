"""Feature groups by name: what a model may look at.

Three kinds, all static, so that their weights compile into tables:

* A *property* is what a word is by itself; it may have several values (its letter
  trigrams), and is looked at through a window: ``suffix3[-1]=nez``.  Whether a blank
  precedes it is one, too.
* A *column* is one value for each word: of the word itself (``word``, ``shape``,
  ``cue``), or of its line (``header``, the nearest cue to the ``left``).
* A *conjunction* joins columns at offsets: ``word:-1 word:0``.

A feature's name is its group, offset and value; learners and models know features by
these names alone.  What a model knows of single words (`WordLists`) is of one language
or one hospital: it comes from a recipe and travels with the model.  Sources: He and
others 2015, Table 2 (word, affixes, shape, length, dictionaries); Uzuner and others
2008, section 4 (lexical bigrams, headings).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol, Self

from deid_core.errors import ConfigError

Entries = Mapping[str, str]
"""By name, the words in lower case, separated by blanks."""


@dataclass(frozen=True)
class WordLists:
    """Cue classes and lists of words.

    Args:
        cues: By class, words that announce an identifier (``tel``, ``calle``); the
            first class that holds a word is its class.
        cue_patterns: By class, what a word must match as a whole; tried before `cues`.
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


class KnownWords(Protocol):
    """Knowledge of single words: `WordLists`, or a model's tables of them."""

    def cue(self, word: str) -> str:
        """Return the cue class of a word, or nothing."""

    def names(self, word: str) -> tuple[str, ...]:
        """Return the names of the lists that hold a word."""


Values = Callable[[str, KnownWords], Iterable[str]]
Value = Callable[[str, KnownWords], str]

PAD = ""
"""The word before a line's first and after its last; its values are ``<pad>``."""
PAD_VALUE = "<pad>"
SEPARATOR = "\t"
"""Between a conjunction's values; no word holds one."""
_LONGEST_HEADER = 40
_HUNDRED, _FIRST_YEAR, _LAST_YEAR = 100, 1900, 2100


def shape(word: str) -> str:
    """Return the word with its letters as ``A`` or ``a`` and its digits as ``0``.

    A mark on a letter is one, so that a shape spells no part of a word.
    """
    return "".join(map(_shape_of, word))


def collapsed_shape(word: str) -> str:
    """Return the shape with runs marked: ``Maria12`` is ``Aa+0+``."""
    runs = ((kind, sum(1 for _ in run)) for kind, run in groupby(shape(word)))
    return "".join(kind + "+" * (count > 1) for kind, count in runs)


def _shape_of(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "a" if is_mark(character) else character


def is_mark(character: str) -> bool:
    """Return whether a character belongs to the letter before it: an accent."""
    return unicodedata.category(character).startswith("M")


def _affixes(word: str) -> list[str]:
    lower = word.lower()
    # `word` says the same of a word as short as its affix.
    return [lower[:3] + "*", "*" + lower[-3:]] if len(lower) > 3 else []


def _long_affixes(word: str) -> list[str]:
    lower = word.lower()
    return [lower[:4] + "*", "*" + lower[-4:]] if len(lower) > 4 else []


def _trigrams(word: str) -> list[str]:
    if len(word) < 3 or not word.isalpha():
        return []
    ringed = f"<{word.lower()}>"
    return [ringed[at : at + 3] for at in range(len(ringed) - 2)]


def number_class(word: str) -> str:
    """Return what a run of digits may be, by its length and value; else nothing."""
    if not (word.isascii() and word.isdigit()):
        return ""
    value, zero = int(word[:9]), "z" * word.startswith("0")
    if value <= 12:
        kind = "month"
    elif value <= 31:
        kind = "day"
    elif value < _HUNDRED:
        kind = "age"
    elif value < 1000:
        kind = "hundreds"
    elif _FIRST_YEAR <= value < _LAST_YEAR and len(word) == 4:
        kind = "year"
    else:
        kind = "large"
    return f"{min(len(word), 10)}{kind}{zero}"


def _listed(word: str, lists: KnownWords) -> list[str]:
    case = "A" if word[:1].isupper() else "a"
    return [f"{name}{case}" for name in lists.names(word)]


def bare(piece: str) -> str:
    """Return a word without the blank before it."""
    return piece.lstrip()


def _blank(piece: str) -> str:
    return "blank" if piece[:1].isspace() else "joined"


def column_value(name: str, piece: str, lists: KnownWords) -> str:
    """Return what a word has in one of `WORD_COLUMNS`.

    Args:
        name: Of the column.
        piece: The word, with the blank before it where the features ask for it.
        lists: What is known of words.
    """
    return WORD_COLUMNS[name](piece if name in OF_PIECES else bare(piece), lists)


def kind(word: str, lists: KnownWords) -> str:
    """Return the most telling of a word's classes: cue, number, lists, or shape."""
    if cue := lists.cue(word):
        return cue
    if word.isdigit():
        return number_class(word) or "0"
    return "+".join(_listed(word, lists)) or collapsed_shape(word)


PROPERTIES: Mapping[str, Values] = {
    "word": lambda word, _: [word.lower()],
    "exact": lambda word, _: [word],
    "affix3": lambda word, _: _affixes(word),
    "affix4": lambda word, _: _long_affixes(word),
    "shape": lambda word, _: [shape(word)],
    "collapsed": lambda word, _: [collapsed_shape(word)],
    "length": lambda word, _: [str(min(len(word), 12))],
    "trigrams": lambda word, _: _trigrams(word),
    "number": lambda word, _: [number_class(word)] if word.isdigit() else [],
    "cue": lambda word, lists: [cue] if (cue := lists.cue(word)) else [],
    "lists": _listed,
    "blank": lambda piece, _: [_blank(piece)],
}
"""Every property by its name."""

WORD_COLUMNS: Mapping[str, Value] = {
    "word": lambda word, _: word.lower(),
    "shape": lambda word, _: collapsed_shape(word),
    "number": lambda word, _: number_class(word),
    "cue": lambda word, lists: lists.cue(word),
    "kind": kind,
    "blank_shape": lambda piece, _: f"{_blank(piece)} {collapsed_shape(bare(piece))}",
}
"""Columns that the word alone decides; an empty value makes no feature."""

OF_PIECES = frozenset({"blank", "blank_shape"})
"""Groups that see the blank before a word; all others see the word alone."""

LINE_COLUMNS = ("header", "left", "right", "left_cue", "right_cue")
"""Columns of the line: the words before its first colon, the nearest cue to each side
with and without its distance."""

_HEADER = re.compile(rf"[^\S\n]*([^:\n]{{1,{_LONGEST_HEADER}}}):")


def header(line: str) -> str:
    """Return the text before the first colon of a line, or nothing."""
    found = _HEADER.match(line)
    if found is None:
        return ""
    return re.sub(r"\d", "0", " ".join(found[1].lower().split()))


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Columns at offsets from the word, e.g. the word before and the word itself."""

    parts: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """As a recipe writes it: ``word:-1 word:0``."""
        return " ".join(f"{column}:{offset}" for column, offset in self.parts)

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the conjunction of that name.

        Raises:
            ConfigError: It has an unknown column, no parts or more than three.
        """
        known = (*WORD_COLUMNS, *LINE_COLUMNS)
        parts = []
        for part in name.split():
            found = re.fullmatch(r"(\w+):(-?[0-3])", part)
            if found is None or found[1] not in known:
                raise ConfigError(
                    f"feature {part!r}: not COLUMN:OFFSET; columns: {', '.join(known)}"
                )
            parts.append((found[1], int(found[2])))
        if not 1 <= len(parts) <= 3:
            raise ConfigError(f"conjunction {name!r}: needs one to three parts")
        return cls(tuple(parts))


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The features that a model looks at.

    Args:
        properties: By name, the first and last offset of its window.
        conjunctions: In the order in which they are computed.
    """

    properties: Mapping[str, tuple[int, int]]
    conjunctions: tuple[Conjunction, ...] = ()

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """Return the features that a recipe's table names.

        Raises:
            ConfigError: A group is unknown; the message lists the known.
        """
        windows = {key: value for key, value in table.items() if key != "conjunctions"}
        for name, window in windows.items():
            if name not in PROPERTIES:
                known = ", ".join(PROPERTIES)
                raise ConfigError(f"feature {name!r} is unknown; known: {known}")
            if len(window) != 2 or not -3 <= window[0] <= window[1] <= 3:
                raise ConfigError(f"feature {name!r}: not [first, last] within 3")
        return cls(
            {name: (int(a), int(b)) for name, (a, b) in windows.items()},
            tuple(map(Conjunction.parse, table.get("conjunctions", ()))),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the table that `read` reads."""
        windows = {name: list(window) for name, window in self.properties.items()}
        return {**windows, "conjunctions": [each.name for each in self.conjunctions]}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the conjunctions need, each once."""
        parts = (part for each in self.conjunctions for part in each.parts)
        return tuple(dict.fromkeys(column for column, _ in parts))

    @property
    def blanks(self) -> bool:
        """True if words must come with the blanks before them."""
        return not OF_PIECES.isdisjoint((*self.properties, *self.columns))

    def values(self, piece: str, lists: KnownWords) -> list[tuple[str, str]]:
        """Return a word's properties and their values, `PAD`'s too."""
        if piece == PAD:
            return [(name, PAD_VALUE) for name in self.properties]
        word = bare(piece)
        return [
            (name, value)
            for name in self.properties
            for value in PROPERTIES[name](piece if name in OF_PIECES else word, lists)
        ]


def property_name(group: str, offset: int, value: str) -> str:
    """Return the name of a property's feature."""
    return f"{group}[{offset}]={value}"


def conjunction_name(conjunction: Conjunction, values: Iterable[str]) -> str:
    """Return the name of a conjunction's feature."""
    return f"{conjunction.name}={SEPARATOR.join(values)}"
