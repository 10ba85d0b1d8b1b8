"""A rule is data: a pattern, a second look, and what it must and must not find."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from deid_core.labels import Label


def accept_all(_: re.Match[str]) -> bool:
    """Accept every match; the default of `Rule.is_valid`."""
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, what it means, how far to trust it, and examples.

    The pattern sees folded text (`fragments.to_ascii`), and only near one of the rule's
    needs, so that a note pays for the rules whose cue it holds and for no others.  It
    must be linear: bounded repetition, no quantifier over an unbounded one.

    Args:
        name: Unique; appears in audit events, so never rename a shipped rule.
        label: What a match is.
        pattern: The group ``phi``, if any, is what is annotated.
        score: Confidence in ``[0, 1]``.
        is_valid: Second look at a match, its groups and its surroundings.
        needs: In lower case.  A need of letters alone is a whole word; any other need
            is looked for as it is, with 0 for every digit: ``000-00-0000``.
        reach: How many code points before a need the pattern may begin.
        beyond: How many code points past the start of a need it may end.
        holds: What every match holds or looks ahead to; the pattern, which takes longer
            to fail, is not tried around needs where it is not found.
        in_line: How many code points past its line's start a need may begin; None for
            anywhere.
        found: Examples; what must be annotated, and nothing else, is in «guillemets».
        not_found: Examples in which this rule must find nothing.
    """

    name: str
    label: Label
    pattern: re.Pattern[str]
    score: float
    needs: tuple[str, ...]
    is_valid: Callable[[re.Match[str]], bool] = accept_all
    reach: int = 0
    beyond: int = 80
    holds: re.Pattern[str] | None = None
    in_line: int | None = None
    found: tuple[str, ...] = field(default=(), kw_only=True)
    not_found: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not self.needs:
            raise ValueError(f"rule {self.name}: needs must name at least one")
        for need in self.needs:
            if need != need.lower() or any(c in "123456789" for c in need):
                raise ValueError(f"rule {self.name}: needs: lower case, 0 for a digit")
