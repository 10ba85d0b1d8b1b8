"""Walk texts through automata of needs, over their bytes: Python makes no match."""

from __future__ import annotations

from typing import Any

import numpy as np

from deid_core.jit import Array, Int, compiled

# numba reads the arrays of a named tuple.
Tables = Any
_LINE_END = 10
PLACE_BITS = 32
"""How many bits of a call say where; the others say which rule."""


@compiled
def add_ends(
    automaton: Tables, state: Int, at: Int, line: Int, lines: Array, calls: Array,
    count: Int,
) -> Int:  # fmt: skip
    """Append the calls of the needs that end at a byte; return how many there are.

    Args:
        automaton: See `needs.Automaton`.
        state: Of the automaton.
        at: The byte.
        line: Where its line starts.
        lines: See `add_calls`.
        calls: See there.
        count: How many there are already.
    """
    for need in range(automaton.firsts[state], automaton.firsts[state + 1]):
        rule = automaton.rules[need]
        place = at - automaton.backs[need]
        if place - line <= lines[rule]:
            if count < len(calls):
                calls[count] = (np.int64(rule) << PLACE_BITS) | place
            count += 1
    return count


@compiled
def add_calls(
    text: Array, shape: Array, bounds: Array, words: Tables, shapes: Tables,
    lines: Array, calls: Array,
) -> Int:  # fmt: skip
    """Write which rules texts call for, and where; return how many calls there are.

    What has no room in `calls` is counted all the same.

    Args:
        text: Bytes, a line end before and behind each note's.
        shape: The same with 0 for every digit.
        bounds: Where each text starts, and past the last.
        words: The `needs.Automaton` that reads the text.
        shapes: The one that reads the shape.
        lines: How far from its line's start a need of each rule may begin.
        calls: Written: a rule's number and a place, see `PLACE_BITS`.
    """
    count = 0
    for each in range(len(bounds) - 1):
        word, form, line = 0, 0, bounds[each]
        for at in range(bounds[each], bounds[each + 1]):
            # Side by side, as each step waits for the one before it.
            word = words.steps[word, words.classes[text[at]]]
            form = shapes.steps[form, shapes.classes[shape[at]]]
            if words.firsts[word] < words.firsts[word + 1]:
                count = add_ends(words, word, at, line, lines, calls, count)
            if shapes.firsts[form] < shapes.firsts[form + 1]:
                count = add_ends(shapes, form, at, line, lines, calls, count)
            if text[at] == _LINE_END:
                line = at
    return count


@compiled
def join_calls(
    calls: Array,
    bounds: Array,
    reaches: Array,
    beyonds: Array,
    texts: Array,
    starts: Array,
    ends: Array,
    firsts: Array,
) -> None:
    """Write where each rule looks.

    Those of a rule that overlap become one; a rule without a reach looks at each place.

    Args:
        calls: Of `add_calls`, sorted.
        bounds: See there.
        reaches: How far before its need each rule begins to look.
        beyonds: How far past its need's start each rule looks.
        texts: Written: which text each stretch is of.
        starts: Written: where it starts, in its text.
        ends: Written: where it ends.
        firsts: Written: the first stretch of each rule, and past the last.
    """
    count, text, last, before = 0, 0, 0, -1
    firsts[0] = 0
    for at in range(len(calls)):
        rule = calls[at] >> PLACE_BITS
        place = calls[at] & ((1 << PLACE_BITS) - 1)
        if rule != before:
            text = 0
            for each in range(before + 1, rule + 1):
                firsts[each] = count
        same = rule == before and place < bounds[text + 1]
        while place >= bounds[text + 1]:
            text += 1
        place -= bounds[text]
        reach, beyond = reaches[rule], beyonds[rule]
        if same and (place == last or (reach > 0 and place - reach <= last + beyond)):
            ends[count - 1] = place + beyond
        else:
            texts[count] = text
            starts[count] = max(0, place - reach)
            ends[count] = place + beyond
            count += 1
        last, before = place, rule
    for each in range(before + 1, len(firsts)):
        firsts[each] = count
