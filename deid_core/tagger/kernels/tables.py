"""Kernels of scoring: gather and add the scores of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deid_core.runtime.jit import WRAP, Array, Int, compiled, compiled_or

REACH = 3
"""How far a window reaches to each side, in words."""
WIDTH = 2 * REACH + 1
PART_BITS = 20
"""How many bits of a key each part of a conjunction has."""
COUNT_BITS = 8
MOST_WEIGHTS = (1 << COUNT_BITS) - 1
"""So many labels a feature may have weights for."""
HASH_STEP, HASH_SHIFT = 0x9E3779B97F4A7C15, 40
BITS = 4
"""How many bits of a filter a table has for each of its places."""
_PARTS = 3


class JoinTables(NamedTuple):
    """Conjunctions of columns and what each of their values gives.

    Args:
        pads: Each column's number beyond a line.
        parts: Column and offset of each part, column -1 for none, ``[joins, 3, 2]``.
        places: Where each conjunction's table starts, and past the last.
        entries: All tables of `compact_tables.fill_table`, one after the other.
        bits: The filters of these tables, `BITS` bits for each place.
        labels: Of each weight; those of one row follow one another.
        weights: Without zeros.
    """

    pads: Array
    parts: Array
    places: Array
    entries: Array
    bits: Array
    labels: Array
    weights: Array


def _mixed(key: Int) -> Int:
    return (int(key) * HASH_STEP & WRAP) >> HASH_SHIFT


@compiled_or(_mixed)
def mixed(key: Int) -> Int:
    """Return a number of 24 bits that depends on all parts of a key."""
    return np.int64((np.uint64(key) * np.uint64(HASH_STEP)) >> np.uint64(HASH_SHIFT))


@compiled
def row_of(key: Int, entries: Array, bits: Array) -> Int:
    """Return the row of a key in a table of `fill_table`; -1 if it has none."""
    number = mixed(key)
    bit = number & (BITS * len(entries) - 1)
    if not bits[bit >> 3] >> (bit & 7) & 1:
        return np.int64(-1)
    mask = len(entries) - 1
    slot = number & mask
    while entries[slot, 0] >= 0:
        if entries[slot, 0] == key:
            return entries[slot, 1]
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
    pads, parts, places, entries, bits, labels, weights = tables
    found = np.empty(len(scores), dtype=np.int64)
    # One conjunction after the other: its table stays in the cache meanwhile.
    for join in range(len(parts)):
        write_keys(columns, starts, pads, parts[join], found)
        first, past = places[join], places[join + 1]
        own, own_bits = entries[first:past], bits[first // 2 : past // 2]
        for at in range(len(found)):
            if found[at] < 0:
                continue
            row = row_of(found[at], own, own_bits)
            if row >= 0:
                first_weight = row >> COUNT_BITS
                for k in range(first_weight, first_weight + (row & MOST_WEIGHTS)):
                    scores[at, labels[k]] += weights[k]
