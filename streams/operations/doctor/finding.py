"""What a check found: how grave it is, what was seen, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How grave a finding is, the gravest last."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        level: FAIL when phistream can't work rightly, WARN when a person should look.
        seen: What there is; never a value of a record, a key or a password.
        todo: The next step; "" if there is none.
    """

    level: Level
    seen: str
    todo: str = ""


def ok(seen: str) -> Finding:
    """Return that all is well."""
    return Finding(Level.OK, seen)


def warn(seen: str, todo: str) -> Finding:
    """Return that a person should look."""
    return Finding(Level.WARN, seen, todo)


def fail(seen: str, todo: str) -> Finding:
    """Return that phistream can't work rightly like this."""
    return Finding(Level.FAIL, seen, todo)


def worst(findings: Iterable[Finding]) -> Level:
    """Return the gravest level; OK where nothing was found."""
    order = list(Level)
    return max((each.level for each in findings), key=order.index, default=Level.OK)
