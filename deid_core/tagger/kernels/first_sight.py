"""Compute the features of a word that is not in the cache, by lookup.

Constants are passed as ``np.int64``: for a literal numba compiles the callee once more.

A word's values are never made as strings: each is written as code points and found in a
hash table of the values that the model has weights for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deid_core.runtime.jit import Array, Int, compiled

from .words import WordTable, hash_of, slot_of_word

DIGIT, LETTER, CAPITAL, BLANK, UNKNOWN, MARK = 1, 2, 4, 8, 16, 32
"""What a character is to a word's features; several may hold.  The lower case of an
`UNKNOWN` one is not known by itself."""

WORD, EXACT, AFFIX3, AFFIX4, SHAPE, COLLAPSED = range(6)
LENGTH, TRIGRAMS, NUMBER, CUE, LISTS, BLANKS = range(6, 12)
"""The properties by number."""
NUMBER_KINDS = ("month", "day", "age", "hundreds", "large", "year")
_PAST = (13, 32, 100, 1000)
"""The first value beyond each of the first kinds."""
_LARGE, _YEAR = 4, 5
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
LONGEST_NUMBER, LONGEST_LENGTH = 10, 12
_MOST_DIGITS = 9
"""Of a number's value the first digits alone count."""
_ZERO, _CAPITAL, _SMALL = ord("0"), ord("A"), ord("a")
_PLUS, _STAR, _LEFT, _RIGHT = ord("+"), ord("*"), ord("<"), ord(">")
_ROOM = 1024
"""More code points than any value has, and more values than any word."""
_PROPERTIES = 12


class Forms(NamedTuple):
    """Words as their features see them.

    Args:
        exact: Code points as written, with the blank before a word.
        classes: What each of these is, see `DIGIT`.
        begins: Where each word begins among them.
        ends: Where each word ends.
        lower: Code points in lower case.
        lower_begins: Where each word begins among them.
        lower_ends: Where each word ends.
    """

    exact: Array
    classes: Array
    begins: Array
    ends: Array
    lower: Array
    lower_begins: Array
    lower_ends: Array


class Blocks(NamedTuple):
    """Weights that a value of a property gives to the words around it, without zeros.

    Args:
        starts: The first weight of each block, and past the last.
        places: Of each weight in the table of a word, ``[7, labels]`` in one row.
        weights: Scores.
    """

    starts: Array
    places: Array
    weights: Array


class Parts(NamedTuple):
    """Values of exact words, affixes, shapes and trigrams.

    Args:
        table: The property's number and the code points of each.
        blocks: What each gives.
    """

    table: WordTable
    blocks: Array


class ValueTables(NamedTuple):
    """The blocks and column numbers of all values, -1 for none.

    Args:
        properties: Those of the model, in the order in which they are added.
        words: Words in lower case: all that the model knows, and those of its lists.
        of_words: Of each: block, number as ``word``, cue class, set of lists.
        parts: Values of other than whole words.
        shapes: Collapsed shapes.
        of_shapes: Of each: block, number as ``shape``, as ``kind``, and as
            ``blank_shape`` without and with a blank.
        of_lengths: The block of each length.
        of_numbers: By `number_of`: block, number as ``number`` and as ``kind``.
        of_cues: By cue class, 0 for none: block, number as ``cue`` and as ``kind``.
        list_starts: Where each set of lists starts in `list_blocks`.
        list_blocks: Those of a set's lists, for small letters and for capitals.
        list_kinds: The number of each set as ``kind``, for small letters and for
            capitals.
        of_blanks: The block of a word without and with a blank before it.
        blocks: What the blocks give.
    """

    properties: Array
    words: WordTable
    of_words: Array
    parts: Parts
    shapes: WordTable
    of_shapes: Array
    of_lengths: Array
    of_numbers: Array
    of_cues: Array
    list_starts: Array
    list_blocks: Array
    list_kinds: Array
    of_blanks: Array
    blocks: Blocks


@compiled
def number_in(codes: Array, table: WordTable) -> Int:
    """Return the number of a word in a table, -1 for none."""
    return table.slots[slot_of_word(codes, hash_of(codes), table)]


@compiled
def number_of(codes: Array) -> Int:
    """Return the number of a `features.number_class`; 0 if digits are not of ASCII."""
    value, size = np.int64(0), len(codes)
    for at in range(size):
        if not _ZERO <= codes[at] <= _ZERO + 9:
            return 0
        if at < _MOST_DIGITS:
            value = 10 * value + np.int64(codes[at]) - _ZERO
    kind = 0
    while kind < len(_PAST) and value >= _PAST[kind]:
        kind += 1
    if kind == _LARGE and size == 4 and _FIRST_YEAR <= value < _LAST_YEAR:
        kind = _YEAR
    is_led_by_zero = np.int64(codes[0] == _ZERO)
    return (min(size, LONGEST_NUMBER) * len(NUMBER_KINDS) + kind) * 2 + is_led_by_zero


@compiled
def write_shape(codes: Array, classes: Array, shape: Array) -> None:
    """Write the shape of a word, as `features.shape` has it."""
    for at in range(len(codes)):
        if classes[at] & DIGIT:
            shape[at] = _ZERO
        elif classes[at] & (LETTER | MARK):
            shape[at] = _CAPITAL if classes[at] & CAPITAL else _SMALL
        else:
            shape[at] = codes[at]


@compiled
def collapse(shape: Array, collapsed: Array) -> Int:
    """Write a shape with its runs marked; return how long that is."""
    size = 0
    for at in range(len(shape)):
        if at == 0 or shape[at] != shape[at - 1]:
            collapsed[size] = shape[at]
            size += 1
        elif at == 1 or shape[at] != shape[at - 2]:
            collapsed[size] = _PLUS
            size += 1
    return size


@compiled
def are_all(classes: Array, wanted: Int) -> Int:
    """Return whether all characters of a word are of a class."""
    for at in range(len(classes)):
        if not classes[at] & wanted:
            return False
    return len(classes) > 0


@compiled
def part_block(
    group: Int, before: Int, codes: Array, after: Int, key: Array, parts: Parts
) -> Int:
    """Return the block of the value of a part, -1 for none.

    Args:
        group: The property.
        before: A mark before the code points, 0 for none.
        codes: Of the value, without its marks.
        after: A mark after them, 0 for none.
        key: Working space.
        parts: Of the model.
    """
    key[0] = group
    size = 1
    if before:
        key[size] = before
        size += 1
    for at in range(len(codes)):
        key[size] = codes[at]
        size += 1
    if after:
        key[size] = after
        size += 1
    part = number_in(key[:size], parts.table)
    return parts.blocks[part] if part >= 0 else np.int32(-1)


@compiled
def write_affixes(
    group: Int, reach: Int, lower: Array, key: Array, parts: Parts, found: Array
) -> Int:
    """Write the blocks of a word's first and last letters; return how many."""
    size = len(lower)
    if size <= reach:
        return 0
    star = np.int64(_STAR)
    none = np.int64(0)
    found[0] = part_block(group, none, lower[:reach], star, key, parts)
    found[1] = part_block(group, star, lower[size - reach :], none, key, parts)
    return 2


@compiled
def write_trigrams(lower: Array, key: Array, parts: Parts, found: Array) -> Int:
    """Write the blocks of each three letters in a row, the word's ends marked."""
    size = len(lower)
    group = np.int64(TRIGRAMS)
    left, right, none = np.int64(_LEFT), np.int64(_RIGHT), np.int64(0)
    found[0] = part_block(group, left, lower[:2], none, key, parts)
    for at in range(size - 2):
        found[at + 1] = part_block(group, none, lower[at : at + 3], none, key, parts)
    found[size - 1] = part_block(group, none, lower[size - 2 :], right, key, parts)
    return size


@compiled
def write_sum(found: Array, blocks: Blocks, table: Array) -> None:
    """Write the sum of blocks, -1 being none, in their order.

    Args:
        found: Numbers of blocks.
        blocks: Of the model.
        table: Written, ``[7, labels]`` in one row.
    """
    table[:] = 0.0
    for block in found:
        if block >= 0:
            for at in range(blocks.starts[block], blocks.starts[block + 1]):
                table[blocks.places[at]] += blocks.weights[at]


class Facts(NamedTuple):
    """Properties of a word, known once its parts are looked up.

    Args:
        size: How many characters it has.
        word: Its number among the words, -1 for none.
        shape: Its number among the shapes, -1 for none.
        number: See `number_of`; -1 for what is no number.
        cue: Its cue class, 0 for none.
        listed: Its set of lists, 0 for none.
        capital: 1 if it begins with a capital letter.
        blank: 1 if a blank is before it.
    """

    size: Int
    word: Int
    shape: Int
    number: Int
    cue: Int
    listed: Int
    capital: Int
    blank: Int


@compiled
def write_singles(facts: Facts, tables: ValueTables, blocks: Array) -> None:
    """Write the blocks of the properties that have one value at the most."""
    blocks[:] = -1
    blocks[LENGTH] = tables.of_lengths[min(facts.size, LONGEST_LENGTH)]
    blocks[BLANKS] = tables.of_blanks[facts.blank]
    blocks[CUE] = tables.of_cues[facts.cue, 0]
    if facts.word >= 0:
        blocks[WORD] = tables.of_words[facts.word, 0]
    if facts.shape >= 0:
        blocks[COLLAPSED] = tables.of_shapes[facts.shape, 0]
    if facts.number >= 0:
        blocks[NUMBER] = tables.of_numbers[facts.number, 0]


@compiled
def write_columns(facts: Facts, tables: ValueTables, columns: Array) -> None:
    """Write the numbers of a word's values in `features.WORD_COLUMNS`."""
    columns[:] = -1
    if facts.word >= 0:
        columns[0] = tables.of_words[facts.word, 1]
    if facts.number >= 0:
        columns[2] = tables.of_numbers[facts.number, 1]
        columns[4] = tables.of_numbers[facts.number, 2]
    elif facts.listed > 0:
        columns[4] = tables.list_kinds[facts.capital, facts.listed]
    if facts.shape >= 0:
        shape = tables.of_shapes[facts.shape]
        columns[1], columns[5] = shape[1], shape[3 + facts.blank]
        if facts.number < 0 and facts.listed == 0:
            columns[4] = shape[2]
    columns[3] = tables.of_cues[facts.cue, 1]
    if facts.cue > 0:
        columns[4] = tables.of_cues[facts.cue, 2]


class Letters(NamedTuple):
    """A word's code points.

    Args:
        exact: As written.
        lower: In lower case.
        shape: See `features.shape`.
        is_alphabetic: Whether all are letters.
    """

    exact: Array
    lower: Array
    shape: Array
    is_alphabetic: Int


@compiled
def write_blocks(
    properties: Array,
    letters: Letters,
    singles: Array,
    lists: Array,
    key: Array,
    parts: Parts,
    found: Array,
) -> Int:
    """Write the blocks of all values of all properties; return how many.

    Args:
        properties: In the order in which they are added.
        letters: Of the word.
        singles: The blocks of the properties that have one value at the most.
        lists: The blocks of the lists that hold the word.
        key: Working space.
        parts: Of the model.
        found: Written; -1 is none.
    """
    exact, lower, shape, is_alphabetic = letters
    count, none = 0, np.int64(0)
    for at in range(len(properties)):
        group = np.int64(properties[at])
        if group in (EXACT, SHAPE):
            codes = exact if group == EXACT else shape
            found[count] = part_block(group, none, codes, none, key, parts)
            count += 1
        elif group in (AFFIX3, AFFIX4):
            reach = 3 if group == AFFIX3 else 4
            count += write_affixes(group, reach, lower, key, parts, found[count:])
        elif group == TRIGRAMS:
            if is_alphabetic and len(exact) > 2:
                count += write_trigrams(lower, key, parts, found[count:])
        elif group == LISTS:
            for block in lists:
                found[count] = block
                count += 1
        else:
            found[count] = singles[group]
            count += 1
    return count


@compiled
def learn(
    forms: Forms,
    pattern_cues: Array,
    tables: ValueTables,
    numbers: Array,
    scores: Array,
    columns: Array,
) -> None:
    """Write what words give to themselves and their neighbours, and their columns.

    Args:
        forms: The words.
        pattern_cues: The cue class of each by a pattern, -1 if it matches none.
        tables: Of the model.
        numbers: Of the words: which rows are written.
        scores: Written, shape ``[numbers, 7, labels]``.
        columns: Written, shape ``[numbers, columns]``.
    """
    key = np.empty(_ROOM, dtype=np.uint32)
    shape = np.empty(_ROOM, dtype=np.uint32)
    collapsed = np.empty(_ROOM, dtype=np.uint32)
    found = np.empty(_ROOM, dtype=np.int32)
    flat = scores.reshape(len(scores), -1)
    singles = np.empty(_PROPERTIES, dtype=np.int32)
    for at in range(len(numbers)):
        begin, end = forms.begins[at], forms.ends[at]
        blank = np.int64(forms.classes[begin] & BLANK > 0)
        exact = forms.exact[begin + blank : end]
        classes = forms.classes[begin + blank : end]
        lower = forms.lower[forms.lower_begins[at] + blank : forms.lower_ends[at]]
        size = len(exact)
        write_shape(exact, classes, shape)
        short = collapse(shape[:size], collapsed)
        letters = Letters(
            exact, lower, shape[:size], are_all(classes, np.int64(LETTER))
        )

        word = number_in(lower, tables.words)
        cue, listed = np.int32(0), np.int32(0)
        if word >= 0:
            cue, listed = tables.of_words[word, 2], tables.of_words[word, 3]
        if pattern_cues[at] >= 0:
            cue = pattern_cues[at]
        facts = Facts(
            size,
            word,
            number_in(collapsed[:short], tables.shapes),
            number_of(exact) if are_all(classes, np.int64(DIGIT)) else np.int64(-1),
            cue,
            listed,
            np.int64(classes[0] & CAPITAL > 0),
            blank,
        )
        write_columns(facts, tables, columns[numbers[at]])
        write_singles(facts, tables, singles)
        first, past = tables.list_starts[listed], tables.list_starts[listed + 1]
        lists = tables.list_blocks[facts.capital, first:past]
        count = write_blocks(
            tables.properties, letters, singles, lists, key, tables.parts, found
        )
        write_sum(found[:count], tables.blocks, flat[numbers[at]])
