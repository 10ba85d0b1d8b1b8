"""Build a rule for a value after a label: "MRN: ...", "policy no. ..."."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT

from .shapes import (
    is_clinical_value,
    is_date_shaped,
    is_identifier,
)

_UNIT = re.compile(UNIT, re.VERBOSE | re.IGNORECASE)
# Small letters before a number are an office's only if the number is long.
_WORD_BEFORE = re.compile("[A-Za-z][a-z]* (?:(?:[0-9][-./]?){1,4}|[0-9]{1,4}[a-z]+)")
# A decimal, also after a word, and a month and a year.
_NO_VALUE = re.compile(
    r".{1,12} [0-9]{1,3}\.[0-9]{1,2}|[0-9]{1,2}/(?:19|20)[0-9]{2}|[0-9]+\.[0-9]{1,2}"
)
# "D5W 1000", "O2 15".
_DOSE = re.compile("[A-Z][A-Z0-9]{0,4} (?:[0-9]{1,3}|[0-9]{1,3}00)", re.IGNORECASE)
_SCORE = re.compile("[0-9]{1,2}/[0-9]{2,3}")
# No time has it.
_LEADING_ZERO = re.compile("0[0-9][6-9][0-9]|00[0-9]{2}/[0-9]{2}|0[0-9]{4,}")
_MARK = r"(?:numbers?\b|num\b|no(?![a-z])|nr(?![a-z])|id\b|identifier\b|\#|[:=])"
SEPARATOR = r"""
    (?:[ \t]{0,3}(?:numbers?\b|num\b|no(?![a-z])|nr(?![a-z])|id\b|identifier\b|code\b
      |is\b|was\b|ending[ ]in\b|[:\#=.(-])){0,5}[ \t]{0,3}
"""
"""The text allowed between a label and its value; for verbose, caseless patterns."""

_MARKED = rf"(?=(?:'s)?[^\w\n]{{0,3}}{_MARK})(?:'s)?{SEPARATOR}"
# Letters before the number, of an office or an insurer: "GRH 55-20-71".
_OFFICE = r"""
    (?:(?!(?:of|in|at|to|by|on|and|for|from|is|was|no|exp|dob|age|sex|date|dos|tel|ph|fax
       |ward|room|bed|see|not|per|ref|ct|mri|us|mg|ml|cm|mm|sn|n0|nr|id|mrn|acc|rx|iv|po
       |lr|ns|o2|ra|call|seen|since|until|dated|hx|the|with|x)[ ])
      [A-Z][A-Z0-9]{0,4}(?:-[A-Z0-9]{1,5})?[ ](?=[0-9]))
"""
_DIGIT_AHEAD = r"(?=(?:[A-Z][A-Z0-9-]{0,8}[ ])?[^ \n]{0,16}[0-9])"
_CODE = r"[A-Z0-9]{1,40}(?:[-_/.][A-Z0-9]{1,20}){0,7}(?:\([0-9A-Z]\))?"
_GROUPS = r"""
    (?<![0-9])[0-9]{2,6}(?:[ ][0-9]{2,7}(?![0-9]|[ ]?(?:y|h|m[gl]|x|/|:|\.[0-9]))){1,4}
    (?:(?<=[0-9][ ][0-9][0-9])[ ](?-i:[0-9A-Z]{1,2})
      |(?<=[0-9]{3})[ ](?-i:[0-9]|[A-Z]{2})|(?-i:[A-Z]))?
    (?![ ]?y)
"""
VALUE = rf"""
    (?P<phi>{_OFFICE}?(?:{_GROUPS}|{_CODE})(?![A-Z0-9_]))(?![/,:][0-9])(?!\.[0-9])
"""
"""The value after a label; for verbose, caseless patterns."""


def has_digits(match: re.Match[str], at_least: int) -> bool:
    """Return whether the value has the digits of an identifier, and no unit follows."""
    value = match["phi"]
    return (
        sum(map(str.isdigit, value)) >= at_least
        and not _UNIT.match(match.string, match.end())
        and not is_date_shaped(value.rpartition(" ")[2])
        and not _NO_VALUE.fullmatch(value)
        and not _DOSE.fullmatch(value)
        and not _WORD_BEFORE.fullmatch(value)
    )


def is_labelled_value(match: re.Match[str], at_least: int) -> bool:
    """Return whether the value after a label is an identifier.

    After a common word without a mark ("case 24-1190") it must look like one.
    """
    if not has_digits(match, at_least):
        return False
    if match.groupdict().get("loose") is None:
        return True
    value = match["phi"]
    if " " in value and value[:2].isdigit() and not has_digits(match, 9):
        return False
    if value[0].isalpha() and " " in value and not _is_of_office(match):
        return False
    return _LEADING_ZERO.fullmatch(value) is not None or is_identifier(match)


def _is_of_office(match: re.Match[str]) -> bool:
    """Return whether letters before a number are an office's: not "CPT 99214"."""
    start, end = match.span("phi")
    number = match.string.rfind(" ", start, end) + 1
    return not (
        _SCORE.fullmatch(match.string, number, end)
        or is_clinical_value(match.string, number, end)
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
        marked: Words in common use, labels only before "no.", "#", "id" or ":", or
            before a value that looks like an identifier.
        digits: The least number of digits in the value.
    """
    labels = [_alternatives(bare) + SEPARATOR] if bare else []
    if marked:
        word = _alternatives(marked)
        labels += [f"{word}{_MARKED}", rf"(?P<loose>{word})\.?[ ]{{1,8}}{_DIGIT_AHEAD}"]
    pattern = rf"(?<![a-z])(?:{'|'.join(labels)}){VALUE}"
    return Rule(
        name=name,
        label=label,
        pattern=LazyPattern(pattern, re.VERBOSE | re.IGNORECASE),
        score=score,
        is_valid=lambda match: is_labelled_value(match, digits),
        found=found,
        not_found=not_found,
    )


def _alternatives(phrases: tuple[str, ...]) -> str:
    longest_first = sorted(phrases, key=len, reverse=True)
    joined = "|".join(map(re.escape, longest_first)).replace(r"\ ", "[ ]")
    return f"(?:{joined})(?![a-z])"
