"""Detect PHI with rules; the table of all rules, and the engine that runs them.

The rules themselves are data, in the modules beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..document import Annotation, Document, Span
from . import (
    ages,
    biometrics,
    checked_ids,
    contacts,
    countries,
    cued_dates,
    dates,
    grid_dates,
    handles,
    holidays,
    honorifics,
    house_phones,
    identifiers,
    internet,
    labelled_ids,
    labelled_names,
    periods,
    phone_groups,
    places,
    postcodes,
    professions,
    regions,
    signatures,
    streets,
    things,
    written_dates,
)
from .fragments import fold
from .needs import NeedsTable
from .rule import Rule

RULES = (
    *dates.RULES,
    *grid_dates.RULES,
    *cued_dates.RULES,
    *written_dates.RULES,
    *holidays.RULES,
    *periods.RULES,
    *ages.RULES,
    *contacts.RULES,
    *phone_groups.RULES,
    *house_phones.RULES,
    *internet.RULES,
    *handles.RULES,
    *identifiers.RULES,
    *labelled_ids.RULES,
    *checked_ids.RULES,
    *biometrics.RULES,
    *things.RULES,
    *places.RULES,
    *postcodes.RULES,
    *streets.RULES,
    *regions.RULES,
    *countries.RULES,
    *honorifics.RULES,
    *labelled_names.RULES,
    *signatures.RULES,
    *professions.RULES,
)
"""Every rule, in no particular order: proposals may overlap."""


class RuleDetector:
    """Propose an annotation for every valid match of every rule.

    Args:
        rules: Names must differ, or audit events could not tell two rules apart.
    """

    name = "rules"

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        if len(rules) != len({rule.name for rule in rules}):
            raise ValueError("two rules have the same name")
        self._table = NeedsTable(rules)

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document, rule by rule."""
        return [self._annotations(document.text) for document in documents]

    def _annotations(self, text: str) -> list[Annotation]:
        folded = fold(text)
        # Two labels, one value ("MRN No."): a rule proposes the same span only once.
        return list(
            dict.fromkeys(
                annotation
                for rule, positions in self._table.called_for(folded)
                for annotation in _proposals(rule, folded, positions)
            )
        )


def _proposals(rule: Rule, text: str, positions: list[int]) -> Iterator[Annotation]:
    group: str | int = "phi" if "phi" in rule.pattern.groupindex else 0
    detector = f"{RuleDetector.name}/{rule.name}"
    for match in _matches(rule, text, positions):
        if rule.is_valid(match):
            yield Annotation(Span(*match.span(group)), rule.label, rule.score, detector)


def _matches(rule: Rule, text: str, positions: list[int]) -> Iterator[re.Match[str]]:
    if rule.reach == 0:
        for position in positions:
            match = rule.pattern.match(text, position)
            if match:
                yield match
        return
    for start, end in _windows(sorted(positions), rule.reach, rule.beyond):
        yield from rule.pattern.finditer(text, start, end)


def _windows(
    positions: Iterable[int], reach: int, beyond: int
) -> list[tuple[int, int]]:
    """Return the disjoint stretches around the positions, which are in order."""
    windows: list[tuple[int, int]] = []
    for position in positions:
        start, end = max(0, position - reach), position + beyond
        if windows and start <= windows[-1][1]:
            start = windows.pop()[0]
        windows.append((start, end))
    return windows
