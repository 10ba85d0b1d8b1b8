"""Detect PHI with rules: the table of all rules, and the engine that runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property

from deid_core.detectors.overhang import without_overhang
from deid_core.document import Annotation, Document, Span

from . import ages, contacts, dates, ids, names, places, professions
from .pattern import compiled
from .prepared_rules import kept_arrays, rule_arrays
from .rule import Rule
from .windows import Windows, WindowTable

RULES: tuple[Rule, ...] = (
    *dates.RULES,
    *ages.RULES,
    *contacts.RULES,
    *ids.RULES,
    *places.RULES,
    *names.RULES,
    *professions.RULES,
)
"""Every rule, in no particular order: proposals may overlap."""


Place = tuple[int, int, int]
"""Which text, and from where to where in it."""
Found = list[tuple[int, re.Match[str]]]
"""Matches, each with the number of its text."""


class _Call:
    """A rule with what each of its calls asks for, looked up at the first one.

    Args:
        rule: Its matches all begin equally far before their triggers.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    @cached_property
    def _match(self) -> Callable[[str, int], re.Match[str] | None]:
        return compiled(self._rule.pattern).match

    @cached_property
    def _group(self) -> str | int:
        return "phi" if "phi" in self._rule.pattern.groupindex else 0

    def spans(self, texts: Sequence[str], windows: Windows) -> list[Place]:
        """Return where the valid matches are, text by text."""
        match = self._match
        return self._valid(
            [
                (text, found)
                for text, start in zip(windows.texts, windows.starts, strict=True)
                if (found := match(texts[text], start))
            ]
        )

    def _valid(self, matches: Found) -> list[Place]:
        is_valid, group = self._rule.is_valid, self._group
        if self._rule.check_of is not None:
            check_of = cache(self._rule.check_of)
            matches = [each for each in matches if check_of(each[1].string)(each[1])]
        # Two labels, one value ("MRN No."): a rule proposes the same span only once.
        return list(
            dict.fromkeys(
                (text, *found.span(group)) for text, found in matches if is_valid(found)
            )
        )


class _WindowCall(_Call):
    """The same of a rule whose matches may begin anywhere in a window."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._contains = rule.must_contain.search if rule.must_contain else None

    @cached_property
    def _find(self) -> Callable[[str, int, int], Iterator[re.Match[str]]]:
        return compiled(self._rule.pattern).finditer

    def spans(self, texts: Sequence[str], windows: Windows) -> list[Place]:
        """Return where the valid matches are, text by text."""
        find, contains = self._find, self._contains
        return self._valid(
            [
                (text, found)
                for text, start, end in zip(*windows, strict=True)
                if contains is None or contains(texts[text], start, end)
                for found in find(texts[text], start, end)
            ]
        )


class RuleDetector:
    """Propose an annotation for every valid match of every rule.

    Args:
        rules: Names must differ, as audit events identify a rule by its name.
    """

    name = "rules"
    reads_as_written = False

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        if len(rules) != len({rule.name for rule in rules}):
            raise ValueError("two rules have the same name")
        # By name: the order of proposals never depends on the order of the rules.
        self._rules = sorted(rules, key=lambda rule: rule.name)
        read = kept_arrays if rules is RULES else rule_arrays
        arrays = read(self._rules)
        self._calls = [
            _Call(rule) if is_fixed else _WindowCall(rule)
            for rule, is_fixed in zip(self._rules, arrays["is_fixed"], strict=True)
        ]
        self._table = WindowTable(arrays)

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document, rule by rule."""
        texts = [document.ascii for document in documents]
        proposals: list[list[Annotation]] = [[] for _ in texts]
        # One rule for all documents, then the next: its pattern stays in the cache.
        for number, windows in self._table.windows(texts):
            rule, call = self._rules[number], self._calls[number]
            for text, start, end in call.spans(texts, windows):
                if rule.label.main == "NAME":
                    trimmed = without_overhang(texts[text], start, end, rule.label)
                    if trimmed is None:
                        continue
                    start, end = trimmed
                span = Span(start, end)
                proposals[text].append(
                    Annotation(span, rule.label, rule.score, self.name, rule.name)
                )
        return proposals
