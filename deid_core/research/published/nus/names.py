"""Section 3.1: the patient's name by edit distance, any name by its honorific.

R = d / min(len(n), len(w)), where d is the Levenshtein distance of a name token n and a
word w: insertion, deletion and replacement cost 1, a swap of neighbours 2.  One word
after an honorific is taken, whatever it is: "Dr Tan Ah Kow" loses "Tan".

The paper does not define a word.  Here it begins with a letter and has letters and
digits, with hyphens and apostrophes inside: "Tan-Lim" and "O'Brien" are one word each,
so that the O of "O/E" is not close to O'Brien.  The possessive is removed.  Comparison
ignores case: hospital records are often in capitals, notes are not, and the paper,
which prints its honorifics in lower case, finds every patient's name.  A letter with a
diacritic differs from the plain letter, so a missing diacritic costs one edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from deid_core.document import Annotation, KnownIdentifiers, Span
from deid_core.labels import Label

_ALNUM = r"[^\W_]"
WORD = rf"(?<!{_ALNUM})[^\W\d_]{_ALNUM}*(?:['\u2019-]{_ALNUM}+)*"
"""Pattern of a word, possessive included; linear."""

_WORD = re.compile(WORD)
_POSSESSIVE = re.compile(r"(?<=.)['\u2019]s\Z", re.IGNORECASE)
HONORIFICS = (
    *("mr", "mrs", "miss", "ms", "madam", "mdm", "lady", "sir", "col", "dr", "doctor"),
    *("a/prof", "e/prof", "professor", "prof", "general", "gen", "senator", "sen"),
)
"""The paper's list."""
DOCTORS_TITLES = frozenset({"dr", "doctor", "a/prof", "e/prof", "professor", "prof"})
"""Titles of doctors.  Section 3.4 says that they are found here, and Table 1 counts
them under other names: 18 words at most are falsely patients'."""
SCORE = 0.58
"""The paper has no scores.  Text that one step has replaced is hidden from the next, so
scores fall from step to step.  All are below those of propagation, which the paper does
not have."""
_TITLES = "|".join(sorted(map(re.escape, HONORIFICS), key=len, reverse=True))
# The word is in a lookahead: in "Prof Dr Tan" it is the next honorific.
_TITLED = re.compile(
    rf"(?<!\w)(?P<title>{_TITLES})(?!\w)(?=(?:\.\s{{0,2}}|\s{{1,2}})(?P<word>{WORD}))",
    re.IGNORECASE,
)


class Word(NamedTuple):
    """A word of a note, without possessive.

    Args:
        form: In lower case.
        honorific: The title before it, in lower case; "" if there is none.
    """

    start: int
    end: int
    text: str
    form: str
    honorific: str = ""

    def __repr__(self) -> str:
        return f"Word([{self.start}, {self.end}))"


def words_in(text: str) -> Iterator[Word]:
    """Yield the words of a note, in order."""
    for found in _WORD.finditer(text):
        bare = _POSSESSIVE.sub("", found[0])
        yield Word(found.start(), found.start() + len(bare), bare, bare.lower())


def name_tokens(known: KnownIdentifiers) -> tuple[str, ...]:
    """Return the tokens of the patient's full names, in lower case.

    "The full name is first split into individual name tokens" (section 3.1): given,
    middle and family names of every name in the record, with initials.
    """
    parts = (
        part
        for name in known.patient_names
        for part in (name.given, name.middle, name.family)
    )
    return tuple(sorted({word.form for part in parts for word in words_in(part)}))


def titled(text: str, words: Iterable[Word]) -> list[Word]:
    """Return the words, with the honorific of those that follow one.

    A period, white space or both separate the two.
    """
    titles = {
        found.start("word"): found["title"].lower() for found in _TITLED.finditer(text)
    }
    return [
        word._replace(honorific=titles[word.start]) if word.start in titles else word
        for word in words
    ]


def ratios(words: Sequence[Word], tokens: Sequence[str]) -> NDArray[np.float64]:
    """Return the least R of each word to any token; infinite without a token."""
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
    """Yield the words with R below the threshold, and those after an honorific."""
    near = ratios(words, tokens) < threshold
    for word, is_near in zip(words, near.tolist(), strict=True):
        if is_near:
            yield annotation(word, Label.PATIENT, "edit_distance")
        elif word.honorific:
            yield annotation(word, label_of(word), "honorific")


def label_of(word: Word) -> Label:
    """Return the label of a word after an honorific."""
    return Label.DOCTOR if word.honorific in DOCTORS_TITLES else Label.PATIENT


def annotation(word: Word, label: Label, rule: str) -> Annotation:
    """Return the proposal that a word is a name."""
    return Annotation(Span(word.start, word.end), label, SCORE, "nus", rule)


def _lengths(forms: Iterable[str]) -> NDArray[np.int64]:
    return np.fromiter(map(len, forms), dtype=np.int64)
