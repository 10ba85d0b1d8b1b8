"""Words of notes and records as numbers, and the kernels that compare them.

Kernels work on code points: no string is made.  What they find is compared again as a
string, since hashes may collide and letters alone only say what a word cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deid_core.language.lexicons.normal import WORD
from deid_core.runtime.jit import WRAP, Array, Float, Int, compiled, compiled_or

_ANY = re.compile(f"({WORD})")

_BEYOND = 0x3000

Codes = NDArray[np.uint32]
Ints = NDArray[np.int32]
Bits = NDArray[np.uint64]
GAP, LETTER, DIGIT = range(3)
"""What a code point is to a word."""
MOST_INITIALS = 3
"""The most initials of a name: given, middle and family."""
LAST_BIT = 63
_HASH_STEP = 0x100000001B3
_WORD_BITS = 6
_ROUNDING = 1e-6


@compiled
def letter_bit(code: Int) -> Int:
    """Return the bit of a letter in a set of 64; some letters share one."""
    return np.uint64(1) << (code & np.uint64(63))


def _hash_step(mixed: Int, code: Int) -> Int:
    return (int(mixed) * _HASH_STEP + int(code)) & WRAP


@compiled_or(_hash_step)
def hash_step(mixed: Int, code: Int) -> Int:
    """Return the hash of a word with one more letter."""
    return mixed * np.uint64(_HASH_STEP) + code


@compiled
def cut(
    codes: Array,
    kinds: Array,
    starts: Array,
    ends: Array,
    hashes: Array,
    letters: Array,
    lengths: Array,
    odd: Array,
    capitals: Array,
    glued: Array,
) -> Int:
    """Write where words begin and end, their hashes and letters.

    A word counts with its letters of ASCII in lower case; those that are not of ASCII
    are `odd`, as their compared form is another one.

    Args:
        codes: Of the note.
        kinds: What each code point is to a word, by its number.
        starts: Written: where each word begins, and the note's length.
        ends: Written: 0, and where each word ends.
        hashes: Written: each word's hash: a polynomial, so that of two words side by
            side is made of theirs.
        letters: Written: which letters each has, see `letter_bit`.
        lengths: Written: how many.
        odd: Written: which words are not of ASCII.
        capitals: Written: which words may be initials, by length and first letter.
        glued: Written: which words change to capitals, or from several of them, inside.

    Returns:
        How many words there are, how many of them odd, capitals, and glued.
    """
    size, count, odds, initials, several, at = len(codes), 0, 0, 0, 0, 0
    ends[0] = 0
    while at < size:
        kind, begin, highest = kinds[codes[at]], at, np.uint32(0)
        large, smalls, changes = 0, 0, False
        mixed, own = np.uint64(0), np.uint64(0)
        while at < size and kinds[codes[at]] == kind:
            code = codes[at]
            highest = max(highest, code)
            if np.uint32(65) <= code <= np.uint32(90):
                code += np.uint32(32)
                changes |= smalls > 0
                large += 1
            else:
                changes |= large > 1
                large, smalls = 0, 1
            mixed = hash_step(mixed, np.uint64(code))
            own |= letter_bit(np.uint64(code))
            at += 1
        if kind != GAP:
            starts[count], ends[count + 1] = begin, at
            hashes[count], letters[count], lengths[count] = mixed, own, at - begin
            if highest > 127:
                odd[odds] = count
                odds += 1
            is_capital = np.uint32(65) <= codes[begin] <= np.uint32(90)
            if at - begin <= MOST_INITIALS and (is_capital or highest > 127):
                capitals[initials] = count
                initials += 1
            if changes or highest > 127:
                glued[several] = count
                several += 1
            count += 1
    starts[count] = size
    return count, odds, initials, several


@compiled
def digest(codes: Array, lengths: Array, hashes: Array, letters: Array) -> None:
    """Write the hash and the letters of some words, as `cut` does.

    Args:
        codes: Of the words, one after the other.
        lengths: Of each word; a word may hold any character, blanks too.
        hashes: Written.
        letters: Written.
    """
    begin = 0
    for word in range(len(lengths)):
        mixed, own = np.uint64(0), np.uint64(0)
        for at in range(begin, begin + lengths[word]):
            mixed = hash_step(mixed, np.uint64(codes[at]))
            own |= letter_bit(np.uint64(codes[at]))
        hashes[word], letters[word] = mixed, own
        begin += lengths[word]


def _joined_hash(left: Int, right: Int, length: Int) -> Int:
    power = pow(_HASH_STEP, int(length), WRAP + 1)
    return np.uint64((int(left) * power + int(right)) & WRAP)


@compiled_or(_joined_hash)
def joined_hash(left: Int, right: Int, length: Int) -> Int:
    """Return the hash of two words as one; the right one has so many letters."""
    for _ in range(length):
        left *= np.uint64(_HASH_STEP)
    return left + right


@compiled
def bit_of(mixed: Int, bits: Array) -> Int:
    """Return which of many bits, a power of two of words of 64, belongs to a hash."""
    spread = mixed ^ (mixed >> np.uint64(29))
    return spread & np.uint64(len(bits) * 64 - 1)


@compiled
def has_bit(mixed: Int, bits: Array) -> Int:
    """Return whether the bit of a hash is set."""
    bit = bit_of(mixed, bits)
    word = bits[bit >> np.uint64(_WORD_BITS)]
    return (word >> (bit & np.uint64(63))) & np.uint64(1) > 0


@compiled
def set_bits(hashes: Array, bits: Array) -> None:
    """Set the bits of some hashes."""
    for at in range(len(hashes)):
        bit = bit_of(hashes[at], bits)
        bits[bit >> np.uint64(_WORD_BITS)] |= np.uint64(1) << (bit & np.uint64(63))


def _count_bits(bits: Int) -> Int:
    return int(bits).bit_count()


@compiled_or(_count_bits)
def count_bits(bits: Int) -> Int:
    """Return how many bits are set."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + (
        (bits >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def near_tokens(
    length: Int, own: Int, letters: Array, lengths: Array, threshold: Float
) -> Int:
    """Return which tokens a word may be within a ratio of edits of: 64 bits.

    The last bit is for all tokens from the 64th on.  An edit removes or adds
    one kind of letter at the most, and changes the length by one at the most.

    Args:
        length: Of the word.
        own: Its letters, see `letter_bit`.
        letters: Of each token, the shortest first.
        lengths: Of each token.
        threshold: Edits over the shorter length stay below it.
    """
    near = np.uint64(0)
    for at in range(len(lengths)):
        limit = threshold * min(length, lengths[at]) + _ROUNDING
        if lengths[at] - length >= limit:
            # All others are longer still.
            break
        if (
            length - lengths[at] < limit
            and count_bits(letters[at] & ~own) < limit
            and count_bits(own & ~letters[at]) < limit
        ):
            near |= np.uint64(1) << np.uint64(min(at, LAST_BIT))
    return near


@compiled
def find_candidates(
    hashes: Array,
    own: Array,
    sizes: Array,
    keys: Array,
    parts: Array,
    letters: Array,
    lengths: Array,
    threshold: Float,
    found: Array,
    near: Array,
) -> Int:
    """Write which words are candidates; return how many of each kind there are.

    Args:
        hashes: Of each word's compared form, see `cut`.
        own: Its letters.
        sizes: How many.
        keys: The bits of all words of the record.
        parts: The bits of what may be written as two words.
        letters: See `near_tokens`.
        lengths: See `near_tokens`.
        threshold: See `near_tokens`.
        found: Written, shape ``[3, words]``: words that may be keys, may be near a
            token, and may be a part together with the next.
        near: Written: which tokens each of the second kind may be near.
    """
    key, some, pair = 0, 0, 0
    for at in range(len(hashes)):
        if has_bit(hashes[at], keys):
            found[0, key] = at
            key += 1
        tokens = near_tokens(sizes[at], own[at], letters, lengths, threshold)
        if tokens > 0:
            found[1, some], near[some] = at, tokens
            some += 1
        if at + 1 < len(hashes):
            joined = joined_hash(hashes[at], hashes[at + 1], sizes[at + 1])
            if has_bit(joined, parts):
                found[2, pair] = at
                pair += 1
    return key, some, pair


def _kind(character: str) -> int:
    is_letter = _ANY.fullmatch(character) is not None
    return DIGIT if character.isdecimal() else LETTER if is_letter else GAP


# By code point.
KINDS: NDArray[np.uint8] = np.array(
    [_kind(chr(code)) for code in range(_BEYOND)], dtype=np.uint8
)
_STAND_INS = {GAP: ord(" "), LETTER: ord("\u00df"), DIGIT: ord("\u0660")}
"""Replacements for code points beyond `KINDS`: of the same kind, and not ASCII."""


def code_points(text: str) -> Codes:
    """Return the code points of a text; a lone surrogate is one like any other."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def stand_ins(text: str) -> Codes:
    """Return the code points of a text, or others of their kinds that `KINDS` has."""
    codes = code_points(text)
    if text.isascii() or not (beyond := np.flatnonzero(codes >= _BEYOND)).size:
        return codes
    known = codes.copy()
    known[beyond] = [_STAND_INS[_kind(text[at])] for at in beyond.tolist()]
    # Read-only like `codes`: the kernel would be compiled again for a writable array.
    known.flags.writeable = False
    return known


class Forms(NamedTuple):
    """The compared forms of a note's words, as numbers; see `cut`.

    Args:
        hashes: Of each.
        letters: Which it has.
        lengths: How many.
    """

    hashes: Bits
    letters: Bits
    lengths: Ints


def digested(words: Sequence[str]) -> Forms:
    """Return words in compared form as numbers."""
    hashes, letters = np.empty((2, len(words)), dtype=np.uint64)
    lengths = np.fromiter(map(len, words), np.int32, len(words))
    digest(code_points("".join(words)), lengths, hashes, letters)
    return Forms(hashes, letters, lengths)
