"""A model's tables without what can be worked out: as its folder holds them.

Hashes, open-addressing tables and code points are eight times as large as what they are
made from.  Making them takes a quarter of a second, whole arrays at a time, so that it
needs no compiled code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels.first_sight import Blocks
from .kernels.tables import BITS, COUNT_BITS, HASH_SHIFT, HASH_STEP, JoinTables
from .kernels.words import FOLD, SEED, STEP, WordTable
from .words import code_points

Arrays = Mapping[str, NDArray[Any]]
Longs = NDArray[np.int64]
Unsigned = NDArray[np.uint64]

_LOAD = 2
"""An open-addressing table has at least twice as many places as entries."""


def compact_words(words: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return distinct words as their letters and lengths."""
    text = "".join(words).encode("utf-8", "surrogatepass")
    return {
        "text": np.frombuffer(text, np.uint8),
        "lengths": np.array([*map(len, words)], np.uint16),
    }


def word_table(compact: Arrays) -> WordTable:
    """Return the table in which kernels find words; each has its place as a number."""
    text = compact["text"].tobytes().decode("utf-8", "surrogatepass")
    pool, lengths = code_points(text), compact["lengths"]
    bounds = _bounds(lengths, np.int64)
    hashes = _hashes(pool, bounds[:-1], lengths)
    places = 1 << (_LOAD * len(lengths)).bit_length()
    slots = np.full(places, -1, np.int32)
    numbers = np.arange(len(lengths), dtype=np.int32)
    slots[_placed(hashes & np.uint64(places - 1), places)] = numbers
    return WordTable(slots, hashes, bounds, pool)


def compact_blocks(blocks: Blocks) -> dict[str, NDArray[Any]]:
    """Return blocks by how many weights each has."""
    return {
        "counts": np.diff(blocks.starts).astype(np.uint16),
        "places": blocks.places,
        "weights": blocks.weights,
    }


def blocks_of(compact: Arrays) -> Blocks:
    """Return the blocks by where each starts."""
    weights = compact["weights"].astype(np.float32)
    return Blocks(_bounds(compact["counts"], np.int32), compact["places"], weights)


def compact_keys(keys: Iterable[Longs]) -> dict[str, NDArray[Any]]:
    """Return the sorted keys of each conjunction as the steps between them."""
    steps = [np.diff(own, prepend=np.int64(0)) for own in keys]
    return {
        "sizes": np.array([*map(len, steps)], np.int64),
        "steps": np.concatenate([np.empty(0, np.int64), *steps]),
    }


def join_tables(compact: Arrays) -> JoinTables:
    """Return the tables in which kernels find the keys of conjunctions."""
    sizes = compact["sizes"].tolist()
    counts = compact["counts"].astype(np.int64)
    rows = (np.cumsum(counts) - counts) << COUNT_BITS | counts
    widths = [1 << max(1, (_LOAD * size).bit_length()) for size in sizes]
    places = np.cumsum([0, *widths])
    entries = np.empty((places[-1], 2), np.int64)
    # Four bits for each place.
    bits = np.empty(places[-1] // 2, np.uint8)
    taken = 0
    for size, first, past in zip(sizes, places, places[1:], strict=False):
        own = slice(taken, taken + size)
        keys = np.cumsum(compact["steps"][own])
        fill_table(keys, rows[own], entries[first:past], bits[first // 2 : past // 2])
        taken += size
    return JoinTables(
        compact["pads"],
        compact["parts"],
        places,
        entries,
        bits,
        compact["labels"],
        compact["weights"].astype(np.float32),
    )


def fill_table(
    keys: Longs, rows: Longs, entries: Longs, bits: NDArray[np.uint8]
) -> None:
    """Write keys and their rows into an open-addressing table of a power of two.

    Args:
        keys: Distinct, not negative.
        rows: Of each key: where its weights begin, and in the last `COUNT_BITS` bits
            how many there are.
        entries: Written: key and row, -1 where empty, shape ``[places, 2]``.
        bits: Written: four bits for each place, of which a key sets one.  Most keys
            that are not in the table are seen by these alone: they stay in the cache.
    """
    places = len(entries)
    hashes = keys.astype(np.uint64) * np.uint64(HASH_STEP) >> np.uint64(HASH_SHIFT)
    flags = np.zeros(BITS * places, np.bool_)
    flags[hashes & np.uint64(BITS * places - 1)] = True
    bits[:] = np.packbits(flags, bitorder="little")
    slots = _placed(hashes & np.uint64(places - 1), places)
    entries[:] = -1
    entries[slots, 0] = keys
    entries[slots, 1] = rows


def _placed(homes: Unsigned, places: int) -> Longs:
    """Return each entry's slot: its home, or the first free one after it."""
    slots = homes.astype(np.int64)
    owners = np.full(places, -1, np.int64)
    waiting = np.arange(len(slots))
    while len(waiting):
        free = waiting[owners[slots[waiting]] < 0]
        # Of several that want a slot, the last that is written has it.
        owners[slots[free]] = free
        waiting = waiting[owners[slots[waiting]] != waiting]
        slots[waiting] = (slots[waiting] + 1) & (places - 1)
    return slots


def _hashes(
    codes: NDArray[np.uint32], begins: Longs, lengths: NDArray[np.uint16]
) -> Unsigned:
    """Return `kernels.words.hash_of` of each word, a letter of all words at a time."""
    hashes = np.full(len(lengths), SEED, np.uint64)
    longest_first = np.argsort(-lengths.astype(np.int64), kind="stable")
    ordered = -lengths[longest_first].astype(np.int64)
    for at in range(-int(ordered[0]) if len(ordered) else 0):
        own = longest_first[: np.searchsorted(ordered, -at)]
        hashes[own] = (hashes[own] ^ codes[begins[own] + at]) * np.uint64(STEP)
    return hashes ^ (hashes >> np.uint64(FOLD))


def _bounds(counts: NDArray[Any], kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    bounds = np.zeros(len(counts) + 1, kind)
    np.cumsum(counts, out=bounds[1:])
    return bounds
