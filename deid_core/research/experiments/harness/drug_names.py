"""Extract drug names from notes by a list, with what follows them.

This measures what scrubbing costs an extractor; it is no good extractor itself (Deleger
and others 2013 used a trained one).  Names are the FDA's (Orange and Purple Book), of
five characters or more, as whole words in any letter case, the longest first; a trade
name that is a frequent word ("balance") is left out.  Dose, route and frequency are the
first of each after the name, before the next drug and in the same line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ahocorasick

from deid_core.document import Span
from deid_core.errors import ConfigError
from deid_core.language.fragments import same_length_lower
from deid_core.language.lexicons.vocabulary import is_frequent

LIST = "lexicons/fda_drug_names.csv"
_SHORTEST, _WINDOW = 5, 80
_TRADE = "trade"
_DOSE = re.compile(
    r"\d+(?:[.,]\d+)?(?:[ ]?-[ ]?\d+(?:[.,]\d+)?)?[ -]?"
    r"(?:mg|mcg|micrograms?|milligrams?|g|grams?|ml|cc|units?|meq|%|tablets?|puffs?)\b"
    r"(?:/\w+)?|\d+(?:[.,]\d+)?[ ]?%",
    re.I,
)
_ROUTE = re.compile(
    r"\b(?:by mouth|orally|oral|p\.?o\.?|i\.?v\.?|intravenous(?:ly)?|i\.?m\.?"
    r"|intramuscular(?:ly)?|subcutaneous(?:ly)?|sub-?q|topical(?:ly)?|inhaled|nasal"
    r"|rectal(?:ly)?|sublingual(?:ly)?)(?!\w)",
    re.I,
)
_FREQUENCY = re.compile(
    r"\b(?:(?:once|twice|(?:one|two|three|four|\d) times?)(?: an?| per)?"
    r"(?: day| daily| week(?:ly)?)?|daily|nightly|weekly|q\.?[ ]?\d+[ ]?h(?:ours?)?"
    r"|q\.?h\.?s\.?|q\.?d\.?|b\.?i\.?d\.?|t\.?i\.?d\.?|q\.?i\.?d\.?"
    r"|every (?:\d+ |other )?(?:hours?|days?|weeks?|morning|evening|night)"
    r"|as needed|p\.?r\.?n\.?|at bedtime)(?!\w)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Medication:
    """A drug name in a text and its context.

    Args:
        span: Of the name.
        context: Dose, route and frequency in lower case; "" where there is none.
    """

    span: Span
    context: tuple[str, str, str]


class Extractor:
    """Extracts drug names.

    Args:
        names: In any letter case.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._automaton = ahocorasick.Automaton()
        for name in names:
            self._automaton.add_word(name.lower(), len(name))
        self._automaton.make_automaton()

    def __call__(self, text: str) -> list[Medication]:
        """Return the medications in a text, left to right."""
        spans = self._spans(text)
        following = [*(span.start for span in spans), len(text)][1:]
        return [
            Medication(span, _context(text, span.end, end))
            for span, end in zip(spans, following, strict=False)
        ]

    def _spans(self, text: str) -> list[Span]:
        lower = same_length_lower(text)
        found = [
            Span(last + 1 - size, last + 1)
            for last, size in self._automaton.iter(lower)
            if _is_whole(lower, last + 1 - size, last + 1)
        ]
        return list(_longest(found))


def read_names(data: Path) -> list[str]:
    """Return the drug names of the list.

    Raises:
        ConfigError: The list is missing.
    """
    path = data / LIST
    if not path.exists():
        raise ConfigError(f"{path}: not there; drug names need it")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [(row["name"], row["kind"]) for row in csv.DictReader(lines)]
    return sorted({name.lower() for name, kind in rows if _is_used(name, kind)})


def _is_used(name: str, kind: str) -> bool:
    return len(name) >= _SHORTEST and not (kind == _TRADE and is_frequent(name.lower()))


def _is_whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum())


def _longest(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield disjoint spans from left to right, the longest of each start."""
    end = 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start >= end:
            end = span.end
            yield span


def _context(text: str, start: int, end: int) -> tuple[str, str, str]:
    line = text[start : min(end, start + _WINDOW)].partition("\n")[0]
    dose, route, frequency = (
        found[0].lower() if (found := pattern.search(line)) else ""
        for pattern in (_DOSE, _ROUTE, _FREQUENCY)
    )
    return dose, route, frequency
