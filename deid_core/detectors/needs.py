"""Tell which rules a note calls for, and where, without running any of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import ahocorasick

from .rule import Rule

# One byte a code point, so that offsets stay; what is not Latin-1 becomes "?".
_ZERO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LETTERS_ONLY = bytes(code if chr(code).isalpha() else ord(" ") for code in range(256))
_TOO_LONG = b"0" * 64
_LONG_RUN = re.compile(b"0{64,}")

Needles = defaultdict[str, list[int]]


class NeedsTable:
    """The needs of many rules, looked up together: two passes over a note.

    An Aho-Corasick automaton tells all needs in time linear in the text, however many
    there are.

    Args:
        rules: See `Rule.needs` for what their needs mean.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        # By name: the order of calls is always the same, whatever the hash seed.
        self._rules = sorted(rules, key=lambda rule: rule.name)
        words: Needles = defaultdict(list)
        shapes: Needles = defaultdict(list)
        for number, rule in enumerate(self._rules):
            for need in dict.fromkeys(rule.needs):
                if need.isalpha():
                    # Between spaces, as `_LETTERS_ONLY` leaves whole words.
                    words[f" {need} "].append(number)
                else:
                    shapes[need].append(number)
        self._words = _automaton(words)
        self._shapes = _automaton(shapes)

    def called_for(self, folded: str) -> Iterator[tuple[Rule, list[int]]]:
        """Yield the rules that the folded text calls for, and where their needs begin.

        Positions are in order, one for each need that begins there.
        """
        lowered = folded.lower().encode("latin-1", "replace")
        letters = lowered.translate(_LETTERS_ONLY).decode("latin-1")
        shape = _without_long_runs(lowered.translate(_ZERO_DIGITS)).decode("latin-1")
        calls: defaultdict[int, list[int]] = defaultdict(list)
        for automaton, text in ((self._words, f" {letters} "), (self._shapes, shape)):
            for end, (back, numbers) in automaton.iter(text) if automaton else ():
                place = end - back
                for number in numbers:
                    calls[number].append(place)
        for number in sorted(calls):
            calls[number].sort()
            yield self._rules[number], calls[number]


def _without_long_runs(shape: bytes) -> bytes:
    """Return the shape without runs of digits that are longer than any identifier.

    Each digit of one would call for some forty rules, for nothing.
    """
    if _TOO_LONG not in shape:
        return shape
    return _LONG_RUN.sub(lambda run: b" " * len(run[0]), shape)


def _automaton(needles: Needles) -> ahocorasick.Automaton:
    """Return an automaton; a value is the way back to a need, and who needs it."""
    automaton = ahocorasick.Automaton()
    for needle, numbers in needles.items():
        automaton.add_word(needle, (len(needle) - 1, tuple(numbers)))
    automaton.make_automaton()
    return automaton
