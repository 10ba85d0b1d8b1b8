"""Build rules for values that stand after a label: "MRN: ...", "policy no. ..."."""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import UNIT

from ..rule import Rule

_UNIT = re.compile(UNIT, re.VERBOSE | re.IGNORECASE)
_MARK = r"(?:numbers?\b|num\b|no(?![a-z])|nr(?![a-z])|id\b|identifier\b|\#|[:=])"
SEPARATOR = r"""
    (?:[ \t]{0,3}(?:numbers?\b|num\b|no(?![a-z])|nr(?![a-z])|id\b|identifier\b|code\b
      |is\b|was\b|ending[ ]in\b|[:\#=.(-])){0,5}[ \t]{0,3}
"""
"""What may stand between a label and its value; for verbose, caseless patterns."""

_MARKED = rf"(?=(?:'s)?[^\w\n]{{0,3}}{_MARK})(?:'s)?{SEPARATOR}"
_VALUE = r"""
    (?P<phi>[0-9]{2,4}(?:[ ][0-9]{2,4}){1,4}(?![ -]?y|[0-9])
           |[A-Z0-9](?:[A-Z0-9]|[-_](?=[A-Z0-9])){2,39})
    (?![A-Z0-9])(?![/.,][0-9])
"""


def labelled_rule(
    name: str,
    label: Label,
    *,
    bare: tuple[str, ...] = (),
    marked: tuple[str, ...] = (),
    digits: int,
    score: float,
    found: tuple[str, ...],
    not_found: tuple[str, ...],
) -> Rule:
    """Return the rule for a value after a label.

    Args:
        name: The rule's name.
        label: The rule's label.
        bare: Labels that need no more: "MRN 123456".
        marked: Words in common use, labels only with "no.", "#", "id" or ":" behind.
        digits: The least number of digits in the value.
        score: The rule's score.
        found: The rule's examples.
        not_found: The rule's examples of what is none.
    """
    pattern = rf"""
        (?<![a-z])
        (?:(?:{_alternatives(bare)}){SEPARATOR}|(?:{_alternatives(marked)}){_MARKED})
        {_VALUE}
    """

    def is_valid(match: re.Match[str]) -> bool:
        if sum(map(str.isdigit, match["phi"])) < digits:
            return False
        return not _UNIT.match(match.string, match.end())

    return Rule(
        name=name,
        label=label,
        pattern=re.compile(pattern, re.VERBOSE | re.IGNORECASE),
        score=score,
        is_valid=is_valid,
        found=found,
        not_found=not_found,
    )


def _alternatives(phrases: tuple[str, ...]) -> str:
    longest_first = sorted(phrases, key=len, reverse=True)
    joined = "|".join(map(re.escape, longest_first)).replace(r"\ ", "[ ]")
    return f"(?:{joined})(?![a-z])" if joined else "(?!)"


def _first_word(phrase: str) -> str:
    return re.split("[^a-z]", phrase)[0]
