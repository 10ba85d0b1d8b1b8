"""A rule is data: a pattern, a check, and what it must and must not find.

How to write a rule
-------------------
Open the module of its form (``dates/written.py``, ``ids/labelled.py``), write the rule
and add it to the module's ``RULES``::

    WARD = Rule(
        name="ward_number",
        label=Label.IDNUM,
        pattern=LazyPattern(r"(?<![a-z])ward[ ](?:no[. ]{1,2})?(?P<phi>[0-9]{1,3})\\b"),
        score=0.8,
        found=("moved to ward «12», then ward no. «7»",),
        not_found=("the ward 1234", "forward 12"),
    )

- The pattern sees text of `fragments.to_ascii`: ASCII letters, digits, dashes, spaces
  and apostrophes.  The group ``phi``, if any, is annotated, otherwise the match.
- Bound every repetition (``[0-9]{1,12}``, not ``[0-9]+``), and nest none in another
  that is unbounded: time must be linear in the note.
- Cue words ("ward") belong into the pattern; where the pattern cannot describe
  the text around a match, `is_valid` checks it.
- Give examples of what is found, and of each kind of text that only looks like it;
  the tests run all of them, alone and in the middle of a note.
- The table derives from the pattern where to try it (`prefilter`).  Override that only
  where a measurement shows that it pays (``python -m tests.benchmarks.rules``).
- Run ``python -m deid_core.detectors.rules.build`` at the end: it keeps what is
  derived, so that a start does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from deid_core.labels import Label

from .pattern import LazyPattern

Check = Callable[[re.Match[str]], bool]


def accept_all(_: re.Match[str]) -> bool:
    """Accept every match; the default of `Rule.is_valid`."""
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, its label and score, and examples.

    Args:
        name: Unique; appears in audit events, so never rename a shipped rule.
        label: What a match is.
        pattern: The group ``phi``, if any, is what is annotated.
        score: Confidence in ``[0, 1]``.
        is_valid: Checks a match, its groups and the text around it.
        check_of: Instead of `is_valid`, makes the check of the matches in a text: what
            it needs to know of the whole text is found once.
        triggers: Instead of those derived from the pattern: the strings at which the
            pattern is tried, in lower case.  One of letters alone is a whole word;
            any other is searched for as it is, with 0 for every digit: ``000-00-0000``.
        lookbehind: Instead of what is derived: how many code points before a trigger
            a match may begin.
        window: Instead of what is derived: how many code points past a trigger's start
            a match may end.
        must_contain: What every match contains or looks ahead to; where a window does
            not, the pattern, which takes longer to fail, is not tried.
        max_column: How many code points past its line's start a trigger may begin.
        found: Examples; what must be annotated, and nothing else, is in «guillemets».
        not_found: Examples in which this rule must find nothing.
    """

    name: str
    label: Label
    pattern: re.Pattern[str] | LazyPattern
    score: float
    is_valid: Check = accept_all
    check_of: Callable[[str], Check] | None = None
    triggers: tuple[str, ...] = ()
    lookbehind: int | None = None
    window: int | None = None
    must_contain: re.Pattern[str] | None = None
    max_column: int | None = None
    found: tuple[str, ...] = field(default=(), kw_only=True)
    not_found: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for each in self.triggers:
            if not each or each != each.lower() or any(c in "123456789" for c in each):
                raise ValueError(
                    f"rule {self.name}: triggers: lower case, 0 for a digit"
                )
