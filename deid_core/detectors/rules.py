"""Detect PHI with rules; the table of all rules, and the engine that runs them.

The rules themselves are data, in the modules beside this one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from ..document import Annotation, Document, Span
from . import (
    ages,
    bare_ages,
    biometrics,
    checked_ids,
    contacts,
    countries,
    cued_dates,
    dates,
    described_names,
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
from .fragments import fold_note
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
    *bare_ages.RULES,
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
    *described_names.RULES,
    *signatures.RULES,
    *professions.RULES,
)
"""Every rule, in no particular order: proposals may overlap."""


class _Call:
    """A rule with what each of its calls asks for, looked up once.

    Args:
        rule: Which; its matches begin where its needs do.
    """

    __slots__ = ("_detector", "_group", "_match", "_rule")

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._match = rule.pattern.match
        self._group: str | int = "phi" if "phi" in rule.pattern.groupindex else 0
        self._detector = f"{RuleDetector.name}/{rule.name}"

    def proposals(self, text: str, positions: list[int]) -> list[Annotation]:
        """Return an annotation for each valid match near the positions."""
        match = self._match
        matches = [found for each in positions if (found := match(text, each))]
        # Most calls end here.
        return self._annotations(matches) if matches else []

    def _annotations(self, matches: list[re.Match[str]]) -> list[Annotation]:
        rule, group = self._rule, self._group
        spans = [each.span(group) for each in matches if rule.is_valid(each)]
        # Two labels, one value ("MRN No."): a rule proposes the same span only once.
        return [
            Annotation(Span(*span), rule.label, rule.score, self._detector)
            for span in dict.fromkeys(spans)
        ]


class _WindowCall(_Call):
    """The same of a rule whose matches may begin before its needs."""

    __slots__ = ("_find", "_holds")

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._find = rule.pattern.finditer
        self._holds = rule.holds.search if rule.holds else None

    def proposals(self, text: str, positions: list[int]) -> list[Annotation]:
        """Return an annotation for each valid match near the positions."""
        find, holds = self._find, self._holds
        windows = _windows(positions, self._rule.reach, self._rule.beyond)
        if holds is not None:
            windows = [each for each in windows if holds(text, *each)]
        matches = [found for start, end in windows for found in find(text, start, end)]
        return self._annotations(matches) if matches else []


class RuleDetector:
    """Propose an annotation for every valid match of every rule.

    Args:
        rules: Names must differ, or audit events could not tell two rules apart.
    """

    name = "rules"

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        if len(rules) != len({rule.name for rule in rules}):
            raise ValueError("two rules have the same name")
        self._calls = {
            rule.name: _WindowCall(rule) if rule.reach else _Call(rule)
            for rule in rules
        }
        self._table = NeedsTable(rules)

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document, rule by rule."""
        texts = [fold_note(document.text) for document in documents]
        found: list[list[Annotation]] = [[] for _ in texts]
        # One rule for all documents, then the next: its pattern stays in the cache.
        for name, called in sorted(self._called(texts).items()):
            call = self._calls[name]
            for at, positions in called:
                found[at] += call.proposals(texts[at], positions)
        return found

    def _called(self, texts: Sequence[str]) -> dict[str, list[tuple[int, list[int]]]]:
        """Return, for each rule by name, the texts that call for it, and where."""
        called = defaultdict[str, list[tuple[int, list[int]]]](list)
        for at, text in enumerate(texts):
            for rule, positions in self._table.called_for(text):
                called[rule.name].append((at, positions))
        return called


def _windows(
    positions: Sequence[int], reach: int, beyond: int
) -> list[tuple[int, int]]:
    """Return the disjoint stretches around the positions, which are in order."""
    found = []
    first = last = positions[0]
    for position in positions:
        if position - reach > last + beyond:
            found.append((max(0, first - reach), last + beyond))
            first = position
        last = position
    found.append((max(0, first - reach), last + beyond))
    return found
