"""Find triggers in texts, byte by byte, in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np

from deid_core.runtime.jit import Array, Int, compiled

# numba reads the arrays of a named tuple.
Tables = Any
_LINE_END = 10
PLACE_BITS = 32
"""How many low bits of a call are a place; the others are a rule."""
STARTS_WORD, ENDS_WORD = 1, 2


@compiled
def is_at_edges(automaton: Tables, end: Int, text: Array, before: Int, at: Int) -> bool:
    """Return whether a trigger starts and ends a word where it must.

    Args:
        automaton: See `windows.Automaton`.
        end: Which trigger.
        text: See `add_calls`.
        before: The byte before the trigger.
        at: Its last byte.
    """
    edges = automaton.edges[end]
    if edges & STARTS_WORD and automaton.letters[text[before]]:
        return False
    return not (edges & ENDS_WORD and automaton.letters[text[at + 1]])


@compiled
def add_calls(
    text: Array, bounds: Array, automaton: Tables, columns: Array, calls: Array
) -> Int:
    """Write at which places texts hold triggers of which rules; return how many.

    What has no room in `calls` is counted all the same.

    Args:
        text: Bytes, a line end before and behind each text's.
        bounds: Where each text starts, and past the last.
        automaton: See `windows.Automaton`.
        columns: How far from its line's start a trigger of each rule may begin.
        calls: Written: a rule's number and a place, see `PLACE_BITS`.
    """
    count = 0
    for each in range(len(bounds) - 1):
        state, line = 0, bounds[each]
        for at in range(bounds[each], bounds[each + 1]):
            byte = text[at]
            state = automaton.steps[state, automaton.classes[byte]]
            for end in range(automaton.firsts[state], automaton.firsts[state + 1]):
                # The byte before the trigger, as each text has one more in front.
                place = at - automaton.lengths[end]
                rule = automaton.rules[end]
                if place - line <= columns[rule] and is_at_edges(
                    automaton, end, text, place, at
                ):
                    if count < len(calls):
                        calls[count] = (np.int64(rule) << PLACE_BITS) | place
                    count += 1
            if byte == _LINE_END:
                line = at
    return count


@compiled
def join_calls(
    calls: Array,
    bounds: Array,
    nearests: Array,
    lookbehinds: Array,
    windows: Array,
    texts: Array,
    starts: Array,
    ends: Array,
    firsts: Array,
) -> None:
    """Write where each rule is tried.

    Windows of a rule that overlap become one.  A rule whose matches all start equally
    far before their triggers is tried at each of these places.

    Args:
        calls: Of `add_calls`, sorted.
        bounds: See there.
        nearests: How far before a trigger the matches of each rule start at least.
        lookbehinds: How far at most.
        windows: How far past a trigger's start they end at most.
        texts: Written: which text each window is in.
        starts: Written: where it starts, in its text.
        ends: Written: where it ends.
        firsts: Written: the first window of each rule, and past the last.
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
        lookbehind, window = lookbehinds[rule], windows[rule]
        is_window = nearests[rule] < lookbehind
        if same and (
            place == last or (is_window and place - lookbehind <= last + window)
        ):
            ends[count - 1] = place + window
        elif is_window or place >= lookbehind:
            texts[count] = text
            starts[count] = max(0, place - lookbehind)
            ends[count] = place + window
            count += 1
        last, before = place, rule
    for each in range(before + 1, len(firsts)):
        firsts[each] = count
