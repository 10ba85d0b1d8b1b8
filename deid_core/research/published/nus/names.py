"""Section 3.1: the patient's name by edit distance, any name by its honorific.

R = d / min(len(n), len(w)), d being the Levenshtein distance of a name token n and a
word w: insertion, deletion and replacement cost 1, and a swap of neighbours 2.  One
word after an honorific is taken, whatever it is: "Dr Tan Ah Kow" loses "Tan".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from deid_core.document import Annotation, Span
from deid_core.labels import Label

from .words import WORD, Word

HONORIFICS = (
    *("mr", "mrs", "miss", "ms", "madam", "mdm", "lady", "sir", "col", "dr", "doctor"),
    *("a/prof", "e/prof", "professor", "prof", "general", "gen", "senator", "sen"),
)
"""The paper's list, whole and in its order."""

DOCTORS_TITLES = frozenset(
    {"dr", "doctor", "a/prof", "e/prof", "professor", "prof"},
)
"""What makes the name a doctor's.  Section 3.4 says that these are found here, and
Table 1 counts them under other names: 18 words at most are falsely patients'."""

SCORE = 0.58
"""The paper has no scores.  What an earlier step has replaced a later one no longer
sees, so that the steps' scores fall; all stay below what is echoed through the note,
which the paper does not do."""

_TITLES = "|".join(sorted(map(re.escape, HONORIFICS), key=len, reverse=True))
# The word is only looked at: in "Prof Dr Tan" it is the next honorific.
_TITLED = re.compile(
    rf"(?<!\w)(?P<title>{_TITLES})(?!\w)(?=(?:\.\s{{0,2}}|\s{{1,2}})(?P<word>{WORD}))",
    re.IGNORECASE,
)


def titled(text: str, words: Iterable[Word]) -> list[Word]:
    """Return the words, those after an honorific with it.

    Between the two stands a period, or white space, or both.
    """
    titles = {
        found.start("word"): found["title"].lower() for found in _TITLED.finditer(text)
    }
    return [
        word._replace(honorific=titles[word.start]) if word.start in titles else word
        for word in words
    ]


def ratios(words: Sequence[Word], tokens: Sequence[str]) -> NDArray[np.float64]:
    """Return each word's least R to any token; infinite where there is no token.

    Returns:
        Shape ``[words]``.
    """
    if not tokens or not words:
        return np.full(len(words), np.inf)
    forms = {word.form: 0 for word in words}
    rows = {form: row for row, form in enumerate(forms)}
    distances = process.cdist(
        list(forms), tokens, scorer=Levenshtein.distance, dtype=np.int32
    )
    lengths = np.minimum.outer(_lengths(forms), _lengths(tokens))
    least: NDArray[np.float64] = (distances / lengths).min(axis=1)
    return least[[rows[word.form] for word in words]]


def by_edit_distance(
    words: Sequence[Word], tokens: Sequence[str], threshold: float
) -> Iterator[Annotation]:
    """Yield the words whose R is below the threshold, and those after an honorific."""
    near = ratios(words, tokens) < threshold
    for word, is_near in zip(words, near.tolist(), strict=True):
        if is_near:
            yield annotation(word, Label.PATIENT, "edit_distance")
        elif word.honorific:
            yield annotation(word, label_of(word), "honorific")


def label_of(word: Word) -> Label:
    """Return whose name a word after an honorific is."""
    return Label.DOCTOR if word.honorific in DOCTORS_TITLES else Label.PATIENT


def annotation(word: Word, label: Label, rule: str) -> Annotation:
    """Return the proposal that a word is a name."""
    return Annotation(Span(word.start, word.end), label, SCORE, "nus", rule)


def _lengths(forms: Iterable[str]) -> NDArray[np.int64]:
    return np.fromiter(map(len, forms), dtype=np.int64)
