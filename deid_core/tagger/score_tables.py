"""A model's weights as tables of scores, by word and by conjunction of columns.

`TypeTables` holds what each word gives to itself and to its neighbours, in a bounded
cache; `Conjunctions` looks up what columns give together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .encoding import PART_BITS, REACH
from .features import (
    LINE_COLUMNS,
    PAD,
    PAD_VALUE,
    SEPARATOR,
    WORD_COLUMNS,
    Conjunction,
    column_value,
    header,
)
from .kernels.cues import cue_class_values, cue_columns, cue_values, without_distance
from .kernels.tables import JoinTables, add_conjunctions, fill_table
from .model import Model
from .words import PlacedWords, WordNumbers

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
_WIDTH = 2 * REACH + 1
_LONGEST, _END = 128, 64
_MOST_LETTERS = 1 << 22
"""More of them are not kept either: words of ordinary notes have six each."""
_PROPERTY = re.compile(r"(\w+)\[(-?\d)\]=(.*)", re.DOTALL)


class TypeTables:
    """Numbers words, and keeps each one's table of scores.  Thread-safe.

    Args:
        model: Whose properties these are.
        weights: Its weights, shape ``[features, labels]``.
        most: How many words are kept; then all are forgotten.
    """

    def __init__(self, model: Model, weights: Floats, most: int) -> None:
        self._features, self._lists = model.features, model.lists
        self._labels, self._most = weights.shape[1], most
        self._block_of, self._blocks = _blocks(model, weights)
        self._numberings = numberings(model)
        self._lock = Lock()
        self._forget()

    def look_up(self, words: PlacedWords) -> tuple[Ints, Floats, Ints]:
        """Return each word's number, and by number the tables and columns.

        Returns:
            Numbers, shape ``[words]``; tables, ``[numbers, 7, labels]``; the numbers
            of `WORD_COLUMNS`, ``[numbers, columns]``, -1 for none.
        """
        with self._lock:
            numbers, unknown = self._numbers.of(words)
            if unknown:
                numbers = self._with_learned(words, numbers)
            return numbers, self._tables, self._columns

    def _with_learned(self, words: PlacedWords, numbers: Ints) -> Ints:
        """Return the words' numbers, after learning those that have none."""
        new = words.distinct(np.flatnonzero(numbers < 0))
        is_full = len(self._numbers) + len(new) > len(self._tables)
        if is_full or self._numbers.letters > _MOST_LETTERS:
            new = words.distinct(np.arange(len(words)))
            self._forget(len(new))
        for word in new:
            self._learn(word)
        return self._numbers.of(words)[0]

    def _forget(self, needed: int = 0) -> None:
        # New arrays: another thread may still read the old ones.
        most = max(self._most, needed) + 1
        self._numbers = WordNumbers(most)
        self._tables = np.empty((most, _WIDTH, self._labels), dtype=np.float32)
        self._columns = np.empty((most, len(WORD_COLUMNS)), dtype=np.int32)
        self._learn(PAD)

    def _learn(self, word: str) -> None:
        number = self._numbers.add(word)
        if len(word) > _LONGEST:
            # No model learned such a word: its ends say all that can be known of it.
            word = word[:_END] + word[-_END:]
        blocks = map(self._block_of.get, self._features.values(word, self._lists))
        found = [block for block in blocks if block is not None]
        self._blocks[found].sum(axis=0, out=self._tables[number])
        for at, name in enumerate(WORD_COLUMNS):
            numbering = self._numberings[name]
            self._columns[number, at] = (
                numbering.get(column_value(name, word, self._lists), -1)
                if word != PAD
                else -1
            )


def _blocks(model: Model, weights: Floats) -> tuple[dict[tuple[str, str], int], Floats]:
    """Return, for each value of a property, what it gives at each offset."""
    block_of: dict[tuple[str, str], int] = {}
    places: list[tuple[int, int, int]] = []
    for row, name in enumerate(model.weights.names):
        found = _PROPERTY.fullmatch(name)
        if found is not None:
            value = (found[1], found[3])
            block = block_of.setdefault(value, len(block_of))
            places.append((block, int(found[2]) + REACH, row))
    blocks = np.zeros((len(block_of), _WIDTH, weights.shape[1]), dtype=np.float32)
    if places:
        block, slot, row = np.array(places).T
        blocks[block, slot] = weights[row]
    return block_of, blocks


_LOAD = 2


class Conjunctions:
    """Adds what a model's conjunctions give.  Thread-safe.

    Args:
        model: Whose they are.
        weights: Its weights, shape ``[features, labels]``.
    """

    def __init__(self, model: Model, weights: Floats) -> None:
        self._columns = model.features.columns
        self._numberings = numberings(model)
        self._tables = self._filled(model, weights)

    def add(
        self,
        types: Ints,
        type_columns: Ints,
        words: PlacedWords,
        scores: Floats,
    ) -> None:
        """Add to the scores of a batch of lines.

        Args:
            types: Of each word, shape ``[words]``.
            type_columns: The numbers of `WORD_COLUMNS`, ``[types, columns]``.
            words: Of all lines.
            scores: Added to, shape ``[words, labels]``.
        """
        if len(self._tables.parts):
            columns = self._column_matrix(types, type_columns, words)
            add_conjunctions(columns, words.starts, self._tables, scores)

    def _column_matrix(
        self, types: Ints, type_columns: Ints, words: PlacedWords
    ) -> Ints:
        """Return the number of each column and word, shape ``[columns, words]``."""
        of_words = dict(zip(WORD_COLUMNS, type_columns.T, strict=True))
        found = {}
        if any(each.startswith(("left", "right")) for each in self._columns):
            left, right = cue_columns(of_words["cue"][types], words.starts)
            found = {"left": left, "right": right}
            found["left_cue"] = without_distance(left)
            found["right_cue"] = without_distance(right)
        matrix = np.empty((len(self._columns), len(types)), dtype=np.int32)
        for at, column in enumerate(self._columns):
            if column in of_words:
                np.take(of_words[column], types, out=matrix[at])
            elif column == "header":
                known = self._numberings["header"]
                headers = map(header, words.lines)
                numbers = [known.get(each, -1) for each in headers]
                matrix[at] = np.repeat(numbers, np.diff(words.starts))
            else:
                matrix[at] = found[column]
        return matrix

    def _filled(self, model: Model, weights: Floats) -> JoinTables:
        """Return one table of keys for each conjunction, one after the other."""
        numbers = (self._numberings[each] for each in self._columns)
        pads = np.array([each.get(PAD_VALUE, -1) for each in numbers], dtype=np.int32)
        conjunctions = model.features.conjunctions
        parts = np.full((len(conjunctions), 3, 2), -1, dtype=np.int64)
        for at, each in enumerate(conjunctions):
            for part, (column, offset) in enumerate(each.parts):
                parts[at, part] = self._columns.index(column), offset
        rows_of: dict[str, list[tuple[int, int]]] = {
            each.name: [] for each in model.features.conjunctions
        }
        by_name = {each.name: each for each in model.features.conjunctions}
        for row, name in enumerate(model.weights.names):
            group, _, values = name.partition("=")
            if group in by_name:
                key = self._key(by_name[group], values.split(SEPARATOR))
                rows_of[group].append((key, row))
        sizes = [_size(len(each)) for each in rows_of.values()]
        places = np.cumsum([0, *sizes])
        keys = np.full(sum(sizes), -1, dtype=np.int64)
        rows = np.zeros(sum(sizes), dtype=np.int32)
        taken: list[int] = []
        for at, pairs in enumerate(rows_of.values()):
            place = slice(places[at], places[at + 1])
            own_rows = np.arange(len(taken), len(taken) + len(pairs), dtype=np.int32)
            own_keys = np.array([key for key, _ in pairs], dtype=np.int64)
            fill_table(own_keys, own_rows, keys[place], rows[place])
            taken += [row for _, row in pairs]
        used = weights[np.array(taken, dtype=np.int64)]
        return JoinTables(pads, parts, places, keys, rows, used)

    def _key(self, conjunction: Conjunction, values: Sequence[str]) -> int:
        key = 0
        for (column, _), value in zip(conjunction.parts, values, strict=True):
            key = (key << PART_BITS) | self._numberings[column][value]
        return key


def _size(count: int) -> int:
    """Return a power of two at least twice the count."""
    return 1 << max(1, (_LOAD * count).bit_length())


Numbering = dict[str, int]


def numberings(model: Model) -> dict[str, Numbering]:
    """Return, for each column, the number of each value that the model uses.

    Cues are numbered by their class, so that the nearest one's number is made without
    looking it up; all others in the order in which they come.
    """
    found: dict[str, Numbering] = {name: {} for name in (*WORD_COLUMNS, *LINE_COLUMNS)}
    classes = ["", *model.lists.cue_classes]
    sides = cue_values(classes)
    for side in ("left", "right"):
        found[side] = _numbered(sides)
        found[f"{side}_cue"] = _numbered(cue_class_values(classes))
    found["cue"] = _numbered(classes)
    for column, value in _values(model):
        found[column].setdefault(value, len(found[column]))
    for column in (*WORD_COLUMNS, "header"):
        found[column].pop("", None)
    return found


def _numbered(values: list[str]) -> Numbering:
    numbering: Numbering = {}
    for number, value in enumerate(values):
        numbering.setdefault(value, number)
    return numbering


def _values(model: Model) -> list[tuple[str, str]]:
    """Return the columns and values of all conjunctions that have weights."""
    parts_of = {each.name: each.parts for each in model.features.conjunctions}
    found = []
    for name in model.weights.names:
        group, _, values = name.partition("=")
        if group in parts_of:
            pairs = zip(parts_of[group], values.split(SEPARATOR), strict=True)
            found += [(column, value) for (column, _), value in pairs]
    return found
