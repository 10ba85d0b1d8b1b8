"""Kernels of scoring: gather and add the scores of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deid_core.jit import Array, Int, compiled

REACH = 3
"""How far a window reaches to each side, in words."""
WIDTH = 2 * REACH + 1
PART_BITS = 20
"""How many bits of a key each part of a conjunction has."""
_PARTS = 3
_HIGH = 40


class JoinTables(NamedTuple):
    """Conjunctions of columns and what each of their values gives.

    Args:
        pads: Each column's number beyond a line.
        parts: Column and offset of each part, column -1 for none, ``[joins, 3, 2]``.
        places: Where each conjunction's table starts, and past the last.
        keys: All tables of `fill_table`, one after the other.
        rows: Likewise.
        weights: Shape ``[rows, labels]``.
    """

    pads: Array
    parts: Array
    places: Array
    keys: Array
    rows: Array
    weights: Array


@compiled
def slot_of(key: Int, mask: Int) -> Int:
    """Return where the search for a key starts in a table of ``mask + 1`` places."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    # High bits: only these hang on all of a key's parts.
    return np.int64(mixed >> np.uint64(_HIGH)) & mask


@compiled
def fill_table(keys: Array, rows: Array, table_keys: Array, table_rows: Array) -> None:
    """Write keys and their rows into an open-addressing table of a power of two.

    Args:
        keys: Distinct, not negative.
        rows: Of each key.
        table_keys: Written; -1 where empty.
        table_rows: Written.
    """
    mask = len(table_keys) - 1
    for at in range(len(keys)):
        slot = slot_of(keys[at], mask)
        while table_keys[slot] >= 0:
            slot = (slot + 1) & mask
        table_keys[slot] = keys[at]
        table_rows[slot] = rows[at]


@compiled
def place_of(key: Int, keys: Array) -> Int:
    """Return the place of a key in a table of `fill_table`; -1 if it has none."""
    mask = len(keys) - 1
    slot = slot_of(key, mask)
    while keys[slot] >= 0:
        if keys[slot] == key:
            return slot
        slot = (slot + 1) & mask
    return np.int64(-1)


@compiled
def add_properties(types: Array, starts: Array, tables: Array, scores: Array) -> None:
    """Write the sum of what the types around each word give it.

    Args:
        types: Of each word, shape ``[words]``; type 0 is what lies beyond a line.
        starts: Where each line starts, and past the last, shape ``[lines + 1]``.
        tables: What a type gives a word at each offset, ``[types, 7, labels]``.
        scores: Written, shape ``[words, labels]``.
    """
    labels = scores.shape[1]
    for line in range(len(starts) - 1):
        first, last = starts[line], starts[line + 1]
        for at in range(first, last):
            for y in range(labels):
                scores[at, y] = 0.0
            for slot in range(WIDTH):
                place = at + slot - REACH
                kind = types[place] if first <= place < last else 0
                for y in range(labels):
                    scores[at, y] += tables[kind, slot, y]


@compiled
def count_of(parts: Array) -> Int:
    """Return how many parts a conjunction has."""
    count = 0
    while count < _PARTS and parts[count, 0] >= 0:
        count += 1
    return count


@compiled
def lengthened(key: Int, number: Int) -> Int:
    """Return a key with one more part; -1 where there is no number, or was none."""
    return np.int64(-1) if number < 0 or key < 0 else (key << PART_BITS) | number


@compiled
def write_keys(
    columns: Array, starts: Array, pads: Array, parts: Array, keys: Array
) -> None:
    """Write the key of one conjunction at each word; -1 if a column has nothing.

    Args:
        columns: A number for each column and word, -1 for none, ``[columns, words]``.
        starts: Where each line starts, and past the last, shape ``[lines + 1]``.
        pads: See `JoinTables`.
        parts: Of this conjunction, ``[3, 2]``.
        keys: Written, shape ``[words]``.
    """
    keys[:] = 0
    for part in range(count_of(parts)):
        number, offset = columns[parts[part, 0]], parts[part, 1]
        pad = np.int64(pads[parts[part, 0]])
        for line in range(len(starts) - 1):
            first, last = starts[line], starts[line + 1]
            # Only words whose neighbour is beyond the line get the pad.
            begin = min(max(first, first - offset), last)
            end = max(min(last, last - offset), begin)
            for at in range(first, begin):
                keys[at] = lengthened(keys[at], pad)
            for at in range(begin, end):
                keys[at] = lengthened(keys[at], np.int64(number[at + offset]))
            for at in range(end, last):
                keys[at] = lengthened(keys[at], pad)


@compiled
def add_conjunctions(
    columns: Array, starts: Array, tables: JoinTables, scores: Array
) -> None:
    """Add what conjunctions of columns give each word.

    Args:
        columns: A number for each column and word, -1 for none, ``[columns, words]``.
        starts: Where each line starts, and past the last, shape ``[lines + 1]``.
        tables: Of the conjunctions.
        scores: Added to, shape ``[words, labels]``.
    """
    labels = scores.shape[1]
    pads, parts, places, keys, rows, weights = tables
    found = np.empty(len(scores), dtype=np.int64)
    # One conjunction after the other: its table stays in the cache meanwhile.
    for join in range(len(parts)):
        write_keys(columns, starts, pads, parts[join], found)
        own = slice(places[join], places[join + 1])
        own_keys, own_rows = keys[own], rows[own]
        for at in range(len(found)):
            if found[at] < 0:
                continue
            place = place_of(found[at], own_keys)
            if place >= 0:
                row = own_rows[place]
                for y in range(labels):
                    scores[at, y] += weights[row, y]
