"""Is this word a word, or a name?  Derived from counts, not typed by hand.

Every answer rests on two counts, both as Zipf values (log10 of the occurrences in
a billion): how often English text holds the word (wordfreq, large list), and how often
a US resident bears it as a name (the 1990 census lists of the ``names`` package).  A
third separates names from words that are also names: a name is about as frequent in
German, Dutch, Polish, Italian and Swedish text as in English; a word is not.  "Smith"
loses 0.7 on the way there, "young" 1.4, "pain" 1.8.

The few that this cannot tell apart are in ``word_names.txt`` (words, though much used
as names).
"""

from __future__ import annotations

from deid_core.runtime.text_cache import cached_by_text

from .lists import load_list
from .word_table import Listed, word_table

ORDINARY_ZIPF = 3.0
"""From one in a million words on, a word counts as ordinary (wordfreq's scale)."""

FREQUENT_ZIPF = 4.3
"""Words that do begin sentences and headings (Head, Pain).  Below, a capitalised one
that is in the record is the name (Cooper, Glover, Lancaster)."""

VOCABULARY_ZIPF = 1.2
"""Drugs, findings and the like are between this and `ORDINARY_ZIPF`; below it,
wordfreq's list holds misspellings ("jonh" is at 1.07)."""

NAME_SCORE = 0.5
"""At or above, a word is foremost a name: Smith 1.4, Jones 1.5; Young -0.5."""

COMMON_NAME_SHARE = 2e-4
"""One in five thousand, about the thousand most frequent names of the census."""

_ANSWERS = 65_536


def zipf(word: str) -> float:
    """Return how often English text holds the normalised word: log10 in a billion."""
    table = word_table()
    return table.zipf[table.row(word)]


def name_score(word: str) -> float:
    """Return how much more the normalised word is a name than a word.

    The census count minus the English count, minus what the word loses abroad;
    ``-inf`` for what nobody bears as a name.
    """
    table = word_table()
    return table.scores[table.row(word)]


def is_common_name(word: str) -> bool:
    """Return whether many bear the normalised word as a name: Wilson, not Parkinson."""
    table = word_table()
    return table.shares[table.row(word)] >= COMMON_NAME_SHARE


def is_counted(word: str) -> bool:
    """Return whether English text holds the normalised word: it is no secret."""
    table = word_table()
    return table.lists[table.row(word)] & Listed.ENGLISH != 0


@cached_by_text(_ANSWERS, keeps=is_counted)
def is_ordinary(word: str) -> bool:
    """Return whether the normalised word is a common word, even if some bear it."""
    return (
        zipf(word) >= ORDINARY_ZIPF and name_score(word) < NAME_SCORE
    ) or word in load_list("word_names")


def is_frequent(word: str) -> bool:
    """Return whether the normalised word is common enough to begin sentences."""
    return zipf(word) >= FREQUENT_ZIPF


@cached_by_text(_ANSWERS, keeps=is_counted)
def is_vocabulary(word: str) -> bool:
    """Return whether the normalised word is an English or clinical word, no name."""
    return (
        zipf(word) >= VOCABULARY_ZIPF and name_score(word) < NAME_SCORE
    ) or word in load_list("word_names")
