"""Build a rule for a value after a label: "MRN: ...", "policy no. ..."."""

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
"""The text allowed between a label and its value; for verbose, caseless patterns."""

_MARKED = rf"(?=(?:'s)?[^\w\n]{{0,3}}{_MARK})(?:'s)?{SEPARATOR}"
_VALUE = r"""
    (?P<phi>[0-9]{2,4}(?:[ ][0-9]{2,4}){1,4}(?![ -]?y|[0-9])
           |[A-Z0-9](?:[A-Z0-9]|[-_](?=[A-Z0-9])){2,39})
    (?![A-Z0-9])(?![/.,][0-9])
"""


def has_digits(match: re.Match[str], at_least: int) -> bool:
    """Return whether the value has the digits of an identifier, and no unit follows."""
    return sum(map(str.isdigit, match["phi"])) >= at_least and not _UNIT.match(
        match.string, match.end()
    )


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
        name: As in `Rule`, like all that is not described here.
        bare: Labels that need no more: "MRN 123456".
        marked: Words in common use, labels only before "no.", "#", "id" or ":".
        digits: The least number of digits in the value.
    """
    pattern = rf"""
        (?<![a-z])
        (?:(?:{_alternatives(bare)}){SEPARATOR}|(?:{_alternatives(marked)}){_MARKED})
        {_VALUE}
    """

    return Rule(
        name=name,
        label=label,
        pattern=re.compile(pattern, re.VERBOSE | re.IGNORECASE),
        score=score,
        is_valid=lambda match: has_digits(match, digits),
        found=found,
        not_found=not_found,
    )


def _alternatives(phrases: tuple[str, ...]) -> str:
    longest_first = sorted(phrases, key=len, reverse=True)
    joined = "|".join(map(re.escape, longest_first)).replace(r"\ ", "[ ]")
    return f"(?:{joined})(?![a-z])" if joined else "(?!)"
