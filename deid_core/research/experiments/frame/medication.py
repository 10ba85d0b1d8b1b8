"""Drug names in a note, simply: the longest names of a list, and what follows them.

For what scrubbing costs an extractor, not for extraction itself: Deleger and others
2013 used a trained one.  Names are the FDA's (Orange and Purple Book), of five
characters or more, as whole words in any letter case; a trade name that is a frequent
word ("balance") is none.  Dose, route and frequency are the first of each after the
name, before the next drug and within the line.
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
from deid_core.language.lexicons.vocabulary import is_frequent

LIST = "lexicons/fda_drug_names.csv"
_SHORTEST, _REACH = 5, 80
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
    """A drug's name in a text, and what is said of it; empty where nothing is.

    Args:
        span: Of the name.
        said: Dose, route and frequency, in small letters.
    """

    span: Span
    said: tuple[str, str, str]


class Extractor:
    """Finds drug names.

    Args:
        names: Any letter case.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._automaton = ahocorasick.Automaton()
        for name in names:
            self._automaton.add_word(name.lower(), len(name))
        self._automaton.make_automaton()

    def __call__(self, text: str) -> list[Medication]:
        """Return the medications of a text, left to right."""
        spans = self._spans(text)
        following = [*(span.start for span in spans), len(text)][1:]
        return [
            Medication(span, _said(text, span.end, end))
            for span, end in zip(spans, following, strict=False)
        ]

    def _spans(self, text: str) -> list[Span]:
        folded = _folded(text)
        found = [
            Span(last + 1 - size, last + 1)
            for last, size in self._automaton.iter(folded)
            if _is_whole(folded, last + 1 - size, last + 1)
        ]
        return list(_longest(found))


def read_names(data: Path) -> list[str]:
    """Return the names of the list that are taken.

    Raises:
        ConfigError: The list is not there.
    """
    path = data / LIST
    if not path.exists():
        raise ConfigError(f"{path}: not there; it is needed to know drugs by name")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [(row["name"], row["kind"]) for row in csv.DictReader(lines)]
    return sorted({name.lower() for name, kind in rows if _is_taken(name, kind)})


def _is_taken(name: str, kind: str) -> bool:
    return len(name) >= _SHORTEST and not (kind == _TRADE and is_frequent(name.lower()))


def _folded(text: str) -> str:
    lower = text.lower()
    # A character that would become two stays: offsets are the text's own.
    return lower if len(lower) == len(text) else "".join(map(_lower, text))


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _is_whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum())


def _longest(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield spans that share no character: the first, of these the longest."""
    end = 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start >= end:
            end = span.end
            yield span


def _said(text: str, start: int, end: int) -> tuple[str, str, str]:
    line = text[start : min(end, start + _REACH)].partition("\n")[0]
    dose, route, frequency = (
        found[0].lower() if (found := pattern.search(line)) else ""
        for pattern in (_DOSE, _ROUTE, _FREQUENCY)
    )
    return dose, route, frequency
