"""Gold and predicted annotations of a document, without what is neutral.

Neutral are ages under 90 and years alone: 45 CFR 164.514(b)(2)(i)(C) makes identifiers
of ages over 89 and of the elements of dates but the year.  Corpora differ on whether a
title belongs to a name: see `Conventions.titles_are_neutral`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deid_core.document import Annotation
from deid_core.labels import Label
from deid_core.research.corpora.conventions import Conventions
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction

_OLDEST = 89
_OLD_WORDS = frozenset({"ninety", "hundred", "nineties", "noventa", "cien"})
_YEAR = re.compile(r"(?:19|20)[0-9]{2}s?|(?<=['\u2019])[0-9]{2}s?")
_YEAR_WORDS = frozenset(
    ("a", "and", "del", "el", "en", "from", "in", "of", "or", "since", "the", "to")
) | {"year", "years"}
# "Do" and "Don" are names, and "Jr." distinguishes people with one name: no titles.
_TITLES = frozenset(
    (
        *("dr", "dra", "drs", "doctor", "prof", "professor"),
        *("mr", "mrs", "ms", "miss", "mister", "mx", "sr", "sra", "srta", "do\u00f1a"),
        *("md", "phd", "rn", "np", "pa"),
    )
)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One document with its gold and its predicted annotations.

    Args:
        document: The gold document.
        required: The gold spans that must be found.
        annotations: All predicted annotations.
        penalized: The predicted annotations that are errors where nothing is marked.
        titles_are_neutral: See `Conventions`.
    """

    document: GoldDocument
    required: tuple[GoldSpan, ...]
    annotations: tuple[Annotation, ...]
    penalized: tuple[Annotation, ...]
    titles_are_neutral: bool = True

    def scored(self) -> list[Annotation]:
        """Return the penalized annotations that are on nothing or on a required span.

        An annotation of another gold span is neither right nor wrong.
        """
        required = {each.span for each in self.required}
        others = [g.span for g in self.document.spans if g.span not in required]
        return [
            each
            for each in self.penalized
            if not any(map(each.span.overlaps, others))
            or any(map(each.span.overlaps, required))
        ]


def comparisons_of(
    corpus: Corpus, predictions: Sequence[Prediction]
) -> list[Comparison]:
    """Return gold and predicted annotations of each document, in order."""
    pairs = zip(corpus.documents, predictions, strict=True)
    return [
        _comparison(gold, predicted, corpus.conventions) for gold, predicted in pairs
    ]


def _comparison(
    document: GoldDocument, predicted: Prediction, conventions: Conventions
) -> Comparison:
    text = document.text

    def is_allowed(label: Label, start: int, end: int) -> bool:
        return not conventions.all_sought and is_neutral(label, text[start:end])

    required = (
        each
        for each in document.spans
        if each.label is not None
        and each.tag not in conventions.neutral
        and not is_allowed(each.label, each.span.start, each.span.end)
    )
    penalized = (
        each
        for each in predicted.annotations
        if each.label not in conventions.unmarked
        and not is_allowed(each.label, each.span.start, each.span.end)
    )
    return Comparison(
        document,
        tuple(required),
        predicted.annotations,
        tuple(penalized),
        conventions.titles_are_neutral,
    )


def is_neutral(label: Label, text: str) -> bool:
    """Return whether a text with a label is neutral: no identifier."""
    if label is Label.AGE:
        return _is_under_90(text)
    return label is Label.DATE and _is_year_alone(text)


def _is_under_90(text: str) -> bool:
    numbers = [int(number) for number in re.findall(r"[0-9]+", text)]
    words = set(_WORD.findall(text.casefold()))
    return max(numbers, default=0) <= _OLDEST and not words & _OLD_WORDS


def _is_year_alone(text: str) -> bool:
    rest, years = _YEAR.subn(" ", text)
    return years > 0 and set(_WORD.findall(rest.casefold())) <= _YEAR_WORDS


def is_title(word: str) -> bool:
    """Return whether a word is a title, such as ``Dr.``, ``M.D.`` and ``Mrs``."""
    return "".join(_WORD.findall(word)).casefold() in _TITLES
