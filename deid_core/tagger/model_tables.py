"""A model's weights as arrays: all that tagging looks up, nothing by name.

Making them reads the name of every feature, which takes seconds; so it is done once for
a machine, and every process maps the result (`prepared`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..labels import Label
from ..prepared import Arrays
from .codec import Bio
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
    write_sum,
)
from .kernels.tables import COUNT_BITS, PART_BITS, REACH, WIDTH, JoinTables, fill_table
from .kernels.viterbi import FORBIDDEN, Transitions, transitions_of
from .kernels.words import WordTable
from .model import Model, Weights
from .rescoring import Rescorer
from .words import WordNumbers, code_points

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
_LANES = 8
"""So many numbers a processor adds at once."""
_LOAD = 2
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
        arrays: See `arrays_of`.
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
        arrays = arrays_of(model)
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
        """What words by themselves give."""
        return _read(ValueTables, self.arrays, "values")

    @property
    def joins(self) -> JoinTables:
        """What conjunctions give."""
        return _read(JoinTables, self.arrays, "joins")

    @property
    def transitions(self) -> Transitions:
        """What one label after another gives."""
        return _read(Transitions, self.arrays, "transitions")

    @property
    def pad(self) -> Floats:
        """What lies beyond a line gives, shape ``[7, labels]``."""
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
    """What a model knows of single words, looked up in its tables.

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


def arrays_of(model: Model) -> dict[str, NDArray[Any]]:
    """Return all that `ModelTables` reads, by name."""
    numbers = numberings(model)
    known = _Values(model, numbers)
    scores = np.maximum(model.weights.transitions, FORBIDDEN).astype(np.float32)
    headers = {number: text for text, number in numbers["header"].items()}
    found: dict[str, NDArray[Any]] = {
        "pad": known.pad(),
        "headers": lines_of(
            headers.get(number, "") for number in range(max(headers, default=-1) + 1)
        ),
        "cue_classes": lines_of(known.cue_classes),
        "list_sets": lines_of(map(SEPARATOR.join, known.list_sets)),
    }
    found.update(_flat("values", known.tables()))
    found.update(_flat("joins", _joins(model, numbers)))
    found.update(_flat("transitions", transitions_of(scores)))
    return found


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


class _Values:
    """Makes `ValueTables`."""

    def __init__(self, model: Model, numbers: Mapping[str, Numbering]) -> None:
        self._features, self._lists = model.features, model.lists
        self._width, self._numbers = _width(model), numbers
        self._block_of, self._blocks = _blocks(model)
        self.cue_classes = ["", *model.lists.cue_classes]
        sets = map(self._lists.names, self._listed())
        self.list_sets = [*dict.fromkeys(((), *sets))]

    def pad(self) -> Floats:
        """Return what lies beyond a line gives."""
        values = self._features.values(PAD, self._lists)
        blocks = np.array([self._block(*pair) for pair in values], dtype=np.int32)
        found = np.empty(WIDTH * self._width, dtype=np.float32)
        write_sum(blocks, self._blocks, found)
        return found.reshape(WIDTH, self._width)

    def tables(self) -> ValueTables:
        listed = [
            [f"{name}{case}" for names in self.list_sets for name in names]
            for case in "aA"
        ]
        sizes = [0, *map(len, self.list_sets)]
        words = self._words()
        parts = [(group, value) for group, value in self._block_of if group in _PARTS]
        shapes = self._shapes()
        numbers = [*_number_classes()]
        return ValueTables(
            properties=np.array(
                [_NUMBER_OF_PROPERTY[each] for each in self._features.properties],
                dtype=np.int8,
            ),
            words=_table(words),
            of_words=_rows(self._of_word(words), 4),
            parts=Parts(
                _table([chr(_NUMBER_OF_PROPERTY[g]) + value for g, value in parts]),
                np.array([self._block(*pair) for pair in parts], dtype=np.int32),
            ),
            shapes=_table(shapes),
            of_shapes=_rows(map(self._of_shape, shapes), 5),
            of_lengths=np.array(
                [self._block("length", str(n)) for n in range(LONGEST_LENGTH + 1)],
                dtype=np.int32,
            ),
            of_numbers=_rows(map(self._of_number, numbers), 3),
            of_cues=_rows(map(self._of_cue, self.cue_classes), 3),
            list_starts=np.cumsum(sizes, dtype=np.int32),
            list_blocks=_rows(
                ([self._block("lists", each) for each in case] for case in listed),
                len(listed[0]),
            ),
            list_kinds=_rows(
                (
                    [
                        self._number("kind", "+".join(f"{n}{case}" for n in names))
                        for names in self.list_sets
                    ]
                    for case in "aA"
                ),
                len(self.list_sets),
            ),
            of_blanks=np.array(
                [self._block("blank", each) for each in ("joined", "blank")],
                dtype=np.int32,
            ),
            blocks=self._blocks,
        )

    def _block(self, group: str, value: str) -> int:
        return self._block_of.get((group, value), -1)

    def _number(self, column: str, value: str) -> int:
        return self._numbers[column].get(value, -1)

    def _listed(self) -> list[str]:
        return " ".join(self._lists.lists.values()).split()

    def _words(self) -> list[str]:
        cues = " ".join(self._lists.cues.values()).split()
        weighed = (value for group, value in self._block_of if group == "word")
        return sorted({*weighed, *self._numbers["word"], *cues, *self._listed()})

    def _of_word(self, words: Sequence[str]) -> Iterator[list[int]]:
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

    def _shapes(self) -> list[str]:
        found = {value for group, value in self._block_of if group == "collapsed"}
        found |= {*self._numbers["shape"], *self._numbers["kind"]}
        both = self._numbers["blank_shape"]
        return sorted(found | {each.partition(" ")[2] for each in both})

    def _of_shape(self, shape: str) -> list[int]:
        return [
            self._block("collapsed", shape),
            self._number("shape", shape),
            self._number("kind", shape),
            self._number("blank_shape", f"joined {shape}"),
            self._number("blank_shape", f"blank {shape}"),
        ]

    def _of_number(self, name: str) -> list[int]:
        return [
            self._block("number", name),
            self._number("number", name),
            self._number("kind", name or "0"),
        ]

    def _of_cue(self, name: str) -> list[int]:
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


def _table(words: Sequence[str]) -> WordTable:
    """Return the numbers of distinct words, in their order."""
    numbers = WordNumbers(len(words))
    ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
    found = np.full(len(words), -1, dtype=np.int32)
    numbers.add(code_points("".join(words)), ends[:-1], ends[1:], found)
    table = numbers.table
    return table._replace(pool=table.pool[: ends[-1]].copy())


def _joins(model: Model, numbers: Mapping[str, Numbering]) -> JoinTables:
    """Return one table of keys for each conjunction, one after the other."""
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
    sizes = [_size(len(each)) for each in rows_of.values()]
    places = np.cumsum([0, *sizes])
    entries = np.empty((places[-1], 2), dtype=np.int64)
    # Four bits for each place.
    bits = np.empty(places[-1] // 2, dtype=np.uint8)
    rows = np.array([row for of in rows_of.values() for _, row in of], dtype=np.int64)
    counts = np.diff(model.weights.pointers)[rows]
    begins = np.cumsum(counts) - counts
    rows_with_counts = begins << COUNT_BITS | counts
    taken = 0
    for at, pairs in enumerate(rows_of.values()):
        first, past = places[at : at + 2]
        own_rows = rows_with_counts[taken : taken + len(pairs)]
        own_keys = np.array([key for key, _ in pairs], dtype=np.int64)
        own_bits = bits[first // 2 : past // 2]
        fill_table(own_keys, own_rows, entries[first:past], own_bits)
        taken += len(pairs)
    weights = _weights_of(model.weights, rows)
    return JoinTables(
        np.array(pads, np.int32),
        parts,
        places,
        entries,
        bits,
        model.weights.labels[weights],
        model.weights.values[weights],
    )


def _key(
    conjunction: Conjunction, values: Sequence[str], numbers: Mapping[str, Numbering]
) -> int:
    key = 0
    for (column, _), value in zip(conjunction.parts, values, strict=True):
        key = (key << PART_BITS) | numbers[column][value]
    return key


def _size(count: int) -> int:
    """Return a power of two at least twice the count."""
    return 1 << max(1, (_LOAD * count).bit_length())


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
