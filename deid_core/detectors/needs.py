"""Tell which rules a note calls for, and where, without running any of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from .rule import Rule

# One byte a code point, so that offsets stay; what is not Latin-1 becomes "?".  On
# bytes, translating and searching cost a fraction of what they cost on text.
_ZERO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LETTERS_ONLY = bytes(code if chr(code).isalpha() else ord(" ") for code in range(256))
# Stretches with digits, up to twelve other characters between two of them.
_NUMBERS = re.compile(rb"0(?:[^0\n]{0,12}0)*+[^0\n]{0,12}")

Calls = dict[str, tuple[Rule, list[int]]]


class NeedsTable:
    """The needs of many rules, looked up together.

    Args:
        rules: See `Rule.needs` for what their needs mean.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._by_word: dict[bytes, list[Rule]] = defaultdict(list)
        self._by_number: dict[bytes, list[Rule]] = defaultdict(list)
        self._by_mark: dict[bytes, list[Rule]] = defaultdict(list)
        for rule in rules:
            for need in rule.needs:
                self._table_of(need)[need.encode("latin-1")].append(rule)

    def called_for(self, folded: str) -> Iterable[tuple[Rule, list[int]]]:
        """Return the rules that the folded text calls for, and where their needs begin.

        The order is always the same, whatever the hash seed: by the rules' names.
        """
        lowered = folded.lower().encode("latin-1", "replace")
        shape = lowered.translate(_ZERO_DIGITS)
        numbers = b"\n".join(_NUMBERS.findall(shape))
        words = {*lowered.translate(_LETTERS_ONLY).split()}
        calls: Calls = {}
        for need in words & self._by_word.keys():
            _add(calls, self._by_word[need], _word_positions(need, lowered))
        for need, rules in self._by_number.items():
            if need in numbers:
                _add(calls, rules, _positions(need, shape))
        for need, rules in self._by_mark.items():
            if need in shape:
                _add(calls, rules, _positions(need, shape))
        return [calls[name] for name in sorted(calls)]

    def _table_of(self, need: str) -> dict[bytes, list[Rule]]:
        if need.isalpha():
            return self._by_word
        return self._by_number if need.startswith("0") else self._by_mark


def _add(calls: Calls, rules: Iterable[Rule], positions: list[int]) -> None:
    for rule in rules:
        calls.setdefault(rule.name, (rule, []))[1].extend(positions)


def _positions(need: bytes, shape: bytes) -> list[int]:
    positions = []
    position = shape.find(need)
    while position >= 0:
        positions.append(position)
        position = shape.find(need, position + 1)
    return positions


def _word_positions(word: bytes, text: bytes) -> list[int]:
    return [
        position
        for position in _positions(word, text)
        if not _is_letter(text, position - 1)
        and not _is_letter(text, position + len(word))
    ]


def _is_letter(text: bytes, position: int) -> bool:
    return 0 <= position < len(text) and _LETTERS_ONLY[text[position]] != ord(" ")
