"""Cut texts into words and number them, over their code points: no word is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deid_core.runtime.jit import WRAP, Array, Int, compiled, compiled_or

NO_WORD, UPPER, LOWER, DIGIT, MARK, LINE_END = range(6)
"""What a code point is to a word; of `LOWER` are all letters that are not `UPPER`."""
SEED, STEP, FOLD = 0xCBF29CE484222325, 0x100000001B3, 29
"""Of the hash of a word."""


class WordTable(NamedTuple):
    """Words by number, found by their hashes.

    Args:
        slots: Numbers of words by their hashes, -1 where empty; a power of two.
        hashes: Of each numbered word.
        bounds: Where each numbered word starts in the pool, and past the last.
        pool: The code points of all numbered words.
    """

    slots: Array
    hashes: Array
    bounds: Array
    pool: Array


@compiled
def end_of_word(kinds: Array, at: Int) -> Int:
    """Return where the word that starts at a place ends, as `words.pieces` has it."""
    size, kind = len(kinds), kinds[at]
    end = at + 1
    if kind == MARK:
        return end
    while end < size and kinds[end] == kind:
        end += 1
    if kind == UPPER and end < size and kinds[end] == LOWER:
        if end > at + 1:
            return end - 1
        while end < size and kinds[end] == LOWER:
            end += 1
    return end


@compiled
def cut(kinds: Array, begins: Array, ends: Array, starts: Array) -> Int:
    """Write where each word begins and ends; return how many words there are.

    Args:
        kinds: What each code point is to a word.
        begins: Written: where each word begins, shape ``[words or more]``.
        ends: Written: where each word ends, shape ``[words or more]``.
        starts: Written: the word at which each line starts, and past the last.
    """
    count, line, at = 0, 0, np.int64(0)
    starts[0] = 0
    while at < len(kinds):
        kind = kinds[at]
        if kind == NO_WORD:
            at += 1
        elif kind == LINE_END:
            line += 1
            starts[line] = count
            at += 1
        else:
            begins[count] = at
            at = end_of_word(kinds, at)
            ends[count] = at
            count += 1
    starts[line + 1] = count
    return count


def _hash_of(codes: Array) -> Int:
    mixed = SEED
    for code in codes.tolist():
        mixed = (mixed ^ code) * STEP & WRAP
    return mixed ^ (mixed >> FOLD)


@compiled_or(_hash_of)
def hash_of(codes: Array) -> Int:
    """Return the hash of a word's code points (FNV-1a, a code point a step)."""
    mixed = np.uint64(SEED)
    for at in range(len(codes)):
        mixed = (mixed ^ np.uint64(codes[at])) * np.uint64(STEP)
    return mixed ^ (mixed >> np.uint64(FOLD))


@compiled
def is_word(codes: Array, other: Array) -> Int:
    """Return whether two words are the same."""
    size, at = len(codes), 0
    if size != len(other):
        return False
    while at < size and codes[at] == other[at]:
        at += 1
    return at == size


@compiled
def slot_of_word(codes: Array, hashed: Int, table: WordTable) -> Int:
    """Return the slot of a word's number, or the empty one for it.

    Args:
        codes: The word's code points.
        hashed: Its hash.
        table: Of the numbered words.
    """
    slots, hashes, bounds, pool = table
    mask = len(slots) - 1
    slot = np.int64(hashed & np.uint64(mask))
    while slots[slot] >= 0:
        number = slots[slot]
        if hashes[number] == hashed and is_word(
            codes, pool[bounds[number] : bounds[number + 1]]
        ):
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def number_words(
    codes: Array, begins: Array, ends: Array, table: WordTable, numbers: Array
) -> Int:
    """Write the number of each word, -1 for one without; return how many have none.

    Args:
        codes: Of the texts.
        begins: Of each word.
        ends: Of each word.
        table: Of the numbered words.
        numbers: Written, shape ``[words]``.
    """
    unknown = 0
    for at in range(len(begins)):
        word = codes[begins[at] : ends[at]]
        slot = slot_of_word(word, hash_of(word), table)
        numbers[at] = table.slots[slot]
        unknown += numbers[at] < 0
    return unknown


@compiled
def add_words(
    codes: Array,
    begins: Array,
    ends: Array,
    table: WordTable,
    numbers: Array,
    count: Int,
) -> Int:
    """Number the words that have no number yet; return how many are numbered now.

    Args:
        codes: Of the texts.
        begins: Of each word.
        ends: Of each word.
        table: Of the numbered words, with room for all of these; written.
        numbers: Of each word, -1 for none; written.
        count: How many words are numbered.
    """
    slots, hashes, bounds, pool = table
    for at in range(len(begins)):
        if numbers[at] >= 0:
            continue
        word = codes[begins[at] : ends[at]]
        hashed = hash_of(word)
        slot = slot_of_word(word, hashed, table)
        if slots[slot] < 0:
            slots[slot] = count
            hashes[count] = hashed
            start = bounds[count]
            bounds[count + 1] = start + len(word)
            # Not as slices: the error that they may raise is long to compile.
            for letter in range(len(word)):
                pool[start + letter] = word[letter]
            count += 1
        numbers[at] = slots[slot]
    return count
