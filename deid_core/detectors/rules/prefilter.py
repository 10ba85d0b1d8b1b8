"""Derive from a rule's pattern which strings each match contains, and where.

A prefilter is a set of triggers, one of which every match contains, and the window
around a trigger that holds the match.  Candidates are the strings with which a part of
the pattern can begin, as in RE2's prefilters and the literals of Rust's regex crate;
the cheapest wins, by an estimate of how often its triggers occur.  What cannot be said
exactly is widened, so that no match in text of `to_ascii` is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, prod
from typing import NamedTuple

from deid_core.language.lexicons.vocabulary import zipf

from .parse_tree import (
    Characters,
    Choice,
    Edge,
    Group,
    Look,
    Node,
    Reference,
    Repeat,
    Series,
    parse,
    repeat,
)
from .pattern import LazyPattern

_MOST_TRIGGERS = 500
_LEAST_SHARE = 24
_LONGEST = 14
_DEPTH = 2
_RARE_ENOUGH, _FRUITLESS = 1e-5, 3
_ATTEMPT, _SCAN, _PLACE = 3.0, 0.05, 1e-6
"""Costs: to begin a window, to scan a code point, to keep a trigger."""


class Trigger(NamedTuple):
    """A string at which a rule is tried.

    Args:
        text: In lower case, with 0 for each digit.
        starts_word: No letter precedes it.
        ends_word: No letter follows it.
    """

    text: str
    starts_word: bool = False
    ends_word: bool = False


class Prefilter(NamedTuple):
    """Where to try a pattern.

    Args:
        triggers: Each match contains one of them.
        nearest: How many code points before a trigger a match starts at least.
        lookbehind: How many at most.
        window: How many code points past a trigger's start a match may look at.
    """

    triggers: tuple[Trigger, ...]
    nearest: int
    lookbehind: int
    window: int

    @property
    def is_fixed(self) -> bool:
        """True if all matches start equally far before their triggers."""
        return self.nearest == self.lookbehind


class _Candidate(NamedTuple):
    cost: float
    triggers: frozenset[Trigger]
    nearest: int
    lookbehind: int


class _String(NamedTuple):
    """A string with which a part of a pattern can begin.

    Args:
        text: As in `Trigger`.
        is_whole: All of the part so far, so that the next part continues it.
        starts_word: No letter precedes it.
        ends_word: No letter follows it.
        begins: Where in the text groups begin.
        groups: What each group matched.
    """

    text: str = ""
    is_whole: bool = True
    starts_word: bool = False
    ends_word: bool = False
    begins: tuple[tuple[int, int], ...] = ()
    groups: tuple[tuple[int, str], ...] = ()

    @property
    def ends_in_letter(self) -> bool:
        return self.text[-1:].isalpha()

    def followed_by(self, text: str) -> _String:
        return self._replace(text=self.text + text, ends_word=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Mark(Node):
    """The start or the end of a group."""

    number: int
    is_start: bool

    @classmethod
    def of(cls, number: int, *, is_start: bool) -> _Mark:
        return cls(0, 0, 0, number, is_start)


def derive(pattern: re.Pattern[str] | LazyPattern) -> Prefilter | None:
    """Return the cheapest prefilter of a pattern, or None if it has none.

    It has none if there is nothing that all its matches contain, or if they have no
    bound and may start at several places before it.
    """
    root = parse(pattern)
    candidates = _candidates([root], starts_word=False, ends_word=False)
    found = ((_work(each, root.reach), each) for each in candidates)
    best = min(found, default=None, key=lambda pair: pair[0])
    if best is None or best[0] == inf:
        return None
    _, triggers, nearest, lookbehind = best[1]
    # One more: a window's end inside a match would pass for the end of the text.
    window = int(root.reach) - nearest + 1 if root.reach < inf else 0
    return Prefilter(tuple(sorted(triggers)), nearest, lookbehind, window)


def _work(each: _Candidate, reach: float) -> float:
    kept = _PLACE * len(each.triggers)
    if each.nearest == each.lookbehind:
        return each.cost + kept
    scanned = each.lookbehind - each.nearest + reach
    return each.cost * (_ATTEMPT + _SCAN * scanned) + kept


def _candidates(
    nodes: Iterable[Node], *, starts_word: bool, ends_word: bool, depth: int = _DEPTH
) -> Iterator[_Candidate]:
    """Yield what every match of the nodes contains, in several ways.

    Args:
        nodes: One after the other.
        starts_word: No letter precedes them.
        ends_word: No letter follows them.
        depth: How many choices may be taken apart within one another.
    """
    parts = list(_flat(nodes))
    yield from _of_parts(parts, starts_word, ends_word, depth)
    if depth < _DEPTH:
        return
    for at, each in enumerate(parts):
        if isinstance(each, Look) and each.is_ahead and each.is_positive:
            ahead = [*parts[:at], *_flat([each.part])]
            yield from _of_parts(ahead, starts_word, False, depth, first=at)


def _flat(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield parts that can be taken one by one."""
    for node in nodes:
        if isinstance(node, Series):
            yield from _flat(node.parts)
        elif isinstance(node, Group):
            yield _Mark.of(node.number, is_start=True)
            yield from _flat([node.part])
            yield _Mark.of(node.number, is_start=False)
        elif isinstance(node, Repeat) and node.first:
            # In this order a string may start at the last one, and end before it.
            once = list(_flat([node.part]))
            more = min(node.first, _LONGEST) - 1
            yield from once * more
            if node.last > more + 1:
                yield repeat(node.part, node.first - more - 1, node.last - more - 1)
            yield from once
        else:
            yield node


def _of_parts(
    parts: Sequence[Node],
    starts_word: bool,
    ends_word: bool,
    depth: int,
    first: int = 0,
) -> Iterator[_Candidate]:
    nearest, lookbehind = 0, 0.0
    for at, part in enumerate(parts):
        if lookbehind == inf:
            return
        is_start = _is_no_letter_next(parts[:at], is_ahead=False, otherwise=starts_word)
        if at >= first and part.least and not _is_in_word(parts, at):
            for triggers in _beginnings(parts[at:], is_start, ends_word):
                cost = sum(map(_frequency, triggers))
                yield _Candidate(cost, triggers, nearest, int(lookbehind))
        if at >= first and depth and isinstance(part, Choice):
            is_end = _is_no_letter_next(
                parts[at + 1 :], is_ahead=True, otherwise=ends_word
            )
            for each in _of_choice(part, is_start, is_end, depth - 1):
                yield each._replace(
                    nearest=nearest + each.nearest,
                    lookbehind=int(lookbehind) + each.lookbehind,
                )
        nearest, lookbehind = nearest + part.least, lookbehind + part.most


def _is_in_word(parts: Sequence[Node], at: int) -> bool:
    """Return whether a part is a letter within letters: no string begins there."""
    after = (each for each in parts[at + 1 :] if not isinstance(each, _Mark))
    if not _is_letter(next(after, parts[at])):
        return False
    return at > 0 and all(map(_is_letter, parts[at - 1 : at + 1]))


def _is_letter(part: Node) -> bool:
    return isinstance(part, Characters) and part.has_letters


def _of_choice(
    node: Choice, starts_word: bool, ends_word: bool, depth: int
) -> Iterator[_Candidate]:
    """Yield what the parts of a choice contain: the cheapest of each part.

    Once of what they begin with, and once of what they contain anywhere.
    """
    found = [
        [
            (_work(each, part.reach), each)
            for each in _candidates(
                [part], starts_word=starts_word, ends_word=ends_word, depth=depth
            )
        ]
        for part in node.parts
    ]
    first = [[pair for pair in each if not pair[1].lookbehind] for each in found]
    for candidates in (first, found):
        if all(candidates):
            yield _union(min(each, key=lambda pair: pair[0])[1] for each in candidates)


def _union(candidates: Iterable[_Candidate]) -> _Candidate:
    costs, triggers, nearests, lookbehinds = zip(*candidates, strict=True)
    return _Candidate(
        sum(costs), frozenset().union(*triggers), min(nearests), max(lookbehinds)
    )


def _beginnings(
    parts: Sequence[Node], starts_word: bool, ends_word: bool
) -> Iterator[frozenset[Trigger]]:
    """Yield the strings that the parts can begin with, longer and longer."""
    strings = [_String(starts_word=starts_word)]
    lowest, fruitless = inf, 0
    for at, part in enumerate(parts, 1):
        strings = _extended(strings, part)
        if not part.most:
            continue
        if not all(each.text for each in strings):
            if not all(each.is_whole for each in strings if not each.text):
                return
            continue
        is_end = _is_no_letter_next(parts[at:], is_ahead=True, otherwise=ends_word)
        triggers = _least({_trigger(each, is_end) for each in strings})
        yield triggers
        cost = sum(map(_frequency, triggers))
        fruitless = fruitless + 1 if cost > lowest / 2 else 0
        lowest = min(lowest, cost)
        is_over = not any(each.is_whole for each in strings)
        is_rare = cost < _RARE_ENOUGH and not any(map(_ends_in_word, triggers))
        if is_over or is_rare or fruitless == _FRUITLESS:
            return


def _ends_in_word(trigger: Trigger) -> bool:
    return trigger.text[-1].isalpha() and not trigger.ends_word


def _trigger(string: _String, is_end: bool) -> Trigger:
    text, is_whole, starts_word, ends_word, *_ = string
    return Trigger(
        text,
        starts_word and text[0].isalpha(),
        string.ends_in_letter and (ends_word or (is_whole and is_end)),
    )


def _least(triggers: set[Trigger]) -> frozenset[Trigger]:
    """Return the triggers without those at whose place a shorter one is, too."""
    by_text: dict[str, list[Trigger]] = {}
    for each in triggers:
        by_text.setdefault(each.text, []).append(each)
    return frozenset(
        each
        for each in triggers
        if not any(
            shorter != each and _holds_wherever(shorter, each)
            for length in range(1, len(each.text) + 1)
            for shorter in by_text.get(each.text[:length], ())
        )
    )


def _holds_wherever(shorter: Trigger, longer: Trigger) -> bool:
    """Return whether a trigger that another begins with is where that one is."""
    text, starts_word, ends_word = longer
    following = text[len(shorter.text) :]
    ends_word = not following[0].isalpha() if following else ends_word
    return shorter.starts_word <= starts_word and shorter.ends_word <= ends_word


def _extended(
    strings: list[_String], node: Node, limit: int = _MOST_TRIGGERS
) -> list[_String]:
    """Return the strings with what a node adds to them, if these are not too many."""
    found = dict.fromkeys(each for each in strings if not each.is_whole)
    for each in strings:
        if each.is_whole:
            found |= dict.fromkeys(_longer(each, node, limit))
        if len(found) > limit:
            return [each._replace(is_whole=False) for each in strings]
    return list(found)


def _longer(string: _String, node: Node, limit: int) -> list[_String]:
    match node:
        case Characters(shapes=shapes):
            if shapes is None or len(string.text) >= _LONGEST:
                return [string._replace(is_whole=False)]
            letters = (each for each in sorted(shapes) if each.isalpha())
            others = (each for each in sorted(shapes) if not each.isalpha())
            following = others if string.ends_word else (*letters, *others)
            return [string.followed_by(each) for each in following]
        case Choice(parts=parts):
            share = max(_LEAST_SHARE, limit // max(1, len(parts)))
            return [each for part in parts for each in _longer(string, part, share)]
        case Repeat():
            return _repeated(string, node, limit)
        case Reference(number=number) if number in (groups := dict(string.groups)):
            return [string.followed_by(groups[number])]
        case Edge() | Look() | _Mark():
            return [_at_place(string, node)]
    strings = [string]
    for each in _flat([node]) if isinstance(node, Group) else _ways(node)[0]:
        strings = _extended(strings, each, limit)
    return strings


def _repeated(string: _String, node: Repeat, limit: int) -> list[_String]:
    found: list[_String] = []
    strings, count = [string], 0
    while strings:
        if count >= node.first:
            found += strings
        if count == node.last:
            break
        more = _extended(strings, node.part, limit)
        if len(found) + len(more) > limit:
            # Not counted, as the next repetition may follow.
            return [each._replace(is_whole=False) for each in (*found, *strings)]
        found += (each for each in more if not each.is_whole)
        strings = [each for each in more if each.is_whole and each not in strings]
        count += 1
    return found


def _at_place(string: _String, node: Node) -> _String:
    """Return the string with what is known of its place."""
    if isinstance(node, _Mark):
        begins = dict(string.begins)
        if node.is_start:
            place = (node.number, len(string.text))
            return string._replace(begins=(*string.begins, place))
        if node.number not in begins:
            return string
        matched = string.text[begins[node.number] :]
        return string._replace(groups=(*string.groups, (node.number, matched)))
    if not string.text:
        says_so = _excludes_letter(node, is_ahead=False)
        return string._replace(starts_word=string.starts_word or says_so)
    if string.ends_in_letter and _excludes_letter(node, is_ahead=True):
        return string._replace(ends_word=True)
    return string


def _is_no_letter_next(
    parts: Sequence[Node], *, is_ahead: bool, otherwise: bool = False
) -> bool:
    """Return whether no letter can be where the parts meet a letter.

    Args:
        parts: They follow the letter, or it follows them.
        is_ahead: Whether they follow it.
        otherwise: What is true past the parts.
    """
    if not parts:
        return otherwise
    node, rest = (parts[0], parts[1:]) if is_ahead else (parts[-1], parts[:-1])
    if isinstance(node, Characters):
        return not node.has_letters
    past = _is_no_letter_next(rest, is_ahead=is_ahead, otherwise=otherwise)
    if isinstance(node, Edge | Look | _Mark):
        return past or _excludes_letter(node, is_ahead=is_ahead)
    if isinstance(node, Repeat) and not node.first:
        if not past:
            return False
        # A word boundary past an optional part is not at the letter.
        rest = [each for each in rest if not isinstance(each, Edge)]
    return all(
        _is_no_letter_next(
            [*way, *rest] if is_ahead else [*rest, *way],
            is_ahead=is_ahead,
            otherwise=otherwise,
        )
        for way in _ways(node)
    )


def _ways(node: Node) -> list[Sequence[Node]]:
    """Return the alternatives of a node, each a series of parts."""
    match node:
        case Choice(parts=parts):
            return [[each] for each in parts]
        case Series(parts=parts):
            return [parts]
        case Repeat(part=part) | Group(part=part) | Reference(part=part):
            return [[part]]
    return [[node]]


def _excludes_letter(node: Node, *, is_ahead: bool) -> bool:
    """Return whether an assertion at a letter says that no letter is next to it."""
    match node:
        case Edge(kind=kind):
            return kind in ("word", "end" if is_ahead else "start")
        case Look(part=part, is_ahead=looks_ahead) if looks_ahead == is_ahead:
            if node.is_positive:
                return _is_no_letter_next([part], is_ahead=is_ahead)
            return _takes_any_letter([part])
    return False


def _takes_any_letter(parts: Sequence[Node]) -> bool:
    """Return whether one letter, whichever, is enough for the parts to match."""
    if not parts:
        return False
    first, rest = parts[0], parts[1:]
    match first:
        case Characters():
            return first.has_all_letters and not rest
        case Series(parts=inner):
            return _takes_any_letter([*inner, *rest])
        case Choice(parts=inner):
            return any(_takes_any_letter([each, *rest]) for each in inner)
        case Repeat(first=0):
            return _takes_any_letter(rest)
        case _:
            return False


_RUN = re.compile("[a-z]+|0+|.", re.DOTALL)
# In 1,200 letters of English.
_LETTER_COUNTS = (
    "e95 t72 a65 o60 i60 n57 s52 h42 r50 d35 l33 c25 u22 m21 w17 f17 y15 g15 p17 b12"
    " v8 k6 j2 x2 q1 z1"
)
_LETTERS = {each[0]: int(each[1:]) / 1200 for each in _LETTER_COUNTS.split()}
_MARKS = {" ": 0.16, ".": 0.012, ",": 0.011, "\n": 0.02, "-": 0.006, ":": 0.006}
_PART_OF_WORD = 4.0
_RARE_MARK, _DIGIT, _NEXT_DIGIT = 0.002, 0.02, 0.4
_NEXT = 4.0
"""How much likelier what follows is, as notes repeat themselves."""
_AFTER_LETTER = 0.15
"""How much likelier a digit is after a letter."""


@cache
def _frequency(trigger: Trigger) -> float:
    """Return about how often a trigger occurs for each code point of a note."""
    text, starts_word, ends_word = trigger
    runs = [run[0] for run in _RUN.finditer(text)]
    found = 1.0
    for at, run in enumerate(runs):
        is_bound = (at or starts_word) and (at < len(runs) - 1 or ends_word)
        each = _frequency_of_run(run, is_word=bool(is_bound))
        if at and run[0] == "0" and runs[at - 1].isalpha():
            found *= each * _AFTER_LETTER
        else:
            found *= min(0.8, each * _NEXT) if at else each
    return found


def _frequency_of_run(run: str, *, is_word: bool) -> float:
    if run[0] == "0":
        return _DIGIT * _NEXT_DIGIT ** (len(run) - 1)
    if not run.isalpha():
        return _MARKS.get(run, _RARE_MARK)
    if is_word:
        return 10 ** (max(zipf(run), 3.0) - 9) / 6
    return _PART_OF_WORD * prod(_LETTERS[letter] for letter in run)
