"""Find, for each rule, the windows of a text in which it can match."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deid_core.runtime.prepared import Arrays

from .prefilter import Prefilter, Trigger
from .window_kernels import (
    ENDS_WORD,
    PLACE_BITS,
    STARTS_WORD,
    add_calls,
    join_calls,
)

# One byte a code point, so that offsets stay; what is not Latin-1 becomes "?".
_ZERO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_TOO_LONG = b"0" * 64
_LONG_RUN = re.compile(b"0{64,}")
_ANYWHERE = 1 << PLACE_BITS
_ROOM = 1_024
_FEW = 4
"""Letters of running text for each trigger, at least; sizes the first buffer."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Windows(NamedTuple):
    """Where to try a rule, in order: columns of the same length.

    Args:
        texts: Which text.
        starts: From where in it a match may begin.
        ends: Where it ends at the latest.
    """

    texts: list[int]
    starts: list[int]
    ends: list[int]


class Automaton(NamedTuple):
    """Many triggers, searched for at once (Aho and Corasick 1975), as arrays.

    Args:
        classes: Of each byte; bytes that no trigger holds are of one class.
        steps: The state after each state and class, shape ``[states, classes]``.
        firsts: The first trigger that ends in each state, and past the last.
        lengths: Of each of these triggers.
        edges: Whether it starts or ends a word, see `window_kernels`.
        rules: Whose it is.
        letters: Whether each byte is a letter.
    """

    classes: NDArray[np.uint8]
    steps: Ints
    firsts: Ints
    lengths: Ints
    edges: Ints
    rules: Ints
    letters: NDArray[np.bool_]


class WindowTable:
    """The prefilters of many rules, searched for at once in all texts of a batch.

    Args:
        arrays: See `window_arrays`.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._automaton = Automaton(*(arrays[name] for name in Automaton._fields))
        self._columns = arrays["columns"]
        self._nearests, self._lookbehinds, self._windows = arrays["sizes"]
        # Load the kernels now, so that the first note costs no more than the next.
        list(self.windows([""]))

    @classmethod
    def of(
        cls, prefilters: Sequence[Prefilter], max_columns: Sequence[int | None]
    ) -> Self:
        """Return the table of some rules' prefilters; see `window_arrays`."""
        return cls(window_arrays(prefilters, max_columns))

    def windows(self, folded: Sequence[str]) -> Iterator[tuple[int, Windows]]:
        """Yield the number of each rule that may match, and where.

        Windows are in order.
        """
        lowered = "".join(f"\n{each}\n" for each in folded).lower()
        sizes = (len(each) + 2 for each in folded)
        bounds = np.fromiter(accumulate(sizes, initial=0), np.int64, len(folded) + 1)
        calls = self._calls(lowered.encode("latin-1", "replace"), bounds)
        calls.sort()
        columns = texts, starts, ends = np.empty((3, len(calls)), dtype=np.int64)
        firsts = np.empty(len(self._columns) + 1, dtype=np.int64)
        join_calls(
            calls, bounds, self._nearests, self._lookbehinds, self._windows,
            texts, starts, ends, firsts,
        )  # fmt: skip
        for number, (first, past) in enumerate(pairwise(firsts.tolist())):
            if first < past:
                yield number, Windows(*(each[first:past].tolist() for each in columns))

    def _calls(self, lowered: bytes, bounds: Longs) -> Longs:
        """Return the calls, in the order in which their triggers end."""
        shape = _without_long_runs(lowered.translate(_ZERO_DIGITS))
        text = np.frombuffer(shape, np.uint8)
        room, count = 0, max(_ROOM, len(text) // _FEW)
        while count > room:
            room = count
            calls = np.empty(room, dtype=np.int64)
            count = add_calls(text, bounds, self._automaton, self._columns, calls)
        return calls[:count]


def _without_long_runs(shape: bytes) -> bytes:
    """Return the shape without runs of digits that are longer than any identifier.

    Each digit of one would trigger some forty rules, for nothing.
    """
    if _TOO_LONG not in shape:
        return shape
    return _LONG_RUN.sub(lambda run: b" " * len(run[0]), shape)


def window_arrays(
    prefilters: Sequence[Prefilter], max_columns: Sequence[int | None]
) -> dict[str, NDArray[Any]]:
    """Return what a `WindowTable` looks up.

    Args:
        prefilters: One for each rule.
        max_columns: How far from its line's start a trigger of each may begin, or None.
    """
    triggers: defaultdict[bytes, list[tuple[int, Trigger]]] = defaultdict(list)
    for number, prefilter in enumerate(prefilters):
        for trigger in prefilter.triggers:
            triggers[trigger.text.encode("latin-1")].append((number, trigger))
    columns = [_ANYWHERE if column is None else column for column in max_columns]
    sizes = [prefilter[1:] for prefilter in prefilters]
    return {
        **_automaton(triggers)._asdict(),
        "columns": np.array(columns, dtype=np.int64),
        "sizes": np.array(sizes, dtype=np.int64).reshape(-1, 3).T.copy(),
    }


def _automaton(triggers: Mapping[bytes, Sequence[tuple[int, Trigger]]]) -> Automaton:
    children: list[dict[int, int]] = [{}]
    ends: list[list[tuple[int, int, int]]] = [[]]
    for text, owners in triggers.items():
        state = 0
        for byte in text:
            state = children[state].setdefault(byte, len(children))
            if state == len(children):
                children.append({})
                ends.append([])
        ends[state] = [(len(text), _edges(each), rule) for rule, each in owners]
    used = sorted({byte for text in triggers for byte in text})
    class_of = {byte: at for at, byte in enumerate(used, start=1)}
    steps = _steps(children, ends, class_of)
    found = [each for ending in ends for each in ending]
    lengths, edges, rules = np.array(found or np.empty((0, 3)), dtype=np.int32).T
    return Automaton(
        np.array([class_of.get(each, 0) for each in range(256)], dtype=np.uint8),
        steps,
        np.cumsum([0, *map(len, ends)], dtype=np.int32),
        np.ascontiguousarray(lengths),
        np.ascontiguousarray(edges),
        np.ascontiguousarray(rules),
        np.array([chr(each).isalpha() for each in range(256)]),
    )


def _edges(trigger: Trigger) -> int:
    return STARTS_WORD * trigger.starts_word | ENDS_WORD * trigger.ends_word


def _steps(
    children: Sequence[Mapping[int, int]],
    ends: list[list[tuple[int, int, int]]],
    class_of: Mapping[int, int],
) -> Ints:
    """Return all steps of an automaton; add the triggers that end within others."""
    steps = np.zeros((len(children), 1 + len(class_of)), dtype=np.int32)
    waiting = deque([(0, 0)])
    while waiting:
        state, shorter = waiting.popleft()
        # Where a trigger does not go on, the longest that ends here, too, may.
        steps[state] = steps[shorter]
        for byte, child in children[state].items():
            behind = int(steps[shorter, class_of[byte]]) if state else 0
            steps[state, class_of[byte]] = child
            ends[child] = ends[child] + ends[behind]
            waiting.append((child, behind))
    return steps
