"""Templates: lines and sentences added to a carrier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .scenario import Scenario
from .segments import Segment, with_kind
from .splits import Half, of_half
from .tables import table

_FIELD = re.compile(r"\{([a-z_.]+)\}")
_TRAINING_ONLY = ("training", "sentences")


@dataclass(frozen=True, slots=True)
class Group:
    """Templates of one sort.

    Args:
        lines: Those of one half, sorted.
        kind: What makes their identifiers easy or hard; empty for nothing.
        weight: How often the group is drawn, relative to others.
    """

    lines: tuple[str, ...]
    kind: str
    weight: int


@cache
def groups_of(half: Half) -> Mapping[str, Group]:
    """Return the half's groups by name; the training half has some of its own."""
    groups = {
        each["name"]: _group(each, of_half(each["lines"], half))
        for each in table("templates")["group"]
    }
    if half is Half.TRAINING:
        for each in groups_of_training_only():
            known = groups.get(each["name"])
            lines = [*(known.lines if known else ()), *each["lines"]]
            groups[each["name"]] = _group(each, sorted(lines))
    return groups


def groups_of_training_only() -> list[dict[str, Any]]:
    """Return the groups, as written, that only training uses."""
    return [each for name in _TRAINING_ONLY for each in table(name)["group"]]


def _group(table: Mapping[str, Any], lines: Iterable[str]) -> Group:
    return Group(tuple(lines), table.get("kind", ""), table.get("weight", 1))


def drawn_lines(
    scenario: Scenario, groups: Sequence[Group], count: int
) -> list[list[Segment]]:
    """Return at most so many filled templates, none of them twice."""
    left = [[*group.lines] for group in groups]
    weights = [group.weight for group in groups]
    found = []
    for at in scenario.chance.choices(range(len(groups)), weights, k=count):
        if left[at]:
            line = left[at].pop(scenario.chance.randrange(len(left[at])))
            segments = filled(line, scenario)
            kind = groups[at].kind
            found.append(with_kind(segments, kind) if kind else segments)
    return found


def filled(template: str, scenario: Scenario) -> list[Segment]:
    """Return a template's segments that have text, in order.

    Raises:
        KeyError: It has an unknown field.
    """
    segments: list[Segment] = []
    for at, part in enumerate(_FIELD.split(template)):
        segments += scenario.segments(part) if at % 2 else [Segment(part)]
    return [each for each in segments if each.text]
