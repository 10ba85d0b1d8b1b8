"""Walk a text through automata of needs, over its bytes: no match is made in Python."""

from __future__ import annotations

import numpy as np

from ..jit import Array, Int, compiled

_LINE_END = 10
PLACE_BITS = 32
"""How many bits of a call say where; the others say which rule."""


@compiled
def add_calls(
    text: Array,
    classes: Array,
    steps: Array,
    firsts: Array,
    backs: Array,
    rules: Array,
    lines: Array,
    calls: Array,
    count: Int,
) -> Int:
    """Append which rules a text calls for, and where; return how many calls there are.

    What has no room in `calls` is counted all the same.

    Args:
        text: Bytes, a line end before and behind the note's.
        classes: Of each byte.
        steps: The state after each state and class, shape ``[states, classes]``.
        firsts: Where the needs that end in each state start, and past the last.
        backs: How far before its last byte each need begins, as the note counts.
        rules: Who has each need.
        lines: How far from its line's start a need of each rule may begin.
        calls: Written: a rule's number and a place, see `PLACE_BITS`.
        count: How many there are already.
    """
    state, line = 0, 0
    for at in range(len(text)):
        state = steps[state, classes[text[at]]]
        for need in range(firsts[state], firsts[state + 1]):
            place = at - backs[need]
            if place - line <= lines[rules[need]]:
                if count < len(calls):
                    calls[count] = (np.int64(rules[need]) << PLACE_BITS) | place
                count += 1
        if text[at] == _LINE_END:
            line = at
    return count
