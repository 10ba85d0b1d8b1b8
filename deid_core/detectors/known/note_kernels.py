"""Cut a note into words and seek a record's in it, over code points: no string is made.

What is found is asked again by its string: a hash may lie, and letters alone say only
what a word cannot be.
"""

from __future__ import annotations

import numpy as np

from ...jit import Array, Float, Int, compiled

GAP, LETTER, DIGIT, UNKNOWN = range(4)
"""What a code point is to a word."""
MOST_INITIALS = 3
"""How many letters stand for a name at the most: given, middle and family."""
_HASH_SEED = 0xCBF29CE484222325
_HASH_STEP = 0x100000001B3
_WORD_BITS = 6
_ROUNDING = 1e-6


@compiled
def cut(
    codes: Array, kinds: Array, places: Array, small: Array, odd: Array, capitals: Array
) -> Int:
    """Write where words begin and end; return how many there are, and of each kind.

    Args:
        codes: Of the note.
        kinds: What each code point is to a word.
        places: Written: 0, where each word begins and ends, and the note's length.
        small: Written: the code points, letters of ASCII in lower case.
        odd: Written: which words are not of ASCII.
        capitals: Written: which words may be initials, by length and first letter.
    """
    size, count, odds, initials, at = len(codes), 0, 0, 0, 0
    places[0] = 0
    while at < size:
        kind, begin, highest = kinds[at], at, np.uint32(0)
        while at < size and kinds[at] == kind:
            code = codes[at]
            is_large = np.uint32(65) <= code <= np.uint32(90)
            small[at] = code + np.uint32(32) if is_large else code
            highest = max(highest, code)
            at += 1
        if kind != GAP:
            places[2 * count + 1], places[2 * count + 2] = begin, at
            if highest > 127:
                odd[odds] = count
                odds += 1
            if at - begin <= MOST_INITIALS and (
                codes[begin] != small[begin] or highest > 127
            ):
                capitals[initials] = count
                initials += 1
            count += 1
    places[2 * count + 1] = size
    return count, odds, initials


@compiled
def hashed_on(mixed: Int, codes: Array, begin: Int, end: Int) -> Int:
    """Return a hash that goes on with some code points (FNV-1a)."""
    for at in range(begin, end):
        mixed = (mixed ^ np.uint64(codes[at])) * np.uint64(_HASH_STEP)
    return mixed


@compiled
def bit_of(mixed: Int, bits: Array) -> Int:
    """Return which of many bits, a power of two of words of 64, a hash stands for."""
    spread = mixed ^ (mixed >> np.uint64(29))
    return spread & np.uint64(len(bits) * 64 - 1)


@compiled
def has_bit(mixed: Int, bits: Array) -> Int:
    """Return whether the bit of a hash is set."""
    bit = bit_of(mixed, bits)
    word = bits[bit >> np.uint64(_WORD_BITS)]
    return (word >> (bit & np.uint64(63))) & np.uint64(1) > 0


@compiled
def set_bits(codes: Array, bounds: Array, bits: Array) -> None:
    """Set the bits of some words.

    Args:
        codes: Of the words, one after the other.
        bounds: Where each starts, and past the last.
        bits: Changed.
    """
    for at in range(len(bounds) - 1):
        mixed = hashed_on(np.uint64(_HASH_SEED), codes, bounds[at], bounds[at + 1])
        bit = bit_of(mixed, bits)
        bits[bit >> np.uint64(_WORD_BITS)] |= np.uint64(1) << (bit & np.uint64(63))


@compiled
def letters_of(codes: Array, begin: Int, end: Int) -> Int:
    """Return which letters a word has, as a set of 64 bits; some letters share one."""
    letters = np.uint64(0)
    for at in range(begin, end):
        letters |= np.uint64(1) << np.uint64(codes[at] & np.uint32(63))
    return letters


@compiled
def write_letters(codes: Array, bounds: Array, letters: Array) -> None:
    """Write which letters each of some words has; see `set_bits`."""
    for at in range(len(bounds) - 1):
        letters[at] = letters_of(codes, bounds[at], bounds[at + 1])


@compiled
def count_bits(bits: Int) -> Int:
    """Return how many bits are set."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + (
        (bits >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def may_be_near(
    length: Int, own: Int, letters: Array, lengths: Array, threshold: Float
) -> Int:
    """Return whether a word may be within a ratio of edits of some token.

    An edit takes away or brings one kind of letter at the most, and changes the length
    by one at the most.

    Args:
        length: Of the word.
        own: Its letters, see `letters_of`.
        letters: Of each token.
        lengths: Of each token.
        threshold: Edits over the shorter length stay below it.
    """
    for at in range(len(lengths)):
        limit = threshold * min(length, lengths[at]) + _ROUNDING
        if (
            abs(length - lengths[at]) < limit
            and count_bits(letters[at] & ~own) < limit
            and count_bits(own & ~letters[at]) < limit
        ):
            return True
    return False


@compiled
def seek(
    codes: Array,
    places: Array,
    keys: Array,
    parts: Array,
    letters: Array,
    lengths: Array,
    threshold: Float,
    found: Array,
) -> Int:
    """Write which words may be sought; return how many of each kind there are.

    Args:
        codes: Of the words' compared forms.
        places: Where each begins and ends, as `cut` writes it.
        keys: The bits of all that is sought.
        parts: The bits of what may be written as two words.
        letters: See `may_be_near`; likewise the next two.
        lengths: See there.
        threshold: See there.
        found: Written, shape ``[3, words]``: words that may be keys, may be near a
            token, and may be a part together with the next.
    """
    count = len(places) // 2 - 1
    key, near, pair = 0, 0, 0
    for at in range(count):
        begin, end = places[2 * at + 1], places[2 * at + 2]
        mixed = hashed_on(np.uint64(_HASH_SEED), codes, begin, end)
        if has_bit(mixed, keys):
            found[0, key] = at
            key += 1
        own = letters_of(codes, begin, end)
        if may_be_near(end - begin, own, letters, lengths, threshold):
            found[1, near] = at
            near += 1
        if at + 1 < count:
            joined = hashed_on(mixed, codes, places[2 * at + 3], places[2 * at + 4])
            if has_bit(joined, parts):
                found[2, pair] = at
                pair += 1
    return key, near, pair
