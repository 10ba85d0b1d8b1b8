"""Lines and sentences that stand around a carrier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .scenario import Cast
from .segments import Piece, with_kind
from .splits import Half, of_half
from .tables import table

_FIELD = re.compile(r"\{([a-z_.]+)\}")
_TRAINING_ALONE = ("training", "sentences")


@dataclass(frozen=True, slots=True)
class Group:
    """Templates of one sort.

    Args:
        lines: Those of one half, sorted.
        kind: What makes their identifiers easy or hard; empty when nothing does.
        weight: How often the group is drawn, beside others.
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
        for each in groups_of_training_alone():
            known = groups.get(each["name"])
            lines = [*(known.lines if known else ()), *each["lines"]]
            groups[each["name"]] = _group(each, sorted(lines))
    return groups


def groups_of_training_alone() -> list[dict[str, Any]]:
    """Return the groups, as they are written, that stress has no part in."""
    return [each for name in _TRAINING_ALONE for each in table(name)["group"]]


def _group(table: Mapping[str, Any], lines: Iterable[str]) -> Group:
    return Group(tuple(lines), table.get("kind", ""), table.get("weight", 1))


def drawn_lines(cast: Cast, groups: Sequence[Group], count: int) -> list[list[Piece]]:
    """Return so many filled templates, none of them twice; fewer if there are fewer."""
    left = [[*group.lines] for group in groups]
    weights = [group.weight for group in groups]
    found = []
    for at in cast.chance.choices(range(len(groups)), weights, k=count):
        if left[at]:
            line = left[at].pop(cast.chance.randrange(len(left[at])))
            pieces = filled(line, cast)
            kind = groups[at].kind
            found.append(with_kind(pieces, kind) if kind else pieces)
    return found


def filled(template: str, cast: Cast) -> list[Piece]:
    """Return a template's pieces, in order; those without text are left out.

    Raises:
        KeyError: It holds a field that there is not.
    """
    pieces: list[Piece] = []
    for at, part in enumerate(_FIELD.split(template)):
        pieces += cast.pieces(part) if at % 2 else [Piece(part)]
    return [each for each in pieces if each.text]
