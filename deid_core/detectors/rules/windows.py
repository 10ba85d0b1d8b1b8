"""Tell which rules notes call for, and where, without running any of them."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .rule import Rule
from .window_kernels import PLACE_BITS, add_calls, join_calls

# One byte a code point, so that offsets stay; what is not Latin-1 becomes "?".
_ZERO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LETTERS_ONLY = bytes(code if chr(code).isalpha() else ord(" ") for code in range(256))
_TOO_LONG = b"0" * 64
_LONG_RUN = re.compile(b"0{64,}")
_ANYWHERE = 1 << PLACE_BITS
_ROOM = 1_024
_FEW = 4
"""Less than one call to so many letters of running text."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Needles = Mapping[bytes, Sequence[int]]


class Looks(NamedTuple):
    """Where a rule looks, in order: columns of the same length.

    Args:
        texts: Which text.
        starts: From where in it a match may begin.
        ends: Where it ends at the latest.
    """

    texts: list[int]
    starts: list[int]
    ends: list[int]


class Automaton(NamedTuple):
    """Many needs, sought together (Aho and Corasick 1975), as arrays.

    Args:
        classes: Of each byte: all that no need holds are one class.
        steps: The state after each state and class, shape ``[states, classes]``.
        firsts: Where the needs that end in each state start, and past the last.
        backs: How far before its last byte each of these begins.
        rules: Who has it.
    """

    classes: NDArray[np.uint8]
    steps: Ints
    firsts: Ints
    backs: Ints
    rules: Ints


class NeedsTable:
    """The needs of many rules, looked up together in all texts of a batch.

    Automata tell all needs in time linear in the text, however many there are.

    Args:
        rules: See `Rule.needs` for what their needs mean.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        # By name: the order of calls is always the same, whatever the hash seed.
        self._rules = sorted(rules, key=lambda rule: rule.name)
        words: defaultdict[bytes, list[int]] = defaultdict(list)
        shapes: defaultdict[bytes, list[int]] = defaultdict(list)
        for number, rule in enumerate(self._rules):
            for need in dict.fromkeys(rule.needs):
                encoded = need.encode("latin-1")
                if need.isalpha():
                    # Between spaces, as `_LETTERS_ONLY` leaves whole words.
                    words[b" " + encoded + b" "].append(number)
                else:
                    shapes[encoded].append(number)
        # The note begins behind a line end, and a word behind its space.
        self._words = _automaton(words, before=1, read_as=_LETTERS_ONLY)
        self._shapes = _automaton(shapes, before=0, read_as=bytes(range(256)))
        lines = [_ANYWHERE if r.in_line is None else r.in_line for r in self._rules]
        self._lines = np.array(lines, dtype=np.int64)
        self._reaches = np.array([each.reach for each in self._rules], dtype=np.int64)
        self._beyonds = np.array([each.beyond for each in self._rules], dtype=np.int64)
        # Load the kernels now, so that the first note costs no more than the next.
        list(self.called_for([""]))

    def called_for(self, folded: Sequence[str]) -> Iterator[tuple[Rule, Looks]]:
        """Yield the rules that the folded texts call for, and where each looks.

        Stretches are in order; those of a rule that may begin before its need do not
        overlap, and each of another rule starts where a need begins.
        """
        lowered = "".join(f"\n{each}\n" for each in folded).lower()
        sizes = (len(each) + 2 for each in folded)
        bounds = np.fromiter(accumulate(sizes, initial=0), np.int64, len(folded) + 1)
        calls = self._calls(lowered.encode("latin-1", "replace"), bounds)
        calls.sort()
        columns = texts, starts, ends = np.empty((3, len(calls)), dtype=np.int64)
        firsts = np.empty(len(self._rules) + 1, dtype=np.int64)
        join_calls(
            calls, bounds, self._reaches, self._beyonds, texts, starts, ends, firsts
        )
        for rule, (first, past) in zip(
            self._rules, pairwise(firsts.tolist()), strict=True
        ):
            if first < past:
                yield rule, Looks(*(each[first:past].tolist() for each in columns))

    def _calls(self, lowered: bytes, bounds: Longs) -> Longs:
        """Return the calls, in the order in which their needs end."""
        shape = _without_long_runs(lowered.translate(_ZERO_DIGITS))
        text, shape_text = (np.frombuffer(each, np.uint8) for each in (lowered, shape))
        room, count = 0, max(_ROOM, len(text) // _FEW)
        while count > room:
            room = count
            calls = np.empty(room, dtype=np.int64)
            count = add_calls(
                text, shape_text, bounds, self._words, self._shapes, self._lines, calls
            )
        return calls[:count]


def _without_long_runs(shape: bytes) -> bytes:
    """Return the shape without runs of digits that are longer than any identifier.

    Each digit of one would call for some forty rules, for nothing.
    """
    if _TOO_LONG not in shape:
        return shape
    return _LONG_RUN.sub(lambda run: b" " * len(run[0]), shape)


def _automaton(needles: Needles, *, before: int, read_as: bytes) -> Automaton:
    """Return an automaton.

    Args:
        needles: Who needs each.
        before: How many bytes of a needle lie before the need.
        read_as: What each byte of a text stands for.
    """
    children: list[dict[int, int]] = [{}]
    ends: list[list[tuple[int, int]]] = [[]]
    for needle, rules in needles.items():
        state = 0
        for byte in needle:
            state = children[state].setdefault(byte, len(children))
            if state == len(children):
                children.append({})
                ends.append([])
        ends[state] = [(len(needle) - before, rule) for rule in rules]
    used = sorted({byte for needle in needles for byte in needle})
    class_of = {byte: at for at, byte in enumerate(used, start=1)}
    classes = np.array([class_of.get(each, 0) for each in read_as], dtype=np.uint8)
    steps = _steps(children, ends, class_of)
    found = [each for ending in ends for each in ending]
    return Automaton(
        classes,
        steps,
        np.cumsum([0, *map(len, ends)], dtype=np.int32),
        np.array([back for back, _ in found], dtype=np.int32),
        np.array([rule for _, rule in found], dtype=np.int32),
    )


def _steps(
    children: Sequence[Mapping[int, int]],
    ends: list[list[tuple[int, int]]],
    class_of: Mapping[int, int],
) -> Ints:
    """Return all steps of an automaton, and add the needs that end within others."""
    steps = np.zeros((len(children), 1 + len(class_of)), dtype=np.int32)
    waiting = deque([(0, 0)])
    while waiting:
        state, shorter = waiting.popleft()
        # Where a needle does not go on, the longest that ends here, too, may.
        steps[state] = steps[shorter]
        for byte, child in children[state].items():
            behind = int(steps[shorter, class_of[byte]]) if state else 0
            steps[state, class_of[byte]] = child
            ends[child] = ends[child] + ends[behind]
            waiting.append((child, behind))
    return steps
