"""A model's weights as arrays: all that tagging looks up, nothing by name.

Making them reads the name of every feature, which takes seconds; so it is done when a
model is saved.  Its folder holds them in compact form (`compact_tables`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from deid_core.labels import Label
from deid_core.runtime.prepared import Arrays

from .codec import Bio
from .compact_tables import (
    blocks_of,
    compact_blocks,
    compact_keys,
    compact_words,
    join_tables,
    word_table,
)
from .features import (
    LINE_COLUMNS,
    PAD,
    PAD_VALUE,
    PROPERTIES,
    SEPARATOR,
    WORD_COLUMNS,
    Conjunction,
    FeatureSet,
    WordLists,
)
from .kernels.cues import cue_class_values, cue_values
from .kernels.first_sight import (
    LONGEST_LENGTH,
    LONGEST_NUMBER,
    NUMBER_KINDS,
    Blocks,
    Parts,
    ValueTables,
    number_in,
)
from .kernels.tables import PART_BITS, REACH, WIDTH, JoinTables
from .kernels.viterbi import FORBIDDEN, Transitions, transitions_of
from .kernels.words import WordTable
from .model import Model, Weights
from .rescoring import Rescorer
from .words import code_points

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
_LANES = 8
"""So many numbers a processor adds at once."""
_PROPERTY = re.compile(r"(\w+)\[(-?\d)\]=(.*)", re.DOTALL)
_NUMBER_OF_PROPERTY = {name: number for number, name in enumerate(PROPERTIES)}
_PARTS = ("exact", "affix3", "affix4", "shape", "trigrams")
_T = TypeVar("_T", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True, eq=False)
class ModelTables:
    """All that tagging needs of a model.

    Args:
        name: Of the model; audit events show it.
        version: Of its training.
        language: ISO 639, two letters.
        tags: Each tag that it tells, with our label for it.
        features: What it looks at.
        cue_patterns: By cue class, what a word must match as a whole.
        arrays: See `expanded`.
        rescorer: What chooses among the best paths of a line, if anything does.
    """

    name: str
    version: str
    language: str
    tags: Mapping[str, Label]
    features: FeatureSet
    cue_patterns: Mapping[str, str]
    arrays: Arrays = field(repr=False)
    rescorer: Rescorer | None = field(default=None, repr=False)

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return the tables of a model, made in memory."""
        arrays = expanded(compact_arrays(model))
        # As those of files are: kernels know the two kinds from each other.
        for array in arrays.values():
            array.flags.writeable = False
        return cls(
            model.name,
            model.version,
            model.language,
            model.tags,
            model.features,
            model.lists.cue_patterns,
            arrays,
            model.rescorer,
        )

    @property
    def codec(self) -> Bio:
        """The labels that the weights are of."""
        return Bio(tuple(self.tags))

    @property
    def values(self) -> ValueTables:
        """The tables of what words by themselves give."""
        return _read(ValueTables, self.arrays, "values")

    @property
    def joins(self) -> JoinTables:
        """The tables of what conjunctions give."""
        return _read(JoinTables, self.arrays, "joins")

    @property
    def transitions(self) -> Transitions:
        """The scores of one label after another."""
        return _read(Transitions, self.arrays, "transitions")

    @property
    def pad(self) -> Floats:
        """The scores that the padding beyond a line gives, shape ``[7, labels]``."""
        return self.arrays["pad"]

    @property
    def headers(self) -> dict[str, int]:
        """The number of each header."""
        texts = enumerate(texts_of(self.arrays["headers"]))
        return {text: number for number, text in texts if text}

    @property
    def cue_classes(self) -> list[str]:
        """The cue classes by their numbers; the first is none."""
        return texts_of(self.arrays["cue_classes"]) or [""]

    @property
    def list_sets(self) -> list[tuple[str, ...]]:
        """The names of the lists of each set; the first has none."""
        texts = texts_of(self.arrays["list_sets"]) or [""]
        return [tuple(each.split(SEPARATOR)) if each else () for each in texts]


class TableLists:
    """A model's knowledge of single words, looked up in its tables.

    Args:
        tables: Of the model.
    """

    def __init__(self, tables: ModelTables) -> None:
        self.cue_patterns = [
            (name, re.compile(pattern)) for name, pattern in tables.cue_patterns.items()
        ]
        self._values = tables.values
        self._cue_classes, self._sets = tables.cue_classes, tables.list_sets

    def cue(self, word: str) -> str:
        """Return the cue class of a word, or nothing."""
        found = self.cue_by_pattern(word)
        return self._cue_classes[self._of(word, 2)] if found is None else found

    def cue_by_pattern(self, word: str) -> str | None:
        """Return the class of the first pattern that a word matches."""
        for name, pattern in self.cue_patterns:
            if pattern.fullmatch(word):
                return name
        return None

    def names(self, word: str) -> tuple[str, ...]:
        """Return the names of the lists that hold a word."""
        return self._sets[self._of(word, 3)]

    def _of(self, word: str, what: int) -> int:
        number = number_in(code_points(word.lower()), self._values.words)
        return int(self._values.of_words[number, what]) if number >= 0 else 0


def lines_of(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Return texts without line ends as one array."""
    return np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)


def texts_of(lines: NDArray[np.uint8]) -> list[str]:
    """Return what `lines_of` was given, but nothing for one empty text."""
    text = lines.tobytes().decode()
    return text.split("\n") if text else []


def compact_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """Return all that a model's tables are made from, by name."""
    numbers = numberings(model)
    scores = np.maximum(model.weights.transitions, FORBIDDEN).astype(np.float32)
    headers = {number: text for text, number in numbers["header"].items()}
    return {
        **_values(model, numbers),
        **_joins(model, numbers),
        **dict(_flat("transitions", transitions_of(scores))),
        "headers": lines_of(
            headers.get(number, "") for number in range(max(headers, default=-1) + 1)
        ),
    }


def expanded(compact: Arrays) -> dict[str, NDArray[Any]]:
    """Return all that `ModelTables` reads, by name.

    Args:
        compact: See `compact_arrays`.
    """
    found = {name: compact[name] for name in compact if name not in _COMPACT}
    for name in _WORD_TABLES:
        found.update(_flat(name, word_table(_below(compact, name))))
    blocks = blocks_of(_below(compact, "values.blocks"))
    found.update(_flat("values.blocks", blocks))
    found.update(_flat("joins", join_tables(_below(compact, "joins"))))
    pad = np.zeros(WIDTH * int(compact["width"][0]), dtype=np.float32)
    for block in compact["pad_blocks"]:
        if block >= 0:
            own = slice(*blocks.starts[block : block + 2])
            np.add.at(pad, blocks.places[own], blocks.weights[own])
    found["pad"] = pad.reshape(WIDTH, -1)
    return found


_WORD_TABLES = ("values.words", "values.parts.table", "values.shapes")
_COMPACT = frozenset(
    {
        *(f"{name}.{part}" for name in _WORD_TABLES for part in ("text", "lengths")),
        *(f"values.blocks.{part}" for part in ("counts", "places", "weights")),
        *(f"joins.{part}" for part in ("sizes", "steps", "counts")),
        *("pad_blocks", "width"),
    }
)
"""What is left out of the tables that are made from it."""


def _below(arrays: Arrays, name: str) -> Arrays:
    prefix = f"{name}."
    return {
        each.removeprefix(prefix): array
        for each, array in arrays.items()
        if each.startswith(prefix)
    }


def _named(
    name: str, arrays: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[str, NDArray[Any]]]:
    for part, array in arrays.items():
        yield f"{name}.{part}", array


def _flat(name: str, tables: NamedTuple) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a tuple of arrays and such tuples, by name."""
    for part, value in zip(tables._fields, tables, strict=True):
        if isinstance(value, tuple):
            yield from _flat(f"{name}.{part}", cast(NamedTuple, value))
        else:
            yield f"{name}.{part}", value


_NESTED: Mapping[str, type[tuple[Any, ...]]] = {
    "values.words": WordTable,
    "values.parts": Parts,
    "values.parts.table": WordTable,
    "values.shapes": WordTable,
    "values.blocks": Blocks,
}


def _read(kind: type[_T], arrays: Arrays, name: str) -> _T:
    """Return what `_flat` was given."""
    # Any named tuple has them, but its type can't say so.
    places = (f"{name}.{part}" for part in kind._fields)  # type: ignore[attr-defined]
    return kind(
        *(
            _read(_NESTED[place], arrays, place) if place in _NESTED else arrays[place]
            for place in places
        )
    )


def _width(model: Model) -> int:
    """Return the number of labels, rounded up so that all are added in whole lanes."""
    labels = int(model.weights.transitions.shape[1])
    return -(-labels // _LANES) * _LANES


def _weights_of(weights: Weights, rows: Longs) -> Longs:
    """Return the numbers of the weights of some features, row by row."""
    sizes = np.diff(weights.pointers)[rows]
    starts = np.repeat(weights.pointers[rows] - np.cumsum(sizes) + sizes, sizes)
    return starts + np.arange(len(starts))


Numbering = dict[str, int]


def _values(model: Model, numbers: Mapping[str, Numbering]) -> dict[str, NDArray[Any]]:
    """Return what `ValueTables` are made from."""
    values = _Values(model, numbers)
    words, shapes, parts = values.words(), values.shapes(), values.parts()
    keys = [chr(_NUMBER_OF_PROPERTY[group]) + value for group, value in parts]
    properties = [_NUMBER_OF_PROPERTY[each] for each in model.features.properties]
    return {
        "width": np.array([_width(model)]),
        "pad_blocks": values.pad_blocks(),
        "cue_classes": lines_of(values.cue_classes),
        "list_sets": lines_of(map(SEPARATOR.join, values.list_sets)),
        "values.properties": np.array(properties, dtype=np.int8),
        **dict(_named("values.words", compact_words(words))),
        "values.of_words": _rows(values.of_words(words), 4),
        **dict(_named("values.parts.table", compact_words(keys))),
        "values.parts.blocks": values.blocks_of(parts),
        **dict(_named("values.shapes", compact_words(shapes))),
        "values.of_shapes": _rows(map(values.of_shape, shapes), 5),
        "values.of_lengths": values.blocks_of(
            ("length", str(size)) for size in range(LONGEST_LENGTH + 1)
        ),
        "values.of_numbers": _rows(map(values.of_number, _number_classes()), 3),
        "values.of_cues": _rows(map(values.of_cue, values.cue_classes), 3),
        **dict(_named("values", values.list_tables())),
        "values.of_blanks": values.blocks_of(
            ("blank", each) for each in ("joined", "blank")
        ),
        **dict(_named("values.blocks", compact_blocks(values.blocks))),
    }


class _Values:
    """The scores of single words, by the names of features.

    Args:
        model: Whose features they are.
        numbers: Of the values of columns.
    """

    def __init__(self, model: Model, numbers: Mapping[str, Numbering]) -> None:
        self._features, self._lists = model.features, model.lists
        self._numbers = numbers
        self._block_of, self.blocks = _blocks(model)
        self.cue_classes = ["", *model.lists.cue_classes]
        sets = map(self._lists.names, self._listed())
        self.list_sets = [*dict.fromkeys(((), *sets))]

    def pad_blocks(self) -> NDArray[np.int32]:
        """Return the blocks of what lies beyond a line."""
        return self.blocks_of(self._features.values(PAD, self._lists))

    def blocks_of(self, values: Iterable[tuple[str, str]]) -> NDArray[np.int32]:
        """Return the block of each value of a property, -1 for none."""
        return np.array([self._block(*pair) for pair in values], dtype=np.int32)

    def parts(self) -> list[tuple[str, str]]:
        """Return the values of exact words, affixes, shapes and trigrams."""
        return [pair for pair in self._block_of if pair[0] in _PARTS]

    def list_tables(self) -> dict[str, NDArray[Any]]:
        """Return what each set of lists gives."""
        listed = [
            [f"{name}{case}" for names in self.list_sets for name in names]
            for case in "aA"
        ]
        kinds = [
            ["+".join(f"{name}{case}" for name in names) for names in self.list_sets]
            for case in "aA"
        ]
        sizes = [0, *map(len, self.list_sets)]
        return {
            "list_starts": np.cumsum(sizes, dtype=np.int32),
            "list_blocks": _rows(
                ([self._block("lists", each) for each in case] for case in listed),
                len(listed[0]),
            ),
            "list_kinds": _rows(
                ([self._number("kind", each) for each in case] for case in kinds),
                len(self.list_sets),
            ),
        }

    def _block(self, group: str, value: str) -> int:
        return self._block_of.get((group, value), -1)

    def _number(self, column: str, value: str) -> int:
        return self._numbers[column].get(value, -1)

    def _listed(self) -> list[str]:
        return " ".join(self._lists.lists.values()).split()

    def words(self) -> list[str]:
        """Return the words that the model knows, and those of its lists."""
        cues = " ".join(self._lists.cues.values()).split()
        weighed = (value for group, value in self._block_of if group == "word")
        return sorted({*weighed, *self._numbers["word"], *cues, *self._listed()})

    def of_words(self, words: Sequence[str]) -> Iterator[list[int]]:
        """Yield block, number, cue class and set of lists of each word."""
        # A cue that only a pattern finds is not a word's own.
        lists = WordLists(self._lists.cues, {}, self._lists.lists)
        cues = {name: number for number, name in enumerate(self.cue_classes)}
        sets = {names: number for number, names in enumerate(self.list_sets)}
        for word in words:
            yield [
                self._block("word", word),
                self._number("word", word),
                cues[lists.cue(word)],
                sets[lists.names(word)],
            ]

    def shapes(self) -> list[str]:
        """Return the collapsed shapes that the model knows."""
        found = {value for group, value in self._block_of if group == "collapsed"}
        found |= {*self._numbers["shape"], *self._numbers["kind"]}
        both = self._numbers["blank_shape"]
        return sorted(found | {each.partition(" ")[2] for each in both})

    def of_shape(self, shape: str) -> list[int]:
        """Return a row of `ValueTables.of_shapes`."""
        return [
            self._block("collapsed", shape),
            self._number("shape", shape),
            self._number("kind", shape),
            self._number("blank_shape", f"joined {shape}"),
            self._number("blank_shape", f"blank {shape}"),
        ]

    def of_number(self, name: str) -> list[int]:
        """Return a row of `ValueTables.of_numbers`."""
        return [
            self._block("number", name),
            self._number("number", name),
            self._number("kind", name or "0"),
        ]

    def of_cue(self, name: str) -> list[int]:
        """Return a row of `ValueTables.of_cues`."""
        return [
            self._block("cue", name) if name else -1,
            self._number("cue", name),
            self._number("kind", name),
        ]


def _number_classes() -> Iterator[str]:
    """Yield the classes of numbers in the order of `number_of`."""
    for size in range(LONGEST_NUMBER + 1):
        for kind in NUMBER_KINDS:
            for zero in ("", "z"):
                yield f"{size}{kind}{zero}" if size else ""


def _blocks(model: Model) -> tuple[dict[tuple[str, str], int], Blocks]:
    """Return the number of each property's value, and what each gives."""
    block_of: dict[tuple[str, str], int] = {}
    places: list[tuple[int, int, int]] = []
    for row, name in enumerate(model.weights.names):
        found = _PROPERTY.fullmatch(name)
        if found is not None:
            value = (found[1], found[3])
            block = block_of.setdefault(value, len(block_of))
            places.append((block, int(found[2]) + REACH, row))
    block_at, slot, row_at = np.array(sorted(places), dtype=np.int64).reshape(-1, 3).T
    of_rows = np.diff(model.weights.pointers)[row_at]
    weights = _weights_of(model.weights, row_at)
    sizes = np.bincount(block_at, of_rows, len(block_of))
    return block_of, Blocks(
        np.cumsum(np.append(0, sizes), dtype=np.int32),
        np.repeat(slot * _width(model), of_rows).astype(np.int16)
        + model.weights.labels[weights],
        model.weights.values[weights],
    )


def _rows(rows: Iterable[Sequence[int]], width: int) -> NDArray[np.int32]:
    found = [*rows]
    return np.array(found, dtype=np.int32).reshape(len(found), width)


def _joins(model: Model, numbers: Mapping[str, Numbering]) -> dict[str, NDArray[Any]]:
    """Return what `JoinTables` are made from; each conjunction's keys are sorted."""
    columns = model.features.columns
    pads = [numbers[each].get(PAD_VALUE, -1) for each in columns]
    conjunctions = model.features.conjunctions
    parts = np.full((len(conjunctions), 3, 2), -1, dtype=np.int64)
    for at, each in enumerate(conjunctions):
        for part, (column, offset) in enumerate(each.parts):
            parts[at, part] = columns.index(column), offset
    rows_of: dict[str, list[tuple[int, int]]] = {each.name: [] for each in conjunctions}
    by_name = {each.name: each for each in conjunctions}
    for row, name in enumerate(model.weights.names):
        group, _, values = name.partition("=")
        if group in by_name:
            key = _key(by_name[group], values.split(SEPARATOR), numbers)
            rows_of[group].append((key, row))
    sorted_rows = [sorted(pairs) for pairs in rows_of.values()]
    keys = [np.array([key for key, _ in own], dtype=np.int64) for own in sorted_rows]
    rows = np.array([row for own in sorted_rows for _, row in own], dtype=np.int64)
    weights = _weights_of(model.weights, rows)
    return dict(
        _named(
            "joins",
            {
                "pads": np.array(pads, np.int32),
                "parts": parts,
                **compact_keys(keys),
                "counts": np.diff(model.weights.pointers)[rows].astype(np.uint8),
                "labels": model.weights.labels[weights],
                "weights": model.weights.values[weights],
            },
        )
    )


def _key(
    conjunction: Conjunction, values: Sequence[str], numbers: Mapping[str, Numbering]
) -> int:
    key = 0
    for (column, _), value in zip(conjunction.parts, values, strict=True):
        key = (key << PART_BITS) | numbers[column][value]
    return key


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
    for column, value in _column_values(model):
        found[column].setdefault(value, len(found[column]))
    for column in (*WORD_COLUMNS, "header"):
        found[column].pop("", None)
    return found


def _numbered(values: list[str]) -> Numbering:
    numbering: Numbering = {}
    for number, value in enumerate(values):
        numbering.setdefault(value, number)
    return numbering


def _column_values(model: Model) -> list[tuple[str, str]]:
    """Return the columns and values of all conjunctions that have weights."""
    parts_of = {each.name: each.parts for each in model.features.conjunctions}
    found = []
    for name in model.weights.names:
        group, _, values = name.partition("=")
        if group in parts_of:
            pairs = zip(parts_of[group], values.split(SEPARATOR), strict=True)
            found += [(column, value) for (column, _), value in pairs]
    return found
