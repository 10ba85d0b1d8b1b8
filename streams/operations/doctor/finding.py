"""A finding of a check: its severity, what was seen, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity of a finding, the worst last."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Args:
        level: FAIL when phistream can't work correctly, WARN when a person should look.
        seen: The fact; never a value of a record, a key or a password.
        todo: The next step; "" if there is none.
    """

    level: Level
    seen: str
    todo: str = ""


def ok(seen: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(Level.OK, seen)


def warn(seen: str, todo: str) -> Finding:
    """Return a finding that a person should look at."""
    return Finding(Level.WARN, seen, todo)


def fail(seen: str, todo: str) -> Finding:
    """Return a finding with which phistream can't work correctly."""
    return Finding(Level.FAIL, seen, todo)


def worst(findings: Iterable[Finding]) -> Level:
    """Return the worst level; OK without findings."""
    order = list(Level)
    return max((each.level for each in findings), key=order.index, default=Level.OK)
