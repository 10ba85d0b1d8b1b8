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

import math
from functools import cache
from statistics import median

import names
import wordfreq

from ..text_cache import cached_by_text
from .lists import load_list

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

# wordfreq's small lists end at Zipf 3: what they do not hold is at most that frequent.
_UNLISTED = 2.9
_ANSWERS = 65_536
_FOREIGN = ("de", "nl", "pl", "it", "sv")


@cache
def _english() -> dict[str, float]:
    return dict(wordfreq.get_frequency_dict("en", wordlist="large"))


@cache
def _foreign() -> tuple[dict[str, float], ...]:
    return tuple(
        wordfreq.get_frequency_dict(each, wordlist="small") for each in _FOREIGN
    )


@cache
def _census() -> dict[str, float]:
    english, shares = _english(), dict[str, float]()
    for path in names.FILES.values():
        with open(path, encoding="ascii") as lines:
            for line in lines:
                name, percent, *_ = line.lower().split()
                # Only where there is a word to compare with; saves 80,000 entries.
                if name in english:
                    shares[name] = max(shares.get(name, 0.0), float(percent) / 100)
    return shares


def _zipf(frequency: float) -> float:
    return math.log10(frequency) + 9 if frequency else 0.0


def zipf(word: str) -> float:
    """Return how often English text holds the normalised word: log10 in a billion."""
    return _zipf(_english().get(word, 0.0))


def name_score(word: str) -> float:
    """Return how much more the normalised word is a name than a word.

    The census count minus the English count, minus what the word loses abroad;
    ``-inf`` for what nobody bears as a name.
    """
    share = _census().get(word)
    if share is None:
        return -math.inf
    english = zipf(word)
    abroad = median(_zipf(counts.get(word, 0.0)) for counts in _foreign())
    # The census rounds to 0.001%; half a step is taken for what it prints as 0.000.
    return (
        _zipf(max(share, 5e-6)) - english - max(0.0, english - max(abroad, _UNLISTED))
    )


def is_common_name(word: str) -> bool:
    """Return whether many bear the normalised word as a name: Wilson, not Parkinson."""
    return _census().get(word, 0.0) >= COMMON_NAME_SHARE


def is_counted(word: str) -> bool:
    """Return whether English text holds the normalised word: it is no secret."""
    return word in _english()


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
