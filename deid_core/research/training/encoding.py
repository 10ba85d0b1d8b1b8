"""Lines of a corpus as numbers, for learners.

`Encoded` is what all learners read: rows of features for each word, and the name of
every row.  `names_of` gives the same features as text, for learners that want text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_core.tagger.codec import Bio, TagSpan
from deid_core.tagger.features import (
    PAD,
    PAD_VALUE,
    WORD_COLUMNS,
    Conjunction,
    FeatureSet,
    WordLists,
    column_value,
    conjunction_name,
    header,
    property_name,
)
from deid_core.tagger.kernels.cues import (
    cue_class_values,
    cue_columns,
    cue_values,
    without_distance,
)
from deid_core.tagger.kernels.tables import PART_BITS, REACH
from deid_core.tagger.words import pieces, word_spans

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a marked text; offsets count from its start."""

    text: str = field(repr=False)
    spans: tuple[TagSpan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Lines as numbers.

    A word's features are, for each offset of the window, the rows of the type that
    is there, and one row for each conjunction.

    Args:
        starts: Where each line starts, and past the last, shape ``[lines + 1]``.
        types: The type of each word, shape ``[words]``; type 0 is `PAD`.
        labels: The gold label of each word, shape ``[words]``.
        pointers: Where the rows of ``type * 7 + offset + 3`` start in `rows`.
        rows: Rows of properties, type by type and offset by offset.
        joined: Row of each conjunction, -1 for none, shape ``[words, conjunctions]``.
        names: The feature of each row.
    """

    starts: Longs
    types: Ints
    labels: NDArray[np.int8]
    pointers: Longs
    rows: Ints
    joined: Ints
    names: list[str] = field(repr=False)

    def rows_of(self, line: int, at: int) -> list[int]:
        """Return the rows of one word, counted within its line."""
        first, last = int(self.starts[line]), int(self.starts[line + 1])
        found: list[int] = []
        for offset in range(-REACH, REACH + 1):
            place = first + at + offset
            kind = int(self.types[place]) if first <= place < last else 0
            slot = kind * (2 * REACH + 1) + offset + REACH
            found += self.rows[self.pointers[slot] : self.pointers[slot + 1]].tolist()
        return found + [row for row in self.joined[first + at].tolist() if row >= 0]

    def names_of(self, line: int) -> list[list[str]]:
        """Return the features of each word of a line, by their names."""
        count = int(self.starts[line + 1] - self.starts[line])
        return [
            [self.names[row] for row in self.rows_of(line, at)] for at in range(count)
        ]

    def labels_of(self, line: int) -> list[int]:
        """Return the gold labels of a line."""
        labels = self.labels[self.starts[line] : self.starts[line + 1]]
        return [int(label) for label in labels]


def encode(
    lines: Sequence[Line],
    features: FeatureSet,
    lists: WordLists,
    codec: Bio,
    *,
    least: int = 1,
) -> Encoded:
    """Return lines as numbers; lines without a word are left out.

    Args:
        lines: To learn from.
        features: What to look at.
        lists: What is known of words.
        codec: Of the labels.
        least: Values of properties that are seen less often make no feature.
    """
    types = _Numbers([PAD])
    headers = _Numbers([""])
    starts, kinds, labels, line_headers = [0], list[int](), list[int](), list[int]()
    for line in lines:
        words = pieces(line.text, blanks=features.blanks)
        if not words:
            continue
        kinds += map(types.of, words)
        labels += codec.encode(word_spans(line.text), line.spans).tolist()
        starts.append(len(kinds))
        line_headers.append(headers.of(header(line.text)))
    type_array = np.array(kinds, dtype=np.int32)
    bounds = np.array(starts, dtype=np.int64)
    pointers, rows, names = _property_rows(
        types.all, type_array, features, lists, least
    )
    columns = _Columns.of(
        type_array,
        bounds,
        types.all,
        np.array(line_headers, np.int32),
        headers.all,
        lists,
    )
    joined = np.full((len(kinds), len(features.conjunctions)), -1, dtype=np.int32)
    for at, each in enumerate(features.conjunctions):
        joined[:, at] = columns.join(each, names)
    return Encoded(
        bounds, type_array, np.array(labels, np.int8), pointers, rows, joined, names
    )


class _Numbers:
    """Numbers values in the order in which they come."""

    def __init__(self, first: Sequence[str] = ()) -> None:
        self.all = list(first)
        self._number = {value: at for at, value in enumerate(first)}

    def of(self, value: str) -> int:
        number = self._number.setdefault(value, len(self.all))
        if number == len(self.all):
            self.all.append(value)
        return number


def _property_rows(
    types: list[str], found: Ints, features: FeatureSet, lists: WordLists, least: int
) -> tuple[Longs, Ints, list[str]]:
    """Return `Encoded.pointers`, `Encoded.rows`, and the rows' names."""
    occurrences = np.bincount(found, minlength=len(types)).tolist()
    occurrences[0] = least
    values = [features.values(word, lists) for word in types]
    counts = Counter[tuple[str, str]]()
    for found_values, times in zip(values, occurrences, strict=True):
        for each in found_values:
            counts[each] += times
    base: dict[tuple[str, str], int] = {}
    names: list[str] = []
    for (group, value), times in counts.items():
        if times >= least:
            first, last = features.properties[group]
            base[group, value] = len(names) - first
            names += (property_name(group, o, value) for o in range(first, last + 1))
    rows: list[int] = []
    pointers = [0]
    for of_type in values:
        for offset in range(-REACH, REACH + 1):
            rows += (
                base[group, value] + offset
                for group, value in of_type
                if (group, value) in base
                and features.properties[group][0]
                <= offset
                <= features.properties[group][1]
            )
            pointers.append(len(rows))
    return np.array(pointers, np.int64), np.array(rows, np.int32), names


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """One number a word for each column, and what the numbers mean.

    Number 0 is the value that makes no feature, but for the cues of a line.
    """

    starts: Longs
    numbers: dict[str, Ints]
    values: dict[str, list[str]]

    @classmethod
    def of(
        cls,
        types: Ints,
        starts: Longs,
        words: list[str],
        line_headers: Ints,
        headers: list[str],
        lists: WordLists,
    ) -> _Columns:
        numbers, values = {}, {}
        for name in WORD_COLUMNS:
            known = _Numbers([""])
            values_of = (column_value(name, word, lists) for word in words[1:])
            of_type = [0, *map(known.of, values_of)]
            numbers[name] = np.array(of_type, np.int32)[types]
            values[name] = known.all
        numbers["header"] = np.repeat(line_headers, np.diff(starts))
        values["header"] = headers
        sides = cue_columns(numbers["cue"], starts)
        for name, side in zip(("left", "right"), sides, strict=True):
            numbers[name], values[name] = side, cue_values(values["cue"])
            numbers[f"{name}_cue"] = without_distance(side)
            values[f"{name}_cue"] = cue_class_values(values["cue"])
        return cls(starts, numbers, values)

    def join(self, conjunction: Conjunction, names: list[str]) -> Ints:
        """Return each word's row of a conjunction, and append the rows' names."""
        count = int(self.starts[-1])
        keys = np.zeros(count, dtype=np.int64)
        whole = np.ones(count, dtype=np.bool_)
        for column, offset in conjunction.parts:
            part = self._shifted(column, offset)
            if column in WORD_COLUMNS or column == "header":
                whole &= part != 0
            keys = (keys << PART_BITS) | part
        unique, inverse = np.unique(keys[whole], return_inverse=True)
        rows = np.full(count, -1, dtype=np.int32)
        rows[whole] = inverse + len(names)
        names += (self._name(conjunction, int(key)) for key in unique)
        return rows

    def _shifted(self, column: str, offset: int) -> Longs:
        """Return a column as seen from each word; past a line's end it is the pad."""
        numbers = self.numbers[column].astype(np.int64)
        if offset == 0:
            return numbers
        count = len(numbers)
        places = np.arange(count) + offset
        line = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        inside = (self.starts[line] <= places) & (places < self.starts[line + 1])
        pad = len(self.values[column])
        return np.where(inside, numbers[np.clip(places, 0, count - 1)], pad)

    def _name(self, conjunction: Conjunction, key: int) -> str:
        found = []
        for at, (column, _) in enumerate(reversed(conjunction.parts)):
            number = (key >> (PART_BITS * at)) & ((1 << PART_BITS) - 1)
            values = self.values[column]
            found.append(PAD_VALUE if number == len(values) else values[number])
        return conjunction_name(conjunction, reversed(found))
